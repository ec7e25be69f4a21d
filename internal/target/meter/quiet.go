package meter

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/guest"
)

// On a clock that counts instructions two runs of the same work give the same
// figure, if nothing else happens meanwhile, and if what does happen (the
// kernel's tick above all) happens at the same point of the work.

// step is what a phase's beginning is aligned to: a multiple of the kernel's
// tick, and long enough for what the phase before left over to be done with.
// after is how long after such a moment a phase begins: what was due with the
// tick is over then, and a phase of a few million instructions has none.
const (
	step  = 100 * time.Millisecond
	after = time.Millisecond
)

// align waits for the next step but one of the clock.
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
const reseed = 0x5207

// hush puts off what the kernel does at times of its own, which no phase is to
// blame for and which real time brings on while a guest waits: writing back
// what has been dirty for long (every phase that writes ends by asking for it),
// folding counters, compacting memory. The random number generator takes a new
// key after so many seconds, and whoever asks next pays for it: it gets one
// before each phase. A processor's list of free pages holds 980 pages in a guest
// of 500 MB, and when it overflows all of them go back to the zone, which takes
// 0.3 million instructions and falls into one phase or another by chance: the
// list gets the kernel's minimum, four batches (zone_highsize of
// mm/page_alloc.c), which overflows often, and evenly. What fails leaves things
// as they are.
func hush() {
	if !guest.Ours() {
		return // a kernel that others use is left as it is
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

// stacks lets a few processes live at the same time and end. The kernel keeps
// the stacks of the last two threads that ended for the next ones that begin,
// and zeroes fresh ones otherwise: a mount that starts a thread would cost more
// or less depending on what ended before it.
func stacks() {
	const processes = 4
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		return
	}
	var pids [processes]int
	for i := range pids {
		// It reads until the pipe is closed.
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

// slack is by how much the sleep of a quietened thread may last longer, so
// that it ends with the kernel's tick and never by an interrupt of its own.
const slack = time.Second

// quieten keeps the other threads of this process from disturbing the calling
// one. The runtime's monitor alone wakes up some hundred times in a phase of a
// few milliseconds, each time by an interrupt. They only run when nothing else
// wants to; what fails leaves things as they are.
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
			attr.Policy, lasting = unix.SCHED_NORMAL, "1" // it sleeps until the very instant
		}
		_ = unix.SchedSetAttr(tid, &attr, 0)
		_ = os.WriteFile("/proc/"+e.Name()+"/timerslack_ns", []byte(lasting), 0)
	}
}
