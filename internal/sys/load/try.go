package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Try keeps a processor busy for d and returns the share of that time, 0 to 1, for which it had
// none: what work that begins now would wait. It needs no counters of the scheduler's.
func Try(ctx context.Context, d time.Duration) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := Observe("/proc").Now().processors
	start, used := time.Now(), clock(unix.CLOCK_THREAD_CPUTIME_ID)
	for n := 1; time.Since(start) < d; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			break
		}
	}
	wall, ran := time.Since(start), clock(unix.CLOCK_THREAD_CPUTIME_ID)-used
	after := Observe("/proc").Now().processors
	had := ran.Seconds() / wall.Seconds()
	return min(1, max(0, 1-had*(1-stolenShare(before, after))))
}

// stolenShare is the share of the time with work for which the hypervisor had the processor.
func stolenShare(before, after processors) float64 {
	stolen, busy := after.stolen-before.stolen, after.busy-before.busy
	if stolen <= 0 || busy < 0 {
		return 0
	}
	return stolen.Seconds() / (stolen + busy).Seconds()
}

// clock reads one of the clocks of processor time.
func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
