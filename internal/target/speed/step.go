package speed

import (
	"time"

	"golang.org/x/sys/unix"
)

// Step is the smallest step of the clock by which phases are timed, as its readings show it: the clock's
// resolution, or how long a reading takes, whichever is longer. 0: it did not move.
func Step() (time.Duration, error) {
	const (
		readings = 10_000
		most     = 10_000_000 // of a clock that ticks
	)
	var least, had int64 // ns
	for n := 0; n < readings || least == 0 && n < most; n++ {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return 0, err
		}
		if step := now.Nano() - had; had != 0 && step > 0 && (least == 0 || step < least) {
			least = step
		}
		had = now.Nano()
	}
	return time.Duration(least), nil
}
