package stats

import (
	"fmt"
	"math"
)

// Kendall returns Kendall's tau-b of two rankings of the same items, which may
// have ties. It is undefined (ok false) for fewer than two items, or if one
// ranking ties them all.
func Kendall(x, y []float64) (tau float64, ok bool, err error) {
	if len(x) != len(y) {
		return 0, false, fmt.Errorf("rankings of %d and of %d items", len(x), len(y))
	}
	for i := range x {
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) {
			return 0, false, fmt.Errorf("item %d has no rank", i+1)
		}
	}
	agree, disagree, tiedX, tiedY, pairs := 0, 0, 0, 0, 0
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			pairs++
			sx, sy := sign(x[i], x[j]), sign(y[i], y[j])
			if sx == 0 {
				tiedX++
			}
			if sy == 0 {
				tiedY++
			}
			switch {
			case sx*sy > 0:
				agree++
			case sx*sy < 0:
				disagree++
			}
		}
	}
	if pairs == tiedX || pairs == tiedY {
		return 0, false, nil
	}
	return float64(agree-disagree) / (math.Sqrt(float64(pairs-tiedX)) * math.Sqrt(float64(pairs-tiedY))), true, nil
}

func sign(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
