package ticks

import (
	"math"
	"testing"
	"time"
)

// The rate is that of the counter, however late it is read, or there is none.
func TestRate(t *testing.T) {
	const hertz = 2.5e9
	began := time.Now()
	for name, c := range map[string]struct {
		hertz  float64
		within []time.Duration // of one reading after the other, and then of all
		want   float64
		sleeps int
	}{
		"quiet":            {hertz, []time.Duration{50 * time.Nanosecond}, hertz, 1},
		"busy at first":    {hertz, []time.Duration{20 * time.Microsecond}, hertz, 21},
		"busy meanwhile":   {hertz, []time.Duration{50, time.Millisecond, time.Millisecond, 50}, hertz, 3},
		"never readable":   {hertz, []time.Duration{time.Second}, 0, most},
		"stands":           {0, []time.Duration{50}, 0, 1},
		"goes back":        {-hertz, []time.Duration{50}, 0, 1},
		"every nanosecond": {1e9, []time.Duration{50}, 1e9, 1},
	} {
		now, readings, sleeps := began, 0, 0
		got := rate(func() reading {
			within := c.within[min(readings, len(c.within)-1)]
			readings++
			at := now.Sub(began) + within // the counter was read at the latest instant that is possible
			return reading{uint64(1e12 + c.hertz*at.Seconds()), now, within}
		}, func(d time.Duration) { now, sleeps = now.Add(d), sleeps+1 })
		if math.Abs(got-c.want) > exact*c.want || sleeps != c.sleeps {
			t.Errorf("%s: %g after %d, not %g after %d", name, got, sleeps, c.want, c.sleeps)
		}
	}
}
