package realtime

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sleeper sleeps until an instant and can be woken before it. Go's own timers
// end up to a millisecond late if the runtime sleeps in epoll, which counts in
// milliseconds; a futex accepts an absolute instant of the monotonic clock in
// nanoseconds (futex(2), FUTEX_WAIT_BITSET), and a thread without timer slack
// (PR_SET_TIMERSLACK, prctl(2)) wakes at that instant.
type Sleeper struct{}

// NewSleeper locks the calling goroutine to its thread; the same goroutine
// must release it.
func NewSleeper() *Sleeper {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // on failure wakeups are at most 50 µs late
	return &Sleeper{}
}

// Release leaves the thread locked on purpose: it ends with the goroutine, and
// its timer slack with it.
func (s *Sleeper) Release() {}

const (
	futexWait    = 9 | 128 // FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG
	futexWake    = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	futexAnyBits = 1<<32 - 1
	// longest is the longest single sleep, so that instants beyond the
	// range of a timespec or a duration need no special case.
	longest = time.Hour
)

// sleep returns after d, when the word no longer has the value seen, or a
// little early; negative d: never times out. The caller checks again.
func (s *Sleeper) sleep(word *uint32, seen uint32, d time.Duration) {
	var end *unix.Timespec
	if d >= 0 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			runtime.Gosched()
			return
		}
		at := unix.NsecToTimespec(now.Nano() + int64(min(d, longest)))
		end = &at
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(seen),
		uintptr(unsafe.Pointer(end)), 0, futexAnyBits)
}

// wake ends the sleep on a word that was changed.
func (s *Sleeper) wake(word *uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}
