package stats

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/sys/command"
)

type modelCases struct {
	Span     [][3]any       `json:"span"`
	Tables   [][][]any      `json:"tables"`
	Drift    []driftCase    `json:"drift"`
	Effects  []effectCase   `json:"effects"`
	Crossing []crossingCase `json:"crossing"`
	Best     []bestCase     `json:"best"`
	Ratio    [][2][]float64 `json:"ratio"`
}

type driftCase struct {
	Values   [][]any     `json:"values"`
	Sentinel [][]float64 `json:"sentinel"`
}

type effectCase struct {
	Cells [][4]any `json:"cells"`
	cells []Cell
}

type crossingCase struct {
	First  int       `json:"first"`
	Errors []float64 `json:"errors"`
	total  float64
}

type bestCase struct {
	Means      []float64   `json:"means"`
	Covariance [][]float64 `json:"covariance"`
	DF         float64     `json:"df"`
}

type modelAnswers struct {
	Span    []float64       `json:"span"`
	Pairs   [][]*[6]float64 `json:"pairs"`
	Drift   [][6]float64    `json:"drift"`
	Effects []struct {
		Pooled    [][6]float64 `json:"pooled"`
		Own       [][6]float64 `json:"own"`
		F         float64      `json:"f"`
		P         float64      `json:"p"`
		DF1       int          `json:"df1"`
		DF2       int          `json:"df2"`
		Variances [2]float64   `json:"variances"`
		Adjusted  [2][]float64 `json:"adjusted"`
	} `json:"effects"`
	Crossing [][]float64  `json:"crossing"`
	Best     [][]float64  `json:"best"`
	Ratio    [][2]float64 `json:"ratio"`
}

