package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// levelsFigures are two candidates at three sizes: two rounds of the whole chip
// and one of each partition. b takes twice as long as a at 8 bytes, as long at
// 16, and half as long at 32, the whole.
func levelsFigures() *figures {
	f := &figures{margin: 0.1, byName: map[string]*subject{}, study: study.Study{Columns: []study.Column{
		{Key: "w", Name: "Write", Unit: "s", Terms: []study.Term{{Phase: "w", Metric: result.Wall}}}}}}
	f.plan.Factors = []scenario.Factor{{Name: "size", Axis: "size", Unit: "B", Value: 32, Levels: []scenario.Variant{{Name: "8", Value: 8}, {Name: "16", Value: 16}}}}
	add := func(name, level string, values ...float64) {
		s := newSubject(name, level)
		s.Done = len(values)
		s.figures[key{"w", result.Wall}] = &series{unit: "s", rounds: []int{1, 2}[:len(values)], values: values}
		if level == "" {
			f.byName[name] = s
			f.subjects = append(f.subjects, s)
		} else {
			f.levels = append(f.levels, s)
		}
	}
	for name, k := range map[string][3]float64{"a": {1, 1, 1}, "b": {2, 1, 0.5}} {
		add(name, "8", k[0])
		add(name, "16", k[1])
		add(name, "", k[2], 1.001*k[2])
	}
	return f
}

func TestLevelsCheck(t *testing.T) {
	for _, c := range []struct {
		check study.LevelsCheck
		want  string
		says  string
	}{
		{study.LevelsCheck{A: "b", B: "a", From: 32, High: 0.9}, Agrees, "2.00× (1.9"},
		{study.LevelsCheck{A: "b", B: "a", From: 32, High: 0.9}, Agrees, "holds from 32 B on"},
		{study.LevelsCheck{A: "b", B: "a", From: 16, High: 0.9}, Disagrees, "holds from 32 B on"},
		{study.LevelsCheck{A: "b", B: "a", High: 3}, Agrees, "at every point measured"},
		{study.LevelsCheck{A: "b", B: "a", To: 8, Low: 1.5}, Agrees, "does not hold at the largest"},
		{study.LevelsCheck{A: "b", B: "a", From: 16, To: 16, High: 1}, Undecided, ""},
		{study.LevelsCheck{A: "b", B: "a", From: 64, High: 1}, NotTested, "has no point from 64 B on"},
		{study.LevelsCheck{A: "b", B: "c", High: 1}, NotTested, "without a ratio: 8 B, 16 B and 32 B (c: no trial of it)"},
	} {
		c.check.Axis, c.check.Column = "size", "w"
		out := Claim{Result: NotTested}
		if err := levelsFigures().checkLevels(&out, c.check); err != nil {
			t.Fatal(err)
		}
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
}

// A limit that is a share of the axis's own growth is the same claim whatever
// the sizes of a scale are.
func TestCurveOfAxis(t *testing.T) {
	for _, c := range []struct {
		growth, axis, low, high float64
		want                    string
	}{
		{4, 8, 0.5, 0, Agrees}, {4, 32, 0.5, 0, Disagrees}, {16, 32, 0.5, 0, Agrees}, {9, 8, 0, 1, Disagrees}, {7, 8, 0, 1, Agrees},
	} {
		out := Claim{Result: NotTested}
		line := CurveLine{Candidate: "a", Growth: Growth{From: 1, To: c.axis, Ratio: Interval{Value: c.growth, Low: c.growth, High: c.growth}}}
		(&figures{}).judgeCurve(&out, study.CurveCheck{Candidate: "a", Low: c.low, High: c.high, OfAxis: true}, Curve{AxisUnit: "B", Lines: []CurveLine{line}})
		if out.Result != c.want {
			t.Errorf("%+v: %s (%s)", c, out.Result, out.Figures)
		}
	}
}
