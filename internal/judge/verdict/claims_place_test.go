package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
)

// placeFigures are two columns of five candidates with known figures.
func placeFigures(t *testing.T) *figures {
	t.Helper()
	f := &figures{margin: 0.1, run: testRun, byName: map[string]*subject{}, columns: map[string]*column{}}
	for key, values := range map[string]map[string]float64{
		"a":    {"one": 1, "two": 2, "three": 4, "same": 4, "last": 9, "near": 1},
		"b":    {"one": 4, "two": 2, "three": 2, "same": 2, "last": 9},
		"flat": {"one": 1, "two": 1, "three": 1, "same": 1, "last": 1},
	} {
		f.study.Columns = append(f.study.Columns, study.Column{Key: key, Name: strings.ToUpper(key)})
		c := &column{def: study.Column{Key: key}, absent: map[string]string{"near": "too small"}}
		for _, name := range []string{"one", "two", "three", "same", "last", "near"} {
			if v := values[name]; v > 0 {
				c.add(name, stats.Sample{1: v, 2: 1.001 * v, 3: 0.999 * v})
			}
			f.byName[name] = newSubject(name, "")
		}
		if err := c.compute(f.margin); err != nil {
			t.Fatal(err)
		}
		f.columns[key] = c
	}
	return f
}

func TestPlaceCheck(t *testing.T) {
	five := []string{"one", "two", "three", "same", "last"}
	for _, c := range []struct {
		check study.PlaceCheck
		want  string
		says  string
	}{
		{study.PlaceCheck{Keys: []string{"a"}, Candidate: "one", Among: five, From: 1, To: 1}, Agrees, "place 1 of 5 in a ("},
		{study.PlaceCheck{Keys: []string{"a"}, Candidate: "two", Among: five, From: 2, To: 2}, Agrees, ""},
		{study.PlaceCheck{Keys: []string{"a"}, Candidate: "three", Among: five, From: 1, To: 2}, Disagrees, "place 3 of 5"},
		{study.PlaceCheck{Keys: []string{"a"}, Candidate: "same", Among: five, From: 3, To: 3}, Agrees, "equal within 10 %: 1, worse: 1"},
		{study.PlaceCheck{Keys: []string{"a"}, Candidate: "same", Among: five, From: 4, To: 5}, Disagrees, ""},
		// Both columns together: one has 1 × 4, two 2 × 2.
		{study.PlaceCheck{Keys: []string{"a", "b"}, Candidate: "two", Among: five, From: 1, To: 1}, Agrees, "in a, b"},
		{study.PlaceCheck{Keys: []string{"flat"}, Candidate: "two", Among: five, From: 1, To: 3}, Disagrees, "equal within 10 %: 4"},
		{study.PlaceCheck{Keys: []string{"flat"}, Candidate: "two", Among: five, From: 1, To: 3, Shared: true}, Agrees, "place 1 of 5"},
		// One without a figure could have either place.
		{study.PlaceCheck{Keys: []string{"b"}, Candidate: "two", Among: append(five, "near"), From: 1, To: 1}, Undecided, "without a figure: near"},
		{study.PlaceCheck{Keys: []string{"b"}, Candidate: "two", Among: append(five, "near"), From: 1, To: 2}, Agrees, "place 1 to 2 of 6"},
		{study.PlaceCheck{Keys: []string{"b"}, Candidate: "near", Among: five, From: 1, To: 2}, NotTested, "too small"},
	} {
		out := Claim{Result: NotTested}
		if err := placeFigures(t).checkPlace(&out, c.check); err != nil {
			t.Fatal(err)
		}
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
}

// Every one of several checks must hold, and what cannot be tested leaves a
// claim undecided that nothing else refutes.
func TestEveryCheck(t *testing.T) {
	five := []string{"one", "two", "three", "same", "last"}
	good := study.PlaceCheck{Keys: []string{"a"}, Candidate: "one", Among: five, From: 1, To: 1}
	bad := study.PlaceCheck{Keys: []string{"a"}, Candidate: "last", Among: five, From: 1, To: 1}
	lacking := study.PlaceCheck{Keys: []string{"a"}, Candidate: "absent", Among: five, From: 1, To: 1}
	for _, c := range []struct {
		checks study.EveryCheck
		want   string
	}{
		{study.EveryCheck{good, good}, Agrees}, {study.EveryCheck{good, bad}, Disagrees}, {study.EveryCheck{good, lacking}, Undecided},
		{study.EveryCheck{bad, lacking}, Disagrees}, {study.EveryCheck{lacking, lacking}, NotTested},
	} {
		out, err := placeFigures(t).claim(study.Claim{ID: "x", Check: c.checks})
		if err != nil {
			t.Fatal(err)
		}
		if repeated := strings.Count(out.Figures, "no absent"); out.Result != c.want || repeated > 1 {
			t.Errorf("%+v: %s (%s), want %s", c.checks, out.Result, out.Figures, c.want)
		}
	}
}
