package stats

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"whichfs/internal/sys/command"
)

// Well-known figures.
func TestBinomialKnown(t *testing.T) {
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{
		{0, 226, 0, 0.01317}, {0, 20, 0, 0.13911}, {0, 59, 0, 0.04951}, {20, 20, 0.86089, 1}, {226, 226, 0.98683, 1},
		{1, 1, 0.05, 1}, {0, 1, 0, 0.95}, {3, 15, 0.04331, 0.48089}, {5, 10, 0.18709, 0.81291},
	} {
		p, err := Binomial(c.hits, c.n)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Low-c.low) > 1e-5 || math.Abs(p.High-c.high) > 1e-5 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", c.hits, c.n, p.Low, p.High, c.low, c.high)
		}
		if p.Value != float64(c.hits)/float64(c.n) || p.Low > p.Value || p.High < p.Value {
			t.Errorf("%d of %d: %+v", c.hits, c.n, p)
		}
	}
	for _, c := range [][2]int{{0, 0}, {1, 0}, {-1, 5}, {6, 5}, {0, -3}} {
		if p, err := Binomial(c[0], c[1]); err == nil {
			t.Errorf("%d of %d is %+v, want an error", c[0], c[1], p)
		}
	}
	if _, err := Exact([]Fourfold{{3, 2, 0, 4}}); err == nil {
		t.Error("three of two is a table")
	}
	if p, err := Exact([]Fourfold{{0, 0, 3, 5}}); err != nil || p != 1 {
		t.Errorf("a table without tries of one: p %v, %v", p, err)
	}
}

type proportionCases struct {
	Limits [][2]int   `json:"limits"`
	Exact  [][][4]int `json:"exact"`
}

// TestProportionOracle compares intervals and tests with scipy.
func TestProportionOracle(t *testing.T) {
	const seed = 20150323
	r := rand.New(rand.NewPCG(seed, 3))
	cases := proportionCases{Limits: [][2]int{{0, 226}, {226, 226}, {0, 20}, {1, 2}, {113, 226}, {3, 4812}, {4811, 4812}}}
	for range 60 {
		n := 1 + r.IntN(300)
		cases.Limits = append(cases.Limits, [2]int{r.IntN(n + 1), n})
	}
	for k := range 40 {
		var tables [][4]int
		for range 1 + k%3 {
			n, m := 1+r.IntN(25), 1+r.IntN(25)
			tables = append(tables, [4]int{r.IntN(n + 1), n, r.IntN(m + 1), m})
		}
		cases.Exact = append(cases.Exact, tables)
	}
	cases.Exact = append(cases.Exact, [][4]int{{0, 226, 7, 226}}, [][4]int{{0, 20, 20, 20}}, [][4]int{{2, 10, 2, 10}})
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.Run(context.Background(), command.Options{Stdin: strings.NewReader(string(in))}, "/usr/bin/python3", "testdata/oracle_proportion.py")
	if err != nil {
		t.Fatalf("the oracle needs python3 and scipy (apt-get install python3-scipy): %v", err)
	}
	var want struct {
		Limits [][2]float64 `json:"limits"`
		Exact  []float64    `json:"exact"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatalf("%v: %s", err, out.Stdout)
	}
	for k, c := range cases.Limits {
		p, err := Binomial(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Low-want.Limits[k][0]) > 1e-9 || math.Abs(p.High-want.Limits[k][1]) > 1e-9 {
			t.Errorf("seed %d, %d of %d: %.12g to %.12g, scipy %v", seed, c[0], c[1], p.Low, p.High, want.Limits[k])
		}
	}
	for k, c := range cases.Exact {
		var tables []Fourfold
		for _, x := range c {
			tables = append(tables, Fourfold{x[0], x[1], x[2], x[3]})
		}
		p, err := Exact(tables)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p-want.Exact[k]) > 1e-9*math.Max(1e-3, want.Exact[k]) {
			t.Errorf("seed %d, %v: p %.12g, scipy %.12g", seed, c, p, want.Exact[k])
		}
	}
}

// The limits hold as often as they promise, for small shares and large: each
// by itself errs in 5 % of runs at most, both together in 7.5 %. Runs are
// simulated, with an allowance for the error of 20 000 of them.
func TestBinomialCoverage(t *testing.T) {
	const runs = 20_000
	r := rand.New(rand.NewPCG(226, 20))
	for _, n := range []int{15, 20, 226} {
		limits := make([]Proportion, n+1)
		for k := range limits {
			limits[k], _ = Binomial(k, n)
		}
		for _, share := range []float64{0.002, 0.0132, 0.05, 0.14, 0.3, 0.5, 0.87, 0.987} {
			above, below := 0, 0
			for range runs {
				hits := 0
				for range n {
					if r.Float64() < share {
						hits++
					}
				}
				if share > limits[hits].High {
					above++
				}
				if share < limits[hits].Low {
					below++
				}
			}
			const slack = 0.006 // four standard errors
			if a, b := float64(above)/runs, float64(below)/runs; a > 0.05+slack || b > 0.05+slack || a+b > 0.075+slack {
				t.Errorf("share %v, n %d: above the upper limit in %.3f of runs, below the lower in %.3f", share, n, a, b)
			}
		}
	}
}

// The test distinguishes two equal candidates in 5 % of runs at most, even if
// the tables have different shares and different numbers of trials.
func TestExactKeepsItsError(t *testing.T) {
	const runs = 4000
	r := rand.New(rand.NewPCG(4, 15))
	draw := func(n int, share float64) (hits int) {
		for range n {
			if r.Float64() < share {
				hits++
			}
		}
		return hits
	}
	wrong, plain := 0, 0
	for range runs {
		// A ran mostly in the harmless case, B mostly in the other.
		a := []Fourfold{{draw(40, 0.05), 40, draw(10, 0.05), 10}, {draw(10, 0.7), 10, draw(40, 0.7), 40}}
		if p, _ := Exact(a); p < Alpha {
			wrong++
		}
		pooled := Fourfold{a[0].HitsA + a[1].HitsA, 50, a[0].HitsB + a[1].HitsB, 50}
		if p, _ := Exact([]Fourfold{pooled}); p < Alpha {
			plain++
		}
	}
	if share := float64(wrong) / runs; share > 0.06 {
		t.Errorf("equal candidates differ in %.3f of runs", share)
	}
	if share := float64(plain) / runs; share < 0.5 {
		t.Errorf("the control, all tables in one, errs in only %.3f of runs: the test shows nothing", share)
	}
}
