package stats

import "math"

// Blocks is the two-way additive model of a randomised complete block design,
// log value = candidate + round + noise, fitted by least squares; cells may be
// missing. CompareWith may add a covariate.
type Blocks struct {
	// Variance of the noise pooled over all candidates, with DF degrees of
	// freedom. DF 0: the noise is unknown (one round, one candidate).
	Variance float64
	DF       int
	// Own noise variance of each candidate, with its degrees of freedom.
	Own   []float64
	OwnDF []int
}

// resolution is the smallest relative standard deviation that we accept:
// figures that repeat to the last digit (a used space) are still known no
// better than to one part in ten thousand.
const resolution = 1e-4

// FitBlocks fits the model.
func FitBlocks(samples []Sample) (Blocks, error) {
	g, err := logGrid(samples)
	if err != nil {
		return Blocks{}, err
	}
	residuals, rank := g.additive()
	return blocksOf(residuals, rank), nil
}

// blocksOf computes the model's noise from its residuals.
func blocksOf(residuals [][]float64, rank int) Blocks {
	b := Blocks{Own: make([]float64, len(residuals)), OwnDF: make([]int, len(residuals))}
	total, cells := 0.0, 0
	sums := make([]float64, len(residuals))
	for i, row := range residuals {
		m, squares := count(row)
		sums[i] = squares
		total += squares
		cells += m
		b.OwnDF[i] = max(0, m-1)
	}
	b.DF = max(0, cells-rank)
	if b.DF > 0 {
		b.Variance = total / float64(b.DF)
	}
	b.own(sums, residuals)
	return b
}

// own estimates each candidate's noise from its residuals. The mean square of
// candidate i's residuals has the expectation (1-2/n)·σᵢ² + mean(σ²)/n,
// because the round effects absorb a share of every candidate's noise (Grubbs
// 1948); solving that for σᵢ² can yield far too little, or less than zero, for
// a quiet candidate among noisy ones, so the estimate is at least half the
// plain mean square. With two candidates only their difference shows, and they
// share its noise equally.
func (b *Blocks) own(sums []float64, residuals [][]float64) {
	for i, sum := range sums {
		n := company(i, residuals)
		s := sum / math.Max(1, float64(b.OwnDF[i]))
		switch {
		case b.OwnDF[i] == 0 || n < 1.5: // alone in nearly all its rounds
			b.Own[i] = b.Variance
		case n < 3:
			b.Own[i] = s * n / (n - 1)
		default:
			b.Own[i] = math.Max(n/(n-2)*(s-b.Variance/n), 0.5*s*n/(n-1))
		}
	}
}

// company is how many candidates the rounds of i have, including i; if they
// differ, their harmonic mean, since 1/n is what counts.
func company(i int, residuals [][]float64) float64 {
	rounds, sum := 0, 0.0
	for k, v := range residuals[i] {
		if math.IsNaN(v) {
			continue
		}
		n := 0
		for _, row := range residuals {
			if !math.IsNaN(row[k]) {
				n++
			}
		}
		rounds++
		sum += 1 / float64(n)
	}
	return float64(rounds) / math.Max(sum, 1e-9)
}
