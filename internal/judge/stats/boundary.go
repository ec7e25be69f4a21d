package stats

import (
	"math"
	"sync"
)

// boundary gives, for one comparison that is examined after first, first+1, …
// rounds, the one-sided error of each look so that the looks up to it have
// together spent what they may: Lan's and DeMets' (1983) spending function.
// Successive looks see nearly the same figures, so each may use more than it
// adds to the spending.
//
// Sums of rounds grow by independent increments. Numerical integration carries
// the density of the sums that have crossed no boundary so far from look to
// look (Armitage, McPherson and Rowe 1969). With few rounds the same errors
// are used with Student's t in place of the normal distribution (Jennison and
// Turnbull 2000, section 3.8); see small.
type boundary struct {
	first int
	error float64 // of all looks together

	mu     sync.Mutex
	errors []float64
	// density of the sum after the last look, at points from low on, in
	// units of one round's standard deviation.
	density   []float64
	low, step float64
}

const (
	// small is the share of the error for which boundaries are computed.
	// Student's t values of successive looks are less correlated than the
	// normal figures, since the noise is re-estimated: with errors
	// computed for the latter, all looks together err up to 1.26 times as
	// often as they should (with the first look after 2 or 3 rounds and 40
	// looks, simulated; a test here repeats it).
	small = 0.79
	// number of points of the density, even.
	places = 400
	// carried is how many looks the density is carried for, as long as the
	// points are closer than one round's deviation. Later looks simply add
	// their errors, which is conservative.
	carried = 100
)

// spending is the share of the error that k looks together may have spent:
// half after two looks, and never all, so that the number of looks need not be
// known in advance, and more rounds than planned break no promise. Early looks
// get most of it: they have few degrees of freedom, which make small errors
// expensive. (In simulation, halves after 1, 4, 8 or 16 looks and Pocock's
// spending over 40 rounds take longer with little noise, with much, or with
// both.)
func spending(k int) float64 { return float64(k) / float64(k+2) }

// computed boundaries: they are pure functions of their key.
var boundaries sync.Map // boundaryKey -> *boundary

type boundaryKey struct {
	first int
	error float64
}

func boundaryOf(first int, err float64) *boundary {
	b, _ := boundaries.LoadOrStore(boundaryKey{first, err}, &boundary{first: first, error: err})
	return b.(*boundary)
}

// look returns the error of the k-th look; k starts at 1.
func (b *boundary) look(k int) float64 {
	if k > carried {
		return small * b.error * (spending(k) - spending(k-1))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.errors) < k {
		b.next()
	}
	return b.errors[k-1]
}

// next finds the next boundary and carries the density up to it.
func (b *boundary) next() {
	k := len(b.errors) + 1
	sd := math.Sqrt(float64(b.first + k - 1))
	density := func(x float64) float64 { return normal(x/sd) / sd }
	above := func(x float64) float64 { return normalCDF(-x / sd) }
	if k > 1 {
		density = b.after(normal)
		above = b.after(func(d float64) float64 { return normalCDF(-d) })
	}
	add := small * b.error * (spending(k) - spending(k-1))
	least, most := 0.0, 12*sd
	for range 50 {
		if middle := (least + most) / 2; above(middle) > add {
			least = middle
		} else {
			most = middle
		}
	}
	low := -8 * sd
	step := (most - low) / places
	next := make([]float64, places+1)
	for i := range next {
		next[i] = density(low + float64(i)*step)
	}
	b.errors = append(b.errors, normalCDF(-most/sd))
	b.density, b.low, b.step = next, low, step
}

// after integrates f(x - sum) over the density of the sum, by Simpson's rule.
func (b *boundary) after(f func(float64) float64) func(x float64) float64 {
	density, low, step := b.density, b.low, b.step
	return func(x float64) float64 {
		total := 0.0
		for i, w := range density {
			c := 2.0
			switch {
			case i == 0 || i == len(density)-1:
				c = 1
			case i%2 == 1:
				c = 4
			}
			total += c * w * f(x-low-float64(i)*step)
		}
		return total * step / 3
	}
}
