package stats

import (
	"fmt"
	"math"
	"slices"
)

// Sample holds one candidate's figures by round. Rounds may be missing.
type Sample map[int]float64

// Values in the order of the rounds.
func (s Sample) Values() []float64 {
	rounds := make([]int, 0, len(s))
	for r := range s {
		rounds = append(rounds, r)
	}
	slices.Sort(rounds)
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = s[r]
	}
	return out
}

// Blocks is the two-way additive model of a randomised complete block design,
// log value = candidate + round + noise, fitted by least squares; cells may be
// missing.
type Blocks struct {
	// Variance of the noise pooled over all candidates, with DF degrees of
	// freedom. DF 0: the noise cannot be known (one round, one candidate).
	Variance float64
	DF       int
	// Own noise variance of each candidate, with its degrees of freedom.
	Own   []float64
	OwnDF []int

	residuals []map[int]float64
}

// resolution is the smallest relative standard deviation that is believed in:
// figures that repeat to the last digit (a used space) are still not known
// better than one part in ten thousand.
const resolution = 1e-4

// FitBlocks fits the model.
func FitBlocks(samples []Sample) (Blocks, error) {
	logs := make([]map[int]float64, len(samples))
	cells := 0
	for i, s := range samples {
		logs[i] = make(map[int]float64, len(s))
		for r, v := range s {
			if err := positive(v); err != nil {
				return Blocks{}, fmt.Errorf("candidate %d, round %d: %w", i+1, r, err)
			}
			logs[i][r] = math.Log(v)
			cells++
		}
	}
	b := Blocks{Own: make([]float64, len(samples)), OwnDF: make([]int, len(samples))}
	b.residuals = residuals(logs)
	b.DF = max(0, cells-rank(logs))
	total := 0.0
	sums := make([]float64, len(samples))
	for i, row := range b.residuals {
		for _, r := range sortedKeys(row) {
			sums[i] += row[r] * row[r]
		}
		total += sums[i]
		b.OwnDF[i] = max(0, len(row)-1)
	}
	if b.DF > 0 {
		b.Variance = total / float64(b.DF)
	}
	b.own(sums)
	return b, nil
}

// own estimates each candidate's noise from its residuals. The mean square of
// candidate i's residuals expects (1-2/n)·σᵢ² + mean(σ²)/n, because a share of
// everybody's noise sits in the round effects (Grubbs 1948); solving that for
// σᵢ² can go far down or below zero for a quiet candidate among noisy ones, so
// half the plain mean square is kept as the least.
func (b *Blocks) own(sums []float64) {
	n := 0.0
	for _, row := range b.residuals {
		if len(row) > 0 {
			n++
		}
	}
	for i, sum := range sums {
		switch {
		case b.OwnDF[i] == 0:
			b.Own[i] = b.Variance
		case n < 3:
			b.Own[i] = b.Variance // two candidates: only their difference shows
		default:
			s := sum / float64(b.OwnDF[i])
			b.Own[i] = math.Max(n/(n-2)*(s-b.Variance/n), 0.5*s*n/(n-1))
		}
	}
}

// residuals takes candidate and round means out in turn until nothing
// changes, which converges to the least-squares residuals; without missing
// cells it is exact after one turn.
func residuals(logs []map[int]float64) []map[int]float64 {
	type cell struct{ i, r int }
	out := make([]map[int]float64, len(logs))
	byRound := map[int][]cell{}
	var lines [][]cell // cells with a mean: candidates first, then rounds
	for i, row := range logs {
		var line []cell
		out[i] = make(map[int]float64, len(row))
		for _, r := range sortedKeys(row) {
			out[i][r] = row[r]
			line = append(line, cell{i, r})
			byRound[r] = append(byRound[r], cell{i, r})
		}
		if len(line) > 0 {
			lines = append(lines, line)
		}
	}
	for _, r := range sortedKeys(byRound) {
		lines = append(lines, byRound[r])
	}
	for range 10000 {
		change := 0.0
		for _, line := range lines {
			mean := 0.0
			for _, c := range line {
				mean += out[c.i][c.r]
			}
			mean /= float64(len(line))
			for _, c := range line {
				out[c.i][c.r] -= mean
			}
			change = math.Max(change, math.Abs(mean))
		}
		if change < 1e-13 {
			break
		}
	}
	return out
}

// rank of the model: candidates plus rounds, less one for every group that no
// shared round connects to the others.
func rank(logs []map[int]float64) int {
	parent := map[[2]int][2]int{}
	var find func(k [2]int) [2]int
	find = func(k [2]int) [2]int {
		p, ok := parent[k]
		if !ok {
			parent[k] = k
			return k
		}
		if p == k {
			return k
		}
		root := find(p)
		parent[k] = root
		return root
	}
	for i, row := range logs {
		for _, r := range sortedKeys(row) {
			a, b := find([2]int{0, i}), find([2]int{1, r})
			parent[a] = b
		}
	}
	groups := 0
	for k := range parent {
		if find(k) == k {
			groups++
		}
	}
	return len(parent) - groups
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
