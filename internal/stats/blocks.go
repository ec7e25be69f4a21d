package stats

import "math"

// Blocks is the two-way additive model of a randomised complete block design,
// log value = candidate + round + noise, fitted by least squares; cells may be
// missing. CompareWith may add a covariate.
type Blocks struct {
	// Variance of the noise pooled over all candidates, with DF degrees of
	// freedom. DF 0: the noise cannot be known (one round, one candidate).
	Variance float64
	DF       int
	// Own noise variance of each candidate, with its degrees of freedom.
	Own   []float64
	OwnDF []int
}

// resolution is the smallest relative standard deviation that is believed in:
// figures that repeat to the last digit (a used space) are still not known
// better than one part in ten thousand.
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

// blocksOf makes the model's noise from what it left over.
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
// candidate i's residuals expects (1-2/n)·σᵢ² + mean(σ²)/n, because a share of
// everybody's noise sits in the round effects (Grubbs 1948); solving that for
// σᵢ² can go far down or below zero for a quiet candidate among noisy ones, so
// half the plain mean square is kept as the least. With two candidates only
// their difference shows, and its noise is halved between them.
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

// company is how many candidates the rounds of i have, i among them; where
// they differ, the harmonic mean, since it is 1/n that counts.
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
