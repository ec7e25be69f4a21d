package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A shape is a way in which figures are noisy: it fills candidates by rounds
// with noise of logarithms, different in every run.
type shape struct {
	name  string
	about string
	fill  func(r *rand.Rand, cells [][]float64)
}

// each fills cell by cell.
func each(draw func(r *rand.Rand) float64) func(*rand.Rand, [][]float64) {
	return func(r *rand.Rand, cells [][]float64) {
		for _, row := range cells {
			for k := range row {
				row[k] = draw(r)
			}
		}
	}
}

// inTime fills in the order in which trials run: round by round, shuffled
// within each. next returns the noise of the next trial.
func inTime(start func(r *rand.Rand) (next func() float64)) func(*rand.Rand, [][]float64) {
	return func(r *rand.Rand, cells [][]float64) {
		next := start(r)
		for k := range cells[0] {
			for _, i := range r.Perm(len(cells)) {
				cells[i][k] = next()
			}
		}
	}
}

func t3(r *rand.Rand) float64 {
	a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
}

var shapes = []shape{
	{"log-normal", "6 % on every figure", each(func(r *rand.Rand) float64 { return 0.06 * r.NormFloat64() })},
	{"heavy tails", "Student's t with 3 degrees of freedom, 6 %", each(func(r *rand.Rand) float64 { return 0.06 / math.Sqrt(3) * t3(r) })},
	{"spikes", "3 %, and one trial in ten slower by 30 % on average", each(func(r *rand.Rand) float64 {
		x := 0.03 * r.NormFloat64()
		if r.Float64() < 0.1 {
			x += 0.3 * r.ExpFloat64()
		}
		return x
	})},
	{"unequal noise", "1 % to 30 %, different for each candidate", func(r *rand.Rand, cells [][]float64) {
		for _, row := range cells {
			sd := 0.01 * math.Pow(30, r.Float64())
			for k := range row {
				row[k] = sd * r.NormFloat64()
			}
		}
	}},
	{"drift", "drift of 15 %, correlated between trials close in time, and 3 %", inTime(func(r *rand.Rand) func() float64 {
		level := 0.15 * r.NormFloat64()
		return func() float64 {
			level = 0.9*level + 0.15*math.Sqrt(1-0.9*0.9)*r.NormFloat64()
			return level + 0.03*r.NormFloat64()
		}
	})},
	{"slow period", "±15 % with a period of 10 to 60 trials, and 3 %", inTime(func(r *rand.Rand) func() float64 {
		period, at := 10+50*r.Float64(), 2*math.Pi*r.Float64()
		return func() float64 {
			at += 2 * math.Pi / period
			return 0.15*math.Sin(at) + 0.03*r.NormFloat64()
		}
	})},
}

// A field is the set of candidates, by their true logarithms.
type field struct {
	name  string
	about string
	means []float64
}

const raceMargin = 0.10

// edge is slightly more than the margin: calling a candidate that is that much
// worse the best is an error.
var edge = math.Log1p(raceMargin) + 1e-9

var fields = []field{
	{"no difference", "four equal candidates", []float64{0, 0, 0, 0}},
	{"clear", "the best of five by 50 %", []float64{0, 0.4, 0.4, 0.5, 0.7}},
	{"at the margin", "three of four are worse by exactly the margin", []float64{0, edge, edge, edge}},
	{"two at the margin", "one of two is worse by exactly the margin", []float64{0, edge}},
	{"many", "ten candidates: 0, 1, 2, 10, 10, 16, 35, 50, 80 and 170 % worse", []float64{0, 0.01, 0.02, edge, edge, 0.15, 0.3, 0.4, 0.6, 1}},
}

// simulate simulates a complete run with the given number of rounds.
func (f field) simulate(r *rand.Rand, s shape, rounds int) grid {
	g := grid{rounds: make([]int, rounds), cells: make([][]float64, len(f.means))}
	for k := range g.rounds {
		g.rounds[k] = k + 1
	}
	for i := range g.cells {
		g.cells[i] = make([]float64, rounds)
	}
	s.fill(r, g.cells)
	for i, row := range g.cells {
		for k := range row {
			row[k] += f.means[i]
		}
	}
	return g
}

// wrong reports that the candidate is truly worse than the best by more than
// the margin.
func (f field) wrong(candidate int) bool {
	for _, m := range f.means {
		if f.means[candidate]-m > math.Log1p(raceMargin) {
			return true
		}
	}
	return false
}

// lost reports that all of the truly best are dropped.
func (f field) lost(dropped []bool) bool {
	best := slices.Min(f.means)
	for i, m := range f.means {
		if m == best && !dropped[i] {
			return false
		}
	}
	return true
}
