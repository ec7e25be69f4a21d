package workload

import (
	"runtime"
	"time"
)

// callPatience is after how long a call into a filesystem counts as hanging.
// The slowest that were seen, under emulation, take five seconds. Tests of what
// hangs have less.
var callPatience = 45 * time.Second

// patiently calls f in a thread of its own and waits for it for so long. Of a call
// that takes longer nothing more is known: it goes on, and all that it touches
// must be left to it.
func patiently[T any](limit time.Duration, f func() T) (got T, ended bool) {
	done := make(chan T, 1)
	go func() {
		// A kernel that gives up on a call ends its thread and no other.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got = <-done:
		return got, true
	case <-timer.C:
		return got, false
	}
}
