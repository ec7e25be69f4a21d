package ticks

import (
	"math"
	"testing"
	"time"
)

// This processor's counter keeps the rate that was found.
func TestPerSecond(t *testing.T) {
	first := read()
	time.Sleep(200 * time.Millisecond)
	last := read()
	took := last.at.Sub(first.at).Seconds()
	unsure := exact + (first.within+last.within).Seconds()/took
	if got := float64(last.ticks-first.ticks) / took; math.Abs(got/PerSecond()-1) > unsure {
		t.Errorf("%g, and then %g", PerSecond(), got)
	}
}
