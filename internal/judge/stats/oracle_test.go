package stats

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"whichfs/internal/sys/command"
)

// Figures like those of pandora-2012: seconds of a write phase, candidates by
// rounds, one trial missing.
var recorded = [][]any{
	{0.8421, 0.8615, 0.8533}, {1.2093, 1.1984, 1.2419}, {2.0312, 1.9021, 2.2817},
	{1.1021, nil, 1.0873}, {3.9112, 4.4150, 3.7023},
}

type oracleCases struct {
	Intervals   [][]float64    `json:"intervals"`
	Blocks      [][][]any      `json:"blocks"`
	Plain       [][]float64    `json:"plain"` // of any sign
	Differences [][2][]float64 `json:"differences"`
	Holm        [][]float64    `json:"holm"`
	Tau         [][2][]float64 `json:"tau"`
	Gamma       []float64      `json:"gamma"`
	Tail        [][2]float64   `json:"tail"`
}

type oracleAnswers struct {
	Intervals [][3]float64 `json:"intervals"`
	Blocks    []struct {
		DF       int     `json:"df"`
		Variance float64 `json:"variance"`
	} `json:"blocks"`
	Pairs []struct {
		P    float64 `json:"p"`
		Low  float64 `json:"low"`
		High float64 `json:"high"`
	} `json:"pairs"`
	Plain       [][3]float64 `json:"plain"`
	Differences [][4]float64 `json:"differences"`
	Holm        [][]float64  `json:"holm"`
	Tau         []*float64   `json:"tau"`
	Trigamma    []float64    `json:"trigamma"`
	Digamma     []float64    `json:"digamma"`
	Tail        []float64    `json:"tail"`
}

func simulate(seed uint64) oracleCases {
	r := rand.New(rand.NewPCG(seed, 7))
	c := oracleCases{Blocks: [][][]any{recorded}}
	for k := range 12 {
		values := make([]float64, 1+k)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64()*3 - 2)
		}
		c.Intervals = append(c.Intervals, values)
		plain, pair := make([]float64, 1+k), [2][]float64{}
		for i := range plain {
			plain[i] = 1e6 * r.NormFloat64()
		}
		for range 2 + k {
			pair[0], pair[1] = append(pair[0], 1e6*r.NormFloat64()), append(pair[1], 1e6*(r.NormFloat64()-0.3))
		}
		c.Plain, c.Differences = append(c.Plain, plain), append(c.Differences, pair)
		rows := make([][]any, 2+r.IntN(9))
		for i := range rows {
			rows[i] = make([]any, 3+k%4)
			for j := range rows[i] {
				rows[i][j] = math.Exp(float64(i)*0.1 + 0.2*r.NormFloat64())
				if k > 3 && i > 1 && j > 0 && r.IntN(4) == 0 {
					rows[i][j] = nil
				}
			}
		}
		c.Blocks = append(c.Blocks, rows)
		p := make([]float64, k)
		for i := range p {
			p[i] = math.Pow(r.Float64(), 4)
			if i > 0 && r.IntN(3) == 0 {
				p[i] = p[i-1]
			}
		}
		if k > 0 {
			c.Holm = append(c.Holm, p)
		}
		x, y := make([]float64, 2+k), make([]float64, 2+k)
		for i := range x {
			x[i], y[i] = float64(r.IntN(4)), float64(r.IntN(3))
		}
		c.Tau = append(c.Tau, [2][]float64{x, y})
		c.Gamma = append(c.Gamma, 0.05+r.Float64()*math.Pow(4, float64(k)-4))
		c.Tail = append(c.Tail, [2]float64{r.NormFloat64() * float64(1+k), 0.7 + r.Float64()*20})
	}
	c.Tau = append(c.Tau, [2][]float64{{1, 1, 1}, {1, 2, 3}})
	return c
}

