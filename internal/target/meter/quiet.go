package meter

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/guest"
	"whichfs/internal/sys/ioc"
)

// On a clock that counts instructions, two runs of the same work give the same figure if nothing
// else runs, and if what must run (above all the kernel's tick) runs at the same point of the work.

// A phase begins shortly after a multiple of step. step is a multiple of the kernel's tick, and long
// enough for the rest of the previous phase to end. after is the delay after that multiple: work due
// at the tick is over by then, and a phase of a few million instructions contains no tick.
const (
	step  = 100 * time.Millisecond
	after = time.Millisecond
)

// align waits for the second next multiple of step.
func align() {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return
	}
	at := unix.NsecToTimespec((now.Nano()/int64(step)+2)*int64(step) + int64(after))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
	}
}

// reseed is RNDRESEEDCRNG (linux/random.h).
var reseed = ioc.None('R', 7)

// hush postpones the kernel's periodic work, which no phase causes and which becomes due in real
// time while a guest waits: periodic writeback (every phase that writes ends with a sync), folding
// counters, compacting memory. The random number generator is rekeyed every few minutes at the
// expense of the next reader, so it is rekeyed before each phase. A processor's list of free pages
// holds 980 pages in a guest of 500 MB; when it overflows, all of them return to the zone, which
// takes 0.3 million instructions in a phase hit by chance. The list is therefore set to the kernel's
// minimum, four batches (zone_highsize in mm/page_alloc.c), and overflows often and evenly. Errors
// are ignored.
func hush() {
	if !guest.Ours() {
		return // other programs use this kernel
	}
	for file, text := range map[string]string{
		"/proc/sys/vm/dirty_writeback_centisecs":     "360000",
		"/proc/sys/vm/stat_interval":                 "3600",
		"/proc/sys/vm/compaction_proactiveness":      "0",
		"/proc/sys/vm/percpu_pagelist_high_fraction": "1000000",
	} {
		_ = os.WriteFile(file, []byte(text), 0)
	}
	fd, err := unix.Open("/dev/urandom", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), reseed, 0)
	_ = unix.Close(fd)
}

// stacks runs a few processes at the same time and lets them end. The kernel caches the stacks of
// the last two threads that ended, and otherwise zeroes fresh ones: without this, the cost of a mount
// that starts a thread would depend on which threads ended before it.
func stacks() {
	const processes = 4
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		return
	}
	var pids [processes]int
	for i := range pids {
		// cat reads until the pipe is closed.
		pid, err := syscall.ForkExec("/bin/cat", []string{"cat"}, &syscall.ProcAttr{Files: []uintptr{uintptr(pipe[0])}})
		if err == nil {
			pids[i] = pid
		}
	}
	_ = unix.Close(pipe[0])
	_ = unix.Close(pipe[1])
	for _, pid := range pids {
		for pid > 0 {
			if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR { //nolint:errorlint // an errno as it is
				break
			}
		}
	}
}

// slack is the timer slack of a quietened thread: its sleep ends with the kernel's tick and needs no
// interrupt of its own.
const slack = time.Second

// quieten keeps the other threads of this process from disturbing the calling one: they run only on
// an idle processor. The runtime's monitor alone wakes up about a hundred times in a phase of a few
// milliseconds, each time by an interrupt. Errors are ignored.
func quieten() {
	self := unix.Gettid()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
		lasting := strconv.FormatInt(int64(slack), 10)
		if tid == self {
			attr.Policy, lasting = unix.SCHED_NORMAL, "1" // its sleeps are exact
		}
		_ = unix.SchedSetAttr(tid, &attr, 0)
		_ = os.WriteFile("/proc/"+e.Name()+"/timerslack_ns", []byte(lasting), 0)
	}
}
