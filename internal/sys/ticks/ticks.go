// Package ticks finds how fast the processor's own counter runs, which an emulator shows to its guest.
package ticks

import (
	"sync"
	"time"
)

const (
	// exact is the permitted error of the rate. Linux refines a rate that it is given if it is wrong by
	// less than 1 %, and keeps it otherwise (tsc_refine_calibration_work in arch/x86/kernel/tsc.c).
	exact = 1e-4
	// The counter is read again after apart, up to most times, until the rate is exact.
	apart = 20 * time.Millisecond
	most  = 50
)

// PerSecond is the rate of the counter; 0 where there is none, or where it could not be found. It takes
// 20 ms the first time, and up to a second on a machine that is very busy.
var PerSecond = sync.OnceValue(func() float64 { return rate(read, time.Sleep) })

// reading is the counter at an instant.
type reading struct {
	ticks  uint64
	at     time.Time
	within time.Duration // at most so much later
}

// read reads the counter several times, and returns what is known best.
func read() reading {
	var best reading
	for n := range 100 {
		at := time.Now()
		ticks := count()
		if within := time.Since(at); n == 0 || within < best.within {
			best = reading{ticks, at, within}
		}
	}
	return best
}

func rate(read func() reading, sleep func(time.Duration)) float64 {
	first := read()
	for range most {
		sleep(apart)
		last := read()
		if last.ticks <= first.ticks {
			return 0
		}
		took := last.at.Sub(first.at)
		if unsure := first.within + last.within; unsure.Seconds() < exact*took.Seconds() {
			return float64(last.ticks-first.ticks) / took.Seconds()
		}
	}
	return 0
}
