package stats

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestOff(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		median float64
		within []float64
	}{
		{[]float64{1}, 0, []float64{1, 1}},
		{[]float64{0.5}, 0.5, []float64{0, 0}},
		{[]float64{2, 0.5}, 0.75, []float64{0, 0}}, // the distances are 1 and 0.5
		{[]float64{1.15, 1.3, 0.85, 0.7, 1.31}, 0.30, []float64{0.4, 0.8}},
		{[]float64{1.1, 1.2, 1.4, 4}, 0.3, []float64{0.25, 0.5}},
	} {
		median, within, err := Off(c.ratios, 0.15, 0.30)
		if err != nil || math.Abs(median-c.median) > 1e-12 || !slices.Equal(within, c.within) {
			t.Errorf("%v: %v, %v, %v", c.ratios, median, within, err)
		}
	}
	if _, _, err := Off(nil, 0.15); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	for _, wrong := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, _, err := Off([]float64{1, wrong}, 0.15); err == nil {
			t.Errorf("%v is a ratio", wrong)
		}
	}
}