// TestOracle compares the package with scipy. It needs python3-scipy and fails
// without it: an unchecked statistic must not pass for a checked one.
func TestOracle(t *testing.T) {
	const seed = 20230628
	cases := simulate(seed)
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.Run(context.Background(), command.Options{Stdin: strings.NewReader(string(in))},
		"/usr/bin/python3", "testdata/oracle.py")
	if err != nil {
		t.Fatalf("the oracle needs python3 and scipy (apt-get install python3-scipy): %v", err)
	}
	var want oracleAnswers
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatalf("%v: %s", err, out.Stdout)
	}
	near := func(what string, k int, got, want float64) {
		t.Helper()
		if math.IsNaN(got) || math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
			t.Errorf("seed %d, %s %d: %.15g, scipy %.15g", seed, what, k, got, want)
		}
	}
	for k, values := range cases.Intervals {
		e, err := GeoMean(values)
		if err != nil {
			t.Fatal(err)
		}
		near("mean", k, e.Value, want.Intervals[k][0])
		// Compare wide intervals on the scale on which they were
		// computed.
		near("log low", k, math.Log(e.Low), math.Log(want.Intervals[k][1]))
		near("log high", k, math.Log(e.High), math.Log(want.Intervals[k][2]))
	}
	for k, values := range cases.Plain {
		e, err := Mean(values)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range []float64{e.Value, e.Low, e.High} {
			near("plain mean", k, got, want.Plain[k][i])
		}
	}
	// Two candidates: the plain paired t test, from both sides.
	for k, ab := range cases.Differences {
		c, err := Differences([]Sample{sampleOf(ab[0]), sampleOf(ab[1])}, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := c.Between(0, 1)
		for i, got := range []float64{p.Diff, p.DiffLow, p.DiffHigh, p.P} {
			near("difference", k, got, want.Differences[k][i])
		}
		q, _ := c.Between(1, 0)
		for i, got := range []float64{-q.Diff, -q.DiffHigh, -q.DiffLow, q.P} {
			near("difference from the other side", k, got, want.Differences[k][i])
		}
	}
	for k, rows := range cases.Blocks {
		samples := samplesOf(rows)
		b, err := FitBlocks(samples)
		if err != nil {
			t.Fatal(err)
		}
		if b.DF != want.Blocks[k].DF {
			t.Errorf("blocks %d: %d degrees of freedom, numpy %d", k, b.DF, want.Blocks[k].DF)
		}
		near("residual variance", k, b.Variance, want.Blocks[k].Variance)
		// Two candidates: Compare's pair is the plain paired t test.
		// More: the pooled test is a lower limit of p and of the
		// interval.
		c, err := Compare(samples, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Pairs[0]
		if len(rows) == 2 {
			near("paired p", k, p.P, want.Pairs[k].P)
			near("paired low", k, p.Low, want.Pairs[k].Low)
			near("paired high", k, p.High, want.Pairs[k].High)
		} else if p.P < want.Pairs[k].P-1e-9 || p.Low > want.Pairs[k].Low+1e-9 || p.High < want.Pairs[k].High-1e-9 {
			t.Errorf("blocks %d: p %v in [%v, %v] is more certain than the pooled test %+v", k, p.P, p.Low, p.High, want.Pairs[k])
		}
	}
	for k, p := range cases.Holm {
		for i, q := range Holm(p) {
			near("holm", k, q, want.Holm[k][i])
		}
	}
	for k, xy := range cases.Tau {
		tau, ok, err := Kendall(xy[0], xy[1])
		if err != nil {
			t.Fatal(err)
		}
		if ok != (want.Tau[k] != nil) {
			t.Errorf("tau %d defined: %v, scipy %v", k, ok, want.Tau[k])
		} else if ok {
			near("tau", k, tau, *want.Tau[k])
		}
	}
	for k, x := range cases.Gamma {
		near("trigamma", k, trigamma(x)/want.Trigamma[k], 1)
		near("digamma", k, mathext.Digamma(x), want.Digamma[k])
		near("trigamma inverse", k, trigammaInverse(want.Trigamma[k])/x, 1)
	}
	for k, c := range cases.Tail {
		near("tail", k, tTwoSided(c[0], c[1])/want.Tail[k], 1)
	}
}

func sampleOf(values []float64) Sample {
	s := Sample{}
	for i, v := range values {
		s[i+1] = v
	}
	return s
}

func samplesOf(rows [][]any) []Sample {
	out := make([]Sample, len(rows))
	for i, row := range rows {
		out[i] = Sample{}
		for j, v := range row {
			if v != nil {
				out[i][j+1] = v.(float64)
			}
		}
	}
	return out
}