// published reads testdata/pandora-2012.csv: rows of test and mount option, in
// their order, by filesystem; 0 if there is no figure.
func published(t *testing.T) (tests []string, figures map[string][][]float64) {
	t.Helper()
	f, err := os.Open("testdata/pandora-2012.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	figures = map[string][][]float64{}
	for _, row := range rows[1:] {
		if len(figures[row[0]]) == 0 {
			tests = append(tests, row[0])
		}
		values := make([]float64, 5)
		for i, s := range row[3:] {
			if s == "" {
				continue
			}
			if values[i], err = strconv.ParseFloat(s, 64); err != nil {
				t.Fatal(err)
			}
		}
		figures[row[0]] = append(figures[row[0]], values)
	}
	return tests, figures
}

// recordedModels are cases of published figures: filesystems over mount
// options, a table for each test; and the mount options as a factor, with the
// tests as rounds.
func recordedModels(t *testing.T, c *modelCases) {
	tests, figures := published(t)
	var effects effectCase
	for k, test := range tests {
		table := make([][]any, 5)
		whole := true
		for level, values := range figures[test] {
			for i, v := range values {
				if v == 0 {
					whole = false
					table[i] = append(table[i], nil)
					continue
				}
				table[i] = append(table[i], v)
				effects.add(i, level, k, v)
			}
		}
		c.Tables = append(c.Tables, table)
		if whole {
			// Plain arithmetic on real figures: the seeks of the
			// same row in place of a sentinel.
			s := make([][]float64, 5)
			for _, values := range figures["seeks"] {
				for i, v := range values {
					s[i] = append(s[i], math.Log(v))
				}
			}
			c.Drift = append(c.Drift, driftCase{table, s})
		}
	}
	c.Effects = append(c.Effects, effects)
}

func (e *effectCase) add(candidate, level, round int, v float64) {
	e.Cells = append(e.Cells, [4]any{candidate, level, round, v})
	e.cells = append(e.cells, Cell{candidate, level, round, v})
}

func simulatedModels(seed uint64, c *modelCases) {
	r := rand.New(rand.NewPCG(seed, 8))
	c.Tables = append(c.Tables, recorded)
	for k := range 10 {
		n, rounds := 2+r.IntN(7), 3+k%4
		table, sentinel := make([][]any, n), make([][]float64, n)
		for i := range table {
			sd := 0.05 * math.Exp(0.8*r.NormFloat64())
			for j := range rounds {
				s := 0.3 * r.NormFloat64()
				sentinel[i] = append(sentinel[i], s)
				table[i] = append(table[i], any(math.Exp(0.1*float64(i)+0.2*float64(j)+0.1*float64(k)*s+sd*r.NormFloat64())))
				if k > 4 && i > 1 && j > 1 && r.IntN(4) == 0 {
					table[i][j] = nil
				}
			}
		}
		c.Tables = append(c.Tables, table)
		if n > 2 {
			c.Drift = append(c.Drift, driftCase{table, sentinel})
		}
		var e effectCase
		candidates, levels := 2+r.IntN(5), 2+r.IntN(3)
		for i := range candidates {
			for round := range 3 + k%3 {
				block := r.NormFloat64()
				for l := range levels {
					if k > 4 && l > 0 && round > 1 && r.IntN(3) == 0 {
						continue
					}
					e.add(i, l, round, math.Exp(block+0.1*float64(l)+0.05*float64(i*l*(k%2))+0.05*(1+float64(i))*r.NormFloat64()))
				}
			}
		}
		c.Effects = append(c.Effects, e)
		c.Span = append(c.Span, [3]any{2 + r.IntN(30), []float64{0.05, 0.01, 0.2}[k%3], 1 + r.IntN(40)})
		m := 2 + k%3
		b := bestCase{Means: make([]float64, m), DF: 2 + float64(k), Covariance: make([][]float64, m)}
		for i := range m {
			b.Means[i] = 0.3 * r.NormFloat64()
			b.Covariance[i] = make([]float64, m)
			for j := range m {
				b.Covariance[i][j] = 0.05
			}
			b.Covariance[i][i] += 0.1 * r.Float64()
		}
		c.Best = append(c.Best, b)
		var a, p []float64
		for range 1 + k {
			p = append(p, 100*r.Float64())
			a = append(a, p[len(p)-1]*math.Exp(0.5*r.NormFloat64()))
		}
		c.Ratio = append(c.Ratio, [2][]float64{a, p})
	}
	for _, m := range []float64{1, 4, 9} {
		for first := 2; first <= 4; first++ {
			x := crossingCase{First: first, total: Alpha / m}
			b := boundaryOf(first, x.total)
			for k := 1; k <= 5; k++ {
				x.Errors = append(x.Errors, b.look(k))
			}
			c.Crossing = append(c.Crossing, x)
		}
	}
}

// TestModelOracle compares the models with statsmodels and scipy, on published
// figures and on simulated ones. It needs python3-statsmodels and fails
// without it.
func TestModelOracle(t *testing.T) {
	const seed = 20120706
	var cases modelCases
	recordedModels(t, &cases)
	simulatedModels(seed, &cases)
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.Run(context.Background(), command.Options{Stdin: strings.NewReader(string(in))},
		"/usr/bin/python3", "-W", "ignore", "testdata/oracle_models.py")
	if err != nil {
		t.Fatalf("the oracle needs scipy and statsmodels (apt-get install python3-scipy python3-statsmodels): %v\n%s", err, out.Stderr)
	}
	var want modelAnswers
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatalf("%v: %s", err, out.Stdout)
	}
	o := oracle{t, seed}
	for k, c := range cases.Span {
		// scipy's own error is of this size (according to its survival
		// function).
		o.near(fmt.Sprintf("studentised range of %v", c), 1e-7, span(c[0].(int)).quantile(c[1].(float64), float64(c[2].(int))), want.Span[k])
	}
	for k, table := range cases.Tables {
		o.pairs(k, table, want.Pairs[k])
	}
	for k, c := range cases.Drift {
		o.drift(k, c, want.Drift[k])
	}
	for k, c := range cases.Effects {
		f, err := Effects(c.cells, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		w := want.Effects[k]
		o.family(fmt.Sprintf("pooled effects %d", k), f.Pooled, w.Pooled, w.Adjusted[0])
		o.family(fmt.Sprintf("own effects %d", k), f.Own, w.Own, w.Adjusted[1])
		what := fmt.Sprintf("interaction %d", k)
		o.near(what+": F", 1e-7, f.F, w.F)
		o.near(what+": p", 1e-7, f.P, w.P)
		o.near(what+": variance of common effects", 1e-9, f.PooledVariance, w.Variances[0])
		o.near(what+": variance of own effects", 1e-9, f.OwnVariance, w.Variances[1])
		if f.DF1 != w.DF1 || f.DF2 != w.DF2 {
			t.Errorf("%s: %d and %d degrees of freedom, statsmodels %d and %d", what, f.DF1, f.DF2, w.DF1, w.DF2)
		}
	}
	for k, c := range cases.Crossing {
		for look, p := range want.Crossing[k] { // scipy integrates by Monte Carlo
			o.near(fmt.Sprintf("crossed by look %d of %v from round %d", look+1, c.total, c.First), 1e-5, small*c.total*spending(look+1), p)
		}
	}
	for k, c := range cases.Best {
		got, err := ProbabilityBest(c.Means, c.Covariance, c.DF, 100_000, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range got {
			o.near(fmt.Sprintf("best %d of %d", i, k), 0.006, p, want.Best[k][i])
		}
	}
	for k, c := range cases.Ratio {
		median, near, err := RatioSummary(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		o.near(fmt.Sprintf("median ratio %d", k), 1e-12, median, want.Ratio[k][0])
		o.near(fmt.Sprintf("near ratios %d", k), 1e-12, near, want.Ratio[k][1])
	}
}

type oracle struct {
	t    *testing.T
	seed uint64
}

func (o oracle) near(what string, tolerance, got, want float64) {
	o.t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Max(1, math.Abs(want)) {
		o.t.Errorf("seed %d, %s: %.12g, the oracle %.12g", o.seed, what, got, want)
	}
}

func (o oracle) limits(what string, got, want [6]float64) {
	o.t.Helper()
	for k, name := range []string{"log", "low", "high", "simultaneous low", "simultaneous high"} {
		o.near(what+", "+name, 1e-7, got[k], want[k])
	}
	o.near(what+", p", 1e-9, got[5], want[5])
}

func (o oracle) pairs(k int, table [][]any, want []*[6]float64) {
	o.t.Helper()
	c, err := Compare(samplesOf(table), 0.1)
	if err != nil {
		o.t.Fatal(err)
	}
	for m, p := range c.Pairs {
		if want[m] == nil {
			if p.df != 0 {
				o.t.Errorf("table %d, pair %d: %+v, but the oracle finds no noise", k, m, p)
			}
			continue
		}
		got := [6]float64{math.Log(p.Ratio), math.Log(p.Low), math.Log(p.High), math.Log(p.SimLow), math.Log(p.SimHigh), p.P}
		o.limits(fmt.Sprintf("table %d, pair %d", k, m), got, *want[m])
	}
}

func (o oracle) drift(k int, c driftCase, want [6]float64) {
	o.t.Helper()
	sentinel := make([]Sample, len(c.Sentinel))
	for i, row := range c.Sentinel {
		sentinel[i] = Sample{}
		for j, v := range row {
			sentinel[i][j+1] = v
		}
	}
	got, err := CompareWith(samplesOf(c.Values), sentinel, 0.1)
	if err != nil {
		o.t.Fatal(err)
	}
	d := got.Drift
	if !d.Tested {
		if got.Blocks.DF > driftDF || d.Reason == "" {
			o.t.Errorf("drift %d was not tested, with %d degrees of freedom: %s", k, got.Blocks.DF, d.Reason)
		}
		return
	}
	for m, v := range []float64{d.Slope, d.Low, d.High, d.P, d.VarianceBefore, d.VarianceAfter} {
		o.near(fmt.Sprintf("drift %d, %s", k, []string{"slope", "low", "high", "p", "variance before", "after"}[m]), 1e-7, v, want[m])
	}
	if used := want[3] < driftAlpha && want[0] > 0; d.Used != used {
		o.t.Errorf("drift %d: used %v, the oracle's p is %v and its slope %v", k, d.Used, want[3], want[0])
	}
}

func (o oracle) family(what string, got []Effect, want [][6]float64, adjusted []float64) {
	o.t.Helper()
	m := 0
	for _, e := range got {
		if e.Reason != "" {
			continue
		}
		if m >= len(want) {
			o.t.Errorf("%s: more effects than the oracle's %d", what, len(want))
			return
		}
		name := fmt.Sprintf("%s: candidate %d, level %d", what, e.Candidate, e.Level)
		o.limits(name, [6]float64{math.Log(e.Ratio), math.Log(e.Low), math.Log(e.High), math.Log(e.SimLow), math.Log(e.SimHigh), e.P}, want[m])
		o.near(name+", adjusted p", 1e-9, e.Adjusted, adjusted[m])
		m++
	}
	if m != len(want) {
		o.t.Errorf("%s: %d effects, the oracle has %d", what, m, len(want))
	}
}
