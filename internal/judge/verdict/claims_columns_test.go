package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// columnsFigures are two columns of four candidates over three rounds: "fast"
// takes half as long as in the other for the same data, "same" takes as long,
// "noisy" takes any time, and "none" has no figure in the second.
func columnsFigures() *figures {
	st := study.Study{Columns: []study.Column{
		{Key: "a", Name: "A", Unit: "s", Per: result.DataBytes, Terms: []study.Term{{Phase: "a", Metric: result.Wall}}},
		{Key: "b", Name: "B", Unit: "s", Per: result.DataBytes, Terms: []study.Term{{Phase: "b", Metric: result.Wall}}},
		{Key: "c", Name: "C", Unit: "s", Terms: []study.Term{{Phase: "a", Metric: result.Wall}}},
	}}
	f := &figures{study: st, byName: map[string]*subject{}, margin: 0.1}
	add := func(name string, a, b []float64) {
		s := newSubject(name, "")
		s.Done = 3
		series3 := func(values []float64) *series { return &series{unit: "s", rounds: []int{1, 2, 3}, values: values} }
		s.figures[key{"a", result.Wall}] = series3(a)
		s.figures[key{"a", result.DataBytes}] = series3([]float64{100, 100, 100})
		s.figures[key{"b", result.DataBytes}] = series3([]float64{200, 200, 200})
		if b != nil {
			s.figures[key{"b", result.Wall}] = series3(b)
		}
		f.byName[name] = s
		f.run.Candidates = append(f.run.Candidates, name)
	}
	add("fast", []float64{1, 1.001, 0.999}, []float64{4, 4.001, 3.999})
	add("same", []float64{1, 1.001, 0.999}, []float64{2, 2.001, 1.999})
	add("noisy", []float64{1, 5, 0.2}, []float64{2, 2, 2})
	add("zero", []float64{0, 0, 0}, []float64{2, 2, 2})
	add("mixed", []float64{-1, 0, 1}, []float64{200, 201, 199})
	add("none", []float64{1, 1, 1}, nil)
	return f
}

func TestColumnsCheck(t *testing.T) {
	for _, c := range []struct {
		check study.ColumnsCheck
		want  string
		says  string
	}{
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9, Candidates: []string{"fast"}}, Agrees, "A over B: fast 0.5"},
		{study.ColumnsCheck{Column: "a", Over: "b", Low: 0.95, High: 1.05, Candidates: []string{"same"}}, Agrees, "same 1"},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9, Candidates: []string{"same"}}, Disagrees, ""},
		{study.ColumnsCheck{Column: "a", Over: "b", Low: 0.9, Candidates: []string{"same"}}, Agrees, ""},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9, Candidates: []string{"fast", "same"}}, Disagrees, "fast"},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9, Candidates: []string{"fast", "noisy"}}, Undecided, "noisy"},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.02, Candidates: []string{"zero"}}, Agrees, "zero 0"},
		{study.ColumnsCheck{Column: "a", Over: "b", Low: 0.02, Candidates: []string{"zero"}}, Disagrees, ""},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.1, Candidates: []string{"mixed"}}, Agrees, ""},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.001, Candidates: []string{"mixed"}}, Undecided, ""},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9}, Disagrees, "without a ratio: none (phase b has no such figure"},
		{study.ColumnsCheck{Column: "a", Over: "b", High: 0.9, Candidates: []string{"none", "absent"}}, NotTested, "absent (not in this run)"},
		// Figures of different kinds are compared by their plain ratio.
		{study.ColumnsCheck{Column: "c", Over: "b", Low: 0.45, High: 0.55, Candidates: []string{"same"}}, Agrees, ""},
		{study.ColumnsCheck{Column: "a", Over: "z", High: 1}, NotTested, "no columns"},
	} {
		out := Claim{ID: "x", Result: NotTested}
		if err := columnsFigures().checkColumns(&out, c.check); err != nil {
			t.Fatal(err)
		}
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) || out.Figures == "" {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
}
