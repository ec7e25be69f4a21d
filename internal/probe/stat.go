package probe

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Statistics of timings. They assume no distribution: timings of storage have
// long tails and steps, so they use medians, ranks and permutations.

// spread is the median distance from the median.
func spread(v []float64) float64 {
	m := middle(v)
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = math.Abs(x - m)
	}
	return middle(d)
}

// above is the share of pairs in which the one of b is larger than that of a;
// ties count half. 0.5: no difference; 1: all of b above all of a (the
// statistic of Mann and Whitney over its largest value).
func above(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return math.NaN()
	}
	n := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				n++
			case y == x:
				n += 0.5
			}
		}
	}
	return n / float64(len(a)*len(b))
}

// larger is the confidence, 0 to 1, that b is above a: the share of random
// relabellings of all values in which b is less far above a, by ranks. The
// number of values limits it: 0.95 for three against three.
func larger(a, b []float64, r *rand.Rand) float64 {
	const times = 1000
	seen := above(a, b)
	if math.IsNaN(seen) {
		return 0
	}
	all := slices.Concat(a, b)
	reached := 1.0
	for range times {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if above(all[:len(a)], all[len(a):]) >= seen {
			reached++
		}
	}
	return 1 - reached/(times+1)
}

// gap is the distance of two medians relative to their variation; positive if
// b is above a. It is large, not infinite, if nothing varies.
func gap(a, b []float64) float64 {
	d := middle(b) - middle(a)
	s := spread(a) + spread(b) + 1e-4*math.Abs(middle(a))
	if s <= 0 {
		return 0
	}
	return d / s
}

// differ reports whether b is clearly above a: the distance of the medians is
// large relative to the variation of medians of that many values, and most
// values agree.
func differ(a, b []float64) bool {
	n := min(len(a), len(b))
	return gap(a, b)*math.Sqrt(float64(n)) > 6 && above(a, b) > 0.8
}

// interleaved repeats several conditions, all once in random order, then all
// again, so that drift affects all of them equally. It returns seconds, by
// condition.
func interleaved(r *rand.Rand, conditions, times int, take func(condition int) (time.Duration, error)) ([][]float64, error) {
	out := make([][]float64, conditions)
	for range times {
		for _, c := range r.Perm(conditions) {
			d, err := take(c)
			if err != nil {
				return out, err
			}
			out[c] = append(out[c], d.Seconds())
		}
	}
	return out, nil
}
