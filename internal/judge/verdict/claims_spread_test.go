package verdict

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// someFigures are two columns of three candidates over three rounds. In both, b
// takes twice as long as a, and c six times; in the second, c takes as long as a.
// With noise there is one more, which widens all intervals.
func someFigures(t *testing.T, noise bool) *figures {
	t.Helper()
	st := study.Study{Columns: []study.Column{
		{Key: "one", Name: "One", Unit: "s", Terms: []study.Term{{Phase: "one", Metric: result.Wall}}},
		{Key: "two", Name: "Two", Unit: "s", Terms: []study.Term{{Phase: "two", Metric: result.Wall}}},
		{Key: "use", Name: "Use", Unit: "1", Terms: []study.Term{{Phase: "one", Metric: result.FioUser}}, Over: []study.Term{{Phase: "one", Metric: result.Wall}}},
		{Key: "sign", Name: "Sign", Unit: "s", Terms: []study.Term{{Phase: "one", Metric: result.MemTaken}}},
		{Key: "idle", Name: "Idle", Unit: "s", Terms: []study.Term{{Phase: "one", Metric: result.CPUFilesystem}}},
		{Key: "odd", Name: "Odd", Unit: "1", Terms: []study.Term{{Phase: "one", Metric: result.FioUser}}, Over: []study.Term{{Phase: "one", Metric: result.LatMax}}},
	}}
	f := &figures{study: st, byName: map[string]*subject{}, columns: map[string]*column{}, margin: 0.1}
	add := func(name string, one, two []float64) {
		s := newSubject(name, "")
		s.Done = 3
		of := func(values []float64) *series { return &series{unit: "s", rounds: []int{1, 2, 3}, values: values} }
		s.figures[key{"one", result.Wall}], s.figures[key{"two", result.Wall}] = of(one), of(two)
		s.figures[key{"one", result.FioUser}] = of([]float64{0.5, 0.5, 0.5})
		s.figures[key{"one", result.MemTaken}] = of([]float64{-1, 0, 1})
		s.figures[key{"one", result.CPUFilesystem}] = of([]float64{one[0] - 1, one[0] - 1, one[0] - 1})
		f.byName[name] = s
		f.subjects = append(f.subjects, s)
		f.run.Candidates = append(f.run.Candidates, name)
	}
	near := func(v float64) []float64 { return []float64{v, 1.002 * v, 0.998 * v} }
	add("a", near(1), near(1))
	add("b", near(2), near(2))
	add("c", near(6), near(1))
	if noise {
		add("noisy", []float64{1, 1.6, 0.6}, []float64{1, 0.6, 1.6})
	}
	for _, def := range st.Columns[:5] {
		var err error
		if f.columns[def.Key], err = f.column(def); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func judgedBy(t *testing.T, f *figures, k study.Check) Claim {
	t.Helper()
	out := Claim{ID: "x", Result: NotTested}
	if err := f.check(&out, study.Claim{ID: "x", Check: k}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestChecksOfManyFigures(t *testing.T) {
	quiet := []string{"a", "b", "c"}
	for _, c := range []struct {
		check study.Check
		want  string
		says  string
	}{
		{study.SpreadCheck{Column: "one", Candidates: []string{"a", "b", "c"}, Low: 3}, Agrees, "from a 1.000 s"},
		{study.SpreadCheck{Column: "one", Candidates: []string{"a", "b", "c"}, Low: 3}, Agrees, "to c 6.00 s"},
		{study.SpreadCheck{Column: "one", Candidates: []string{"a", "b"}, High: 1.5}, Disagrees, "over 2 candidates"},
		{study.SpreadCheck{Column: "two", Candidates: []string{"a", "c"}, High: 3}, Agrees, ""},
		{study.SpreadCheck{Column: "one", Candidates: []string{"a", "noisy"}, High: 1.1}, Undecided, ""},
		{study.SpreadCheck{Column: "one", Candidates: []string{"a", "none"}, High: 1.1}, NotTested, "none"},

		{study.SeveralCheck{Of: []string{"one", "two"}, A: "a", B: "b", High: 0.9, Least: 2}, Agrees, "two"},
		{study.SeveralCheck{Of: []string{"one", "two"}, A: "a", B: "c", High: 0.9, Least: 2}, Disagrees, ""},
		{study.SeveralCheck{Of: []string{"one", "two"}, A: "a", B: "c", High: 0.9, Least: 1}, Agrees, ""},
		{study.SeveralCheck{Of: []string{"one", "two"}, A: "noisy", B: "a", High: 0.9, Least: 1}, Undecided, ""},
		{study.SeveralCheck{Of: []string{"one", "two"}, A: "a", B: "none", High: 0.9, Least: 1}, NotTested, "none"},

		{study.ChoiceCheck{Of: []string{"one", "two"}, Candidate: "a", Among: quiet}, Agrees, "a "},
		{study.ChoiceCheck{Of: []string{"one", "two"}, Candidate: "b", Among: quiet}, Disagrees, ""},
		{study.ChoiceCheck{Of: []string{"one", "two"}, Candidate: "c", Among: quiet, Worst: true}, Agrees, ""},
		{study.ChoiceCheck{Of: []string{"one", "two"}, Candidate: "none", Among: append(quiet, "none")}, NotTested, "none"},

		// Three figures 1, 1.6 and 0.6 have a standard deviation of 0.49 on the scale
		// of logarithms.
		{study.NoiseCheck{Of: []string{"one", "two"}, Candidates: []string{"noisy"}, Low: 0.2, High: 2}, Agrees, "49"},
		{study.NoiseCheck{Of: []string{"one", "two"}, Candidates: quiet, Low: 0.05, High: 2}, Disagrees, ""},
		{study.NoiseCheck{Of: []string{"one"}, Candidates: []string{"noisy"}, Than: []string{"a", "b"}, Low: 1}, Agrees, ""},
		{study.NoiseCheck{Of: []string{"one"}, Candidates: []string{"a", "b"}, Than: []string{"noisy"}, Low: 1}, Disagrees, ""},
		{study.NoiseCheck{Of: []string{"one"}, Candidates: []string{"a"}, Than: []string{"b"}, Low: 1}, Undecided, ""},
		{study.NoiseCheck{Of: []string{"one"}, Candidates: []string{"a"}, Than: []string{"none"}, Low: 1}, NotTested, "none"},
		{study.NoiseCheck{Of: []string{"one"}, Candidates: []string{"none"}, Low: 1}, NotTested, ""},

		// Figures of 0 and below have no ratios.
		{study.SpreadCheck{Column: "sign", Candidates: quiet, High: 3}, NotTested, "sign: "},
		// But 0 in every round is any number of times below another figure.
		{study.SpreadCheck{Column: "idle", Candidates: quiet, Low: 5}, Agrees, "from a 0 s in every round to c 5"},
		{study.SpreadCheck{Column: "idle", Candidates: quiet, High: 3}, Disagrees, "to c 5"},
		{study.SeveralCheck{Of: []string{"one", "sign"}, A: "a", B: "b", High: 0.9, Least: 1}, NotTested, "sign: "},
		{study.ChoiceCheck{Of: []string{"one", "sign"}, Candidate: "a", Among: quiet}, NotTested, "sign: "},
		{study.NoiseCheck{Of: []string{"sign"}, Candidates: quiet, Low: 1}, NotTested, "two rounds"},

		// Shares: 0.5 s of 1, 2 and 6 s.
		{study.RatioCheck{Column: "use", A: "b", B: []string{"a"}, Low: 0.45, High: 0.55}, Agrees, ""},
		{study.RatioCheck{Column: "use", A: "c", B: []string{"a"}, Low: 0.45, High: 0.55}, Disagrees, ""},
		{study.ValueCheck{Column: "use", Candidate: "a", Low: 0.45, High: 0.55}, Agrees, ""},
	} {
		out := judgedBy(t, someFigures(t, strings.Contains(fmt.Sprint(c.check), "noisy")), c.check)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) || out.Figures == "" {
			t.Errorf("%#v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
	if f := someFigures(t, false); f.columns["choice"] != nil {
		t.Error("a column of a claim stays behind")
	}
	f := someFigures(t, false)
	if _, why := f.byName["a"].sample(f.study.Columns[5]); !strings.Contains(why, "no such figure") {
		t.Errorf("a share of something not measured: %q", why)
	}
}
