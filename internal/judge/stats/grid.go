package stats

import (
	"fmt"
	"math"
	"slices"
)

// Sample holds one candidate's figures by round. Rounds may be missing.
type Sample map[int]float64

// Values returns the figures in the order of the rounds.
func (s Sample) Values() []float64 {
	out := make([]float64, 0, len(s))
	for _, r := range sortedKeys(s) {
		out = append(out, s[r])
	}
	return out
}

// grid is candidates by rounds; NaN if there is no figure.
type grid struct {
	rounds []int
	cells  [][]float64
}

// logGrid puts the logarithms of samples into a grid.
func logGrid(samples []Sample) (grid, error) {
	return gridOf(samples, func(v float64) (float64, error) { return math.Log(v), positive(v) })
}

// gridOf puts what as makes of the figures into a grid.
func gridOf(samples []Sample, as func(v float64) (float64, error)) (grid, error) {
	var g grid
	seen := map[int]int{}
	for _, s := range samples {
		for r := range s {
			seen[r] = 0
		}
	}
	g.rounds = sortedKeys(seen)
	for k, r := range g.rounds {
		seen[r] = k
	}
	g.cells = make([][]float64, len(samples))
	all := make([]float64, len(samples)*len(g.rounds))
	for i, s := range samples {
		row := all[i*len(g.rounds) : (i+1)*len(g.rounds)]
		g.cells[i] = row
		for k := range row {
			row[k] = math.NaN()
		}
		for _, r := range sortedKeys(s) {
			v, err := as(s[r])
			if err != nil {
				return grid{}, fmt.Errorf("candidate %d, round %d: %w", i+1, r, err)
			}
			row[seen[r]] = v
		}
	}
	return g, nil
}

// first returns the rounds up to and including round; it shares the figures.
func (g grid) first(round int) grid {
	n, found := slices.BinarySearch(g.rounds, round)
	if found {
		n++
	}
	out := grid{rounds: g.rounds[:n], cells: make([][]float64, len(g.cells))}
	for i, row := range g.cells {
		out.cells[i] = row[:n]
	}
	return out
}

// additive fits cell = candidate + round by least squares and returns the
// residual of every cell and the rank of the model: candidates and rounds with
// figures, less one for every group that no shared round connects to the
// others.
func (g grid) additive() (residuals [][]float64, rank int) {
	n := len(g.cells)
	a, b, rank := g.reduced()
	effects, more := semidefinite(a, b)
	residuals = make([][]float64, n)
	all := make([]float64, n*len(g.rounds))
	for i, row := range g.cells {
		residuals[i] = all[i*len(row) : (i+1)*len(row)]
		for k, v := range row {
			residuals[i][k] = v - effects[i]
		}
	}
	for k := range g.rounds {
		mean, _ := columnMean(residuals, k)
		for _, row := range residuals {
			row[k] -= mean
		}
	}
	return residuals, rank + more
}

// reduced sets up the equations a·effects = b of the candidates, with the
// rounds eliminated (the reduced normal equations of an incomplete block
// design, Yates 1940), and counts the rounds with figures. They are positive
// semidefinite with a null vector for every connected group: only differences
// within a group are determined.
func (g grid) reduced() (a, b []float64, rounds int) {
	n := len(g.cells)
	a, b = make([]float64, n*n), make([]float64, n)
	for k := range g.rounds {
		mean, m := columnMean(g.cells, k)
		if m == 0 {
			continue
		}
		rounds++
		for i, row := range g.cells {
			if math.IsNaN(row[k]) {
				continue
			}
			a[i*n+i]++
			b[i] += row[k] - mean
			for j, other := range g.cells {
				if !math.IsNaN(other[k]) {
					a[i*n+j] -= 1 / float64(m)
				}
			}
		}
	}
	return a, b, rounds
}

// count counts the figures of a row and sums their squares.
func count(row []float64) (figures int, squares float64) {
	for _, v := range row {
		if !math.IsNaN(v) {
			figures++
			squares += v * v
		}
	}
	return figures, squares
}

// columnMean is the mean of the m figures of a column; 0 if there are none.
func columnMean(rows [][]float64, k int) (mean float64, m int) {
	for _, row := range rows {
		if !math.IsNaN(row[k]) {
			mean += row[k]
			m++
		}
	}
	return mean / math.Max(1, float64(m)), m
}

// semidefinite solves the symmetric positive semidefinite equations a·x = b (a
// in rows, overwritten with its factor) by elimination, and returns the rank
// of a. For a null vector of a, the pivot is zero and that unknown becomes 0,
// which is one of the solutions if there are any.
func semidefinite(a, b []float64) (x []float64, rank int) {
	n := len(b)
	x = slices.Clone(b)
	size := 0.0
	for i := range n {
		size = math.Max(size, a[i*n+i])
	}
	for k := range n {
		d := a[k*n+k]
		if d <= 1e-9*size {
			a[k*n+k] = 0
			continue
		}
		rank++
		for i := k + 1; i < n; i++ {
			f := a[i*n+k] / d
			if f == 0 {
				continue
			}
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= f * a[k*n+j]
			}
			x[i] -= f * x[k]
		}
	}
	for k := n - 1; k >= 0; k-- {
		if a[k*n+k] == 0 {
			x[k] = 0
			continue
		}
		for j := k + 1; j < n; j++ {
			x[k] -= a[k*n+j] * x[j]
		}
		x[k] /= a[k*n+k]
	}
	return x, rank
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
