package meter

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// On a clock that counts instructions two runs of the same work give the same
// figure, if nothing else happens meanwhile, and if what does happen (the
// kernel's tick above all) happens at the same point of the work.

// step is what a phase's beginning is aligned to: a multiple of the kernel's
// tick, and long enough for what the phase before left over to be done with.
const step = 100 * time.Millisecond

// align waits for the clock to reach the next multiple but one of step.
func align() {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return
	}
	at := unix.NsecToTimespec((now.Nano()/int64(step) + 2) * int64(step))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
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
			attr.Policy, lasting = unix.SCHED_NORMAL, "0" // 0: as it was
		}
		_ = unix.SchedSetAttr(tid, &attr, 0)
		_ = os.WriteFile("/proc/"+e.Name()+"/timerslack_ns", []byte(lasting), 0)
	}
}
