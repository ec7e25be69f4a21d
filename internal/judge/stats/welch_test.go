package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// The formulas of Welch (1947), written out.
func TestUnpairedOracle(t *testing.T) {
	w, err := Unpaired([]float64{1.9, 1.7, 1.8}, []float64{2.1, 2.3, 2.2, 2.5})
	if err != nil {
		t.Fatal(err)
	}
	a, va := meanVariance([]float64{math.Log(1.9), math.Log(1.7), math.Log(1.8)})
	b, vb := meanVariance([]float64{math.Log(2.1), math.Log(2.3), math.Log(2.2), math.Log(2.5)})
	x, y := va/3, vb/4
	df := (x + y) * (x + y) / (x*x/2 + y*y/3)
	if math.Abs(w.df-df) > 1e-9 || math.Abs(w.Ratio-math.Exp(b-a)) > 1e-12 {
		t.Errorf("%+v, want df %v ratio %v", w, df, math.Exp(b-a))
	}
	if math.Abs(w.P-tTwoSided((b-a)/math.Sqrt(x+y), df)) > 1e-12 {
		t.Errorf("p %v", w.P)
	}
	low, high := w.Limits(20)
	if !(low < w.Low && high > w.High && w.Low < w.Ratio && w.Ratio < w.High) {
		t.Errorf("limits %v %v of 20 and %v %v of one", low, high, w.Low, w.High)
	}
}

func TestUnpairedEdges(t *testing.T) {
	if _, err := Unpaired(nil, []float64{1}); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing to compare: %v", err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Unpaired([]float64{1, bad}, []float64{1, 2}); err == nil {
			t.Errorf("%v was compared", bad)
		}
	}
	w, err := Unpaired([]float64{1}, []float64{2, 2.1})
	if err != nil || w.Known || w.P != 1 || w.Low != 0 || !math.IsInf(w.High, 1) || math.Abs(w.Ratio-math.Sqrt(4.2)) > 1e-12 {
		t.Errorf("one value against two: %+v, %v", w, err)
	}
	// Sizes that repeat exactly are known only to one part in ten
	// thousand.
	w, err = Unpaired([]float64{5e6, 5e6, 5e6}, []float64{5e6, 5e6, 5e6})
	if err != nil || w.P != 1 || !(w.Low < 1 && w.High > 1) || w.High > 1.001 {
		t.Errorf("equal sizes: %+v, %v", w, err)
	}
}

// Without a difference p is uniform enough that 5 % stay 5 %, for equal and
// unequal noise, and the interval contains the truth.
func TestUnpairedError(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	const runs = 20_000
	for _, c := range []struct {
		na, nb int
		sa, sb float64
	}{{5, 5, 0.05, 0.05}, {3, 8, 0.05, 0.05}, {5, 5, 0.02, 0.2}} {
		wrong, outside := 0, 0
		for range runs {
			draw := func(n int, s float64) []float64 {
				out := make([]float64, n)
				for i := range out {
					out[i] = math.Exp(s * r.NormFloat64())
				}
				return out
			}
			w, err := Unpaired(draw(c.na, c.sa), draw(c.nb, c.sb))
			if err != nil {
				t.Fatal(err)
			}
			if w.P < Alpha {
				wrong++
			}
			if w.Low > 1 || w.High < 1 {
				outside++
			}
		}
		if share := float64(wrong) / runs; share > 0.065 || share < 0.03 {
			t.Errorf("%+v: significant in %.1f %%", c, 100*share)
		}
		if wrong != outside {
			t.Errorf("%+v: %d significant, %d intervals without the truth", c, wrong, outside)
		}
	}
}

// Two against two with the same spread have two degrees of freedom, for which
// Student's distribution has a closed form: p = 1 - t/√(2 + t²).
func TestUnpairedClosedForm(t *testing.T) {
	w, err := Unpaired([]float64{1, math.Exp(0.1)}, []float64{math.Exp(1), math.Exp(1.1)})
	if err != nil {
		t.Fatal(err)
	}
	x := 1 / math.Sqrt(0.005)
	if want := 1 - x/math.Sqrt(2+x*x); math.Abs(w.df-2) > 1e-9 || math.Abs(w.P-want) > 1e-9 {
		t.Errorf("df %v, p %v, want 2 and %v", w.df, w.P, want)
	}
	// Its 97.5 % point is 0.95·√(2/(1 - 0.95²)).
	half := 0.95 * math.Sqrt(2/(1-0.95*0.95)) * math.Sqrt(0.005)
	if math.Abs(w.Low-math.Exp(1-half)) > 1e-9 || math.Abs(w.High-math.Exp(1+half)) > 1e-9 {
		t.Errorf("%v to %v, want %v to %v", w.Low, w.High, math.Exp(1-half), math.Exp(1+half))
	}
}
