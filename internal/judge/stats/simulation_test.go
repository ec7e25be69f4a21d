package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noise of ten candidates, as standard deviations of log values.
var noises = map[string][]float64{
	"equal":         repeat(0.05, 10),
	"one noisy":     append([]float64{0.5}, repeat(0.05, 9)...),
	"two noisy":     append([]float64{0.5, 0.5}, repeat(0.05, 8)...),
	"half noisy":    append(repeat(0.3, 5), repeat(0.05, 5)...),
	"half a little": append(repeat(0.15, 5), repeat(0.05, 5)...),
	"graded":        {0.02, 0.028, 0.039, 0.054, 0.076, 0.105, 0.147, 0.205, 0.287, 0.4},
	"two quiet":     append(repeat(0.3, 8), 0.03, 0.03),
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func draw(r *rand.Rand, means, sd []float64, rounds int) []Sample {
	out := make([]Sample, len(sd))
	for i := range out {
		out[i] = Sample{}
	}
	for k := 1; k <= rounds; k++ {
		drift := 0.1 * r.NormFloat64() // of the round
		for i := range out {
			out[i][k] = math.Exp(means[i] + drift + sd[i]*r.NormFloat64())
		}
	}
	return out
}

// If ten candidates are truly equal, at most one run in twenty may call any of
// them better than another, whatever their noise. (With the pooled variance
// alone this is 12 to 20 % for unequal noise.) The margin is 0 so that it
// hides nothing.
func TestFamilywiseErrorByChanceOnly(t *testing.T) {
	const runs, seed = 600, 11
	for name, sd := range noises {
		for _, rounds := range []int{3, 5} {
			r := rand.New(rand.NewPCG(seed, uint64(rounds)))
			wrong := 0
			for range runs {
				c, err := Compare(draw(r, make([]float64, len(sd)), sd, rounds), 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range c.Pairs {
					if p.Outcome == Lower || p.Outcome == Higher {
						wrong++
						break
					}
				}
			}
			t.Logf("seed %d, %s, %d rounds: %.1f %% of runs name a winner", seed, name, rounds, 100*float64(wrong)/runs)
			if float64(wrong)/runs > Alpha {
				t.Errorf("%s, %d rounds: familywise error %.3f > %.2f (seed %d)", name, rounds, float64(wrong)/runs, Alpha, seed)
			}
		}
	}
}

// Some differences are real here, others are not: the latter must still be
// called only by chance, and no candidate's true rank may lie outside its
// range of ranks in more than one run in twenty.
func TestRankRangesCoverTheTruth(t *testing.T) {
	const runs, seed = 400, 12
	means := []float64{0, 0, 0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.5}
	for name, sd := range noises {
		r := rand.New(rand.NewPCG(seed, 5))
		wrong := 0
		for range runs {
			c, err := Compare(draw(r, means, sd, 3), 0.10)
			if err != nil {
				t.Fatal(err)
			}
			bad := false
			for i, rank := range c.Ranks() {
				below, same := 0, 0
				for j := range means {
					if means[j] < means[i] {
						below++
					} else if means[j] == means[i] {
						same++
					}
				}
				// Equal candidates may be in any order among
				// themselves.
				if rank.Low > below+1 || rank.High < below+same {
					bad = true
				}
			}
			if bad {
				wrong++
			}
		}
		if float64(wrong)/runs > Alpha {
			t.Errorf("%s: a true rank lies outside its range in %.3f of runs (seed %d)", name, float64(wrong)/runs, seed)
		}
	}
}

// A tie says that two candidates differ by less than the margin. A pair that
// is truly 12 % apart may be called tied in one case of forty (one side of a
// 95 % interval), and three rounds of ordinary noise must find differences as
// clear as a factor of two.
func TestTiesAndPower(t *testing.T) {
	const runs, seed = 600, 13
	r := rand.New(rand.NewPCG(seed, 1))
	means := []float64{0, math.Log(1.12), math.Log(2), math.Log(4), math.Log(4.01)}
	tied, found, same := 0, 0, 0
	for range runs {
		c, err := Compare(draw(r, means, repeat(0.02, 5), 3), 0.10)
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := c.Between(0, 1); p.Outcome == Tied {
			tied++
		}
		if p, _ := c.Between(2, 0); p.Outcome == Higher {
			found++
		}
		if p, _ := c.Between(3, 4); p.Outcome == Tied {
			same++
		}
	}
	if rate := float64(tied) / runs; rate > 0.025+0.02 {
		t.Errorf("12 %% apart called tied in %.3f of runs (seed %d)", rate, seed)
	}
	if rate := float64(found) / runs; rate < 0.95 {
		t.Errorf("a factor of two found in only %.3f of runs (seed %d)", rate, seed)
	}
	if rate := float64(same) / runs; rate < 0.7 {
		t.Errorf("equal candidates called tied in only %.3f of runs (seed %d)", rate, seed)
	}
}

// The forecast must have the right size: with that many more rounds pairs are
// settled more often than not, and with a quarter of them seldom.
func TestNeededRoundsForecast(t *testing.T) {
	const runs, seed = 200, 14
	r := rand.New(rand.NewPCG(seed, 1))
	means := []float64{0, math.Log(1.25), math.Log(3)}
	sd := repeat(0.20, 3)
	var forecasts []float64
	for range runs {
		c, err := Compare(draw(r, means, sd, 4), 0.10)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := c.Needed(0, 1); ok && n > 0 {
			forecasts = append(forecasts, float64(n))
		}
	}
	middle, err := Median(forecasts)
	if err != nil {
		t.Fatal(err)
	}
	share := func(rounds int) float64 {
		settled := 0
		for range runs {
			c, err := Compare(draw(r, means, sd, rounds), 0.10)
			if err != nil {
				t.Fatal(err)
			}
			if p, _ := c.Between(0, 1); p.Outcome != Open {
				settled++
			}
		}
		return float64(settled) / runs
	}
	t.Logf("median forecast %v more rounds", middle)
	// A noisy estimate near the margin gives a long forecast; three times
	// the median is plenty, and one more round is not enough.
	if s := share(4 + 3*int(middle)); s < 0.5 {
		t.Errorf("after three times the forecast of %v rounds only %.2f are settled", middle, s)
	}
	if now := share(5); now > 0.5 {
		t.Errorf("%.2f are settled after one round more, forecast was %v", now, middle)
	}
}
