package flash

import (
	"math"
	"testing"
)

func TestYears(t *testing.T) {
	const gb = 1e9
	// By hand: 64 GB at 3000 cycles accept 192 TB; 10 GB a day amplified
	// twice are 20 GB, so 9600 days; and half of that if the worst block
	// is erased twice as often as the mean.
	if y, why := Years(3000, 64*gb, 10*gb, 2, 1); why != "" || math.Abs(y-9600/365.25) > 1e-9 {
		t.Errorf("even wear: %v years, %q", y, why)
	}
	if y, why := Years(3000, 64*gb, 10*gb, 2, 2); why != "" || math.Abs(y-4800/365.25) > 1e-9 {
		t.Errorf("uneven wear: %v years, %q", y, why)
	}
	// A buffer can bring the amplification below 1.
	if y, why := Years(3000, 64*gb, 10*gb, 0.5, 1); why != "" || math.Abs(y-38400/365.25) > 1e-9 {
		t.Errorf("amplification 0.5: %v years, %q", y, why)
	}
	if y, why := Years(3000, 64*gb, 0, 2, 1); !math.IsInf(y, 1) || why == "" {
		t.Errorf("nothing written: %v years, %q", y, why)
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		cycles                         int64
		capacity, daily, amp, unevenly float64
	}{
		"cycles not stated":     {0, gb, gb, 1, 1},
		"cycles impossible":     {-1, gb, gb, 1, 1},
		"no capacity":           {1, 0, gb, 1, 1},
		"daily unknown":         {1, gb, nan, 1, 1},
		"daily impossible":      {1, gb, -1, 1, 1},
		"nothing programmed":    {1, gb, gb, 0, 1},
		"amplification unknown": {1, gb, gb, nan, 1},
		"nothing erased":        {1, gb, gb, 1, 0},
		"spread unknown":        {1, gb, gb, 1, nan},
		"spread infinite":       {1, gb, gb, 1, math.Inf(1)},
		"spread below one":      {1, gb, gb, 1, 0.5},
	} {
		if y, why := Years(c.cycles, c.capacity, c.daily, c.amp, c.unevenly); y != 0 || why == "" {
			t.Errorf("%s: %v years, %q; want 0 with a reason", name, y, why)
		}
	}
}
