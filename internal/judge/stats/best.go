package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// ErrNoise: the noise is unknown, because too few rounds were run.
var ErrNoise = errors.New("the noise is unknown: candidates need two rounds in common")

// ProbabilityBest is how often each candidate would have the lowest mean,
// given estimated means (of logarithms), their covariance matrix and its
// degrees of freedom (+Inf: known exactly): the share of draws from the
// multivariate Student distribution around the estimates. That is the
// posterior probability under the usual flat prior (Box and Tiao 1973, section
// 2.11) and expresses how certain a recommendation is; it is not a test and
// controls no error rate.
//
// Equal draws share their win. The same seed gives the same answer; its own
// standard error is at most 0.5/√draws.
func ProbabilityBest(means []float64, covariance [][]float64, df float64, draws int, seed uint64) ([]float64, error) {
	if len(covariance) != len(means) {
		return nil, fmt.Errorf("covariances of %d for %d means", len(covariance), len(means))
	}
	if !(df > 0) || draws < 1 {
		return nil, fmt.Errorf("%v degrees of freedom and %d draws: both must be above 0", df, draws)
	}
	root, err := cholesky(covariance)
	if err != nil {
		return nil, err
	}
	for i, m := range means {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, fmt.Errorf("mean %d is %v", i+1, m)
		}
	}
	source := rand.NewPCG(seed, 0)
	r := rand.New(source)
	scale := distuv.ChiSquared{K: df, Src: source}
	z, x := make([]float64, len(means)), make([]float64, len(means))
	wins := make([]float64, len(means))
	for range draws {
		s := 1.0
		if !math.IsInf(df, 1) {
			s = math.Sqrt(df / scale.Rand())
		}
		least, equal := math.Inf(1), 0.0
		for i := range means {
			z[i] = r.NormFloat64()
			x[i] = means[i]
			for j := range i + 1 {
				x[i] += s * root[i][j] * z[j]
			}
			switch {
			case x[i] < least:
				least, equal = x[i], 1
			case x[i] == least:
				equal++
			}
		}
		for i, v := range x {
			if v == least {
				wins[i] += 1 / equal / float64(draws)
			}
		}
	}
	return wins, nil
}

// cholesky returns the lower triangle whose product with its transpose is a
// positive semidefinite matrix.
func cholesky(a [][]float64) ([][]float64, error) {
	l := make([][]float64, len(a))
	for i, row := range a {
		if len(row) != len(a) {
			return nil, fmt.Errorf("row %d of the covariances has %d of %d", i+1, len(row), len(a))
		}
		l[i] = make([]float64, len(a))
		for j := range i + 1 {
			if math.IsNaN(row[j]) || math.IsInf(row[j], 0) || math.Abs(row[j]-a[j][i]) > 1e-9*math.Abs(row[j]) {
				return nil, fmt.Errorf("covariance of %d and %d is %v, the other way round %v", i+1, j+1, row[j], a[j][i])
			}
			sum := row[j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			tiny := 1e-12 * math.Max(a[i][i], a[j][j])
			switch {
			case i == j && sum < -tiny:
				return nil, fmt.Errorf("the covariances of %d means belong to no distribution", len(a))
			case i == j:
				l[i][i] = math.Sqrt(math.Max(0, sum))
			case l[j][j] > 0:
				l[i][j] = sum / l[j][j]
			case math.Abs(sum) > tiny:
				return nil, fmt.Errorf("the covariances of %d means belong to no distribution", len(a))
			}
		}
	}
	return l, nil
}

// ProbabilityBest is how often each candidate would be the lowest, from its
// least-squares mean and its own moderated noise; NaN for a candidate without
// figures. With two candidates it is one minus half the p of their pair.
func (c Compared) ProbabilityBest(draws int, seed uint64) ([]float64, error) {
	if c.Blocks.DF == 0 {
		return nil, ErrNoise
	}
	in := c.noise.figured()
	a, b, _ := c.noise.grid.reduced()
	effects, rank := semidefinite(a, b)
	if rank != len(in)-1 {
		return nil, errors.New("some candidates share no round, not even through others")
	}
	means, covariance := make([]float64, len(in)), make([][]float64, len(in))
	for k, i := range in {
		rounds, _ := count(c.noise.grid.cells[i])
		means[k] = effects[i]
		covariance[k] = make([]float64, len(in))
		covariance[k][k] = c.noise.own[i].variance / float64(rounds)
	}
	shares, err := ProbabilityBest(means, covariance, float64(c.Blocks.DF), draws, seed)
	if err != nil {
		return nil, err
	}
	out := make([]float64, c.n)
	for i := range out {
		out[i] = math.NaN()
	}
	for k, i := range in {
		out[i] = shares[k]
	}
	return out, nil
}
