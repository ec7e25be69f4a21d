package result

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// loaded is a trial with a phase of one second that waited for these shares of its time.
func loaded(shares ...float64) Trial {
	t := Trial{Round: 1, Place: 1, Outcome: Done}
	for i, share := range shares {
		phase := string(rune('a' + i))
		t.Measurements = append(t.Measurements, Figure(Wall, 1).In(phase))
		for _, m := range LoadFigures(time.Second, time.Duration(share*float64(time.Second)), 0, 0, "", "") {
			t.Measurements = append(t.Measurements, m.In(phase))
		}
	}
	return t
}

func TestThresholdsOfLoad(t *testing.T) {
	for share, want := range map[float64]struct{ marks, disturbs bool }{
		0: {}, 0.049: {}, 0.051: {marks: true}, 0.199: {marks: true}, 0.201: {true, true}, 1: {true, true},
	} {
		w := loaded(share).Waits()[0]
		if w.Marks() != want.marks || w.Disturbs() != want.disturbs {
			t.Errorf("%v: %v, %v", share, w.Marks(), w.Disturbs())
		}
	}
	for name, c := range map[string]struct {
		w               Wait
		marks, disturbs bool
	}{
		"too brief to be taken again": {w: Wait{Wall: 0.009, Window: 0.020, Waited: 0.010}, marks: true},
		"too little":                  {w: Wait{Wall: 0.020, Window: 0.020, Waited: 0.009}, marks: true},
		"an instant":                  {w: Wait{Wall: 0.0009, Window: 0.020, Waited: 0.010}},
		"nothing observed":            {w: Wait{Wall: 1}},
	} {
		if c.w.Marks() != c.marks || c.w.Disturbs() != c.disturbs {
			t.Errorf("%s: %v, %v", name, c.w.Marks(), c.w.Disturbs())
		}
	}
}

func TestDisturbed(t *testing.T) {
	if w, disturbed := loaded(0.1, 0.4, 0.3).Disturbed(); !disturbed || w.Phase != "b" || w.String() != "phase b waited 40 % of its time for a processor" {
		t.Errorf("%v, %v", w, disturbed)
	}
	if w, disturbed := loaded(0.1, 0.15).Disturbed(); disturbed {
		t.Error(w)
	}
	if !(loaded(0.1, 0.4).Disturbance() > loaded(0.3, 0.1).Disturbance()) || loaded(0.01).Disturbance() != 0 {
		t.Error("the less disturbed one is not the less disturbed one")
	}
	unknown := Trial{Measurements: append(LoadFigures(time.Second, time.Second, 0, 0, "no such file", ""), Figure(Wall, 1))}
	old := Trial{Measurements: []Measurement{Figure(Wall, 1).In("a")}}
	for _, one := range []Trial{unknown, old, {}} {
		if w, disturbed := one.Disturbed(); disturbed {
			t.Errorf("%+v: %v", one, w)
		}
	}
	if len(old.Waits()) != 0 {
		t.Error(old.Waits())
	}
}

func TestCounted(t *testing.T) {
	at := func(x Trial, candidate string, attempt int, o Outcome) Trial {
		x.Candidate, x.Attempt, x.Outcome = candidate, attempt, o
		return x
	}
	got := Counted([]Trial{
		at(loaded(0.4), "better", 1, Done), at(loaded(0), "better", 2, Done),
		at(loaded(0.4), "worse", 1, Done), at(loaded(0.5), "worse", 2, Done),
		at(loaded(0.4), "lost", 1, Done), at(loaded(), "lost", 2, LabFailed),
		at(loaded(), "cured", 1, LabFailed), at(loaded(), "cured", 2, Done),
		at(loaded(), "failed", 1, SubjectFailed), at(loaded(), "begun", 1, ""),
	})
	var names []string
	for _, x := range got {
		names = append(names, fmt.Sprint(x.Candidate, x.Attempt))
	}
	if want := []string{"better2", "worse1", "lost1", "cured2"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestLoadTally(t *testing.T) {
	var l LoadTally
	if l.Busy() || l.Share() != 0 {
		t.Errorf("%+v", l)
	}
	at := func(t Trial, round, place int) Trial { t.Round, t.Candidate = round, string(rune('a'+place)); return t }
	l.Add(at(loaded(0.01), 1, 1))
	if l.Busy() {
		t.Errorf("%+v", l)
	}
	l.Add(at(loaded(0.75), 1, 2))
	l.Add(at(loaded(0.38), 1, 2))
	l.Add(Trial{Round: 1, Place: 3, Outcome: LabFailed, Measurements: loaded(1).Measurements})
	l.Add(Trial{Round: 1, Place: 4, Outcome: Done})
	if got := l.String(); !l.Busy() || got != "this machine was busy 38 % of the time; 1 of 2 trials was taken again" {
		t.Error(got)
	}
	l.Add(at(loaded(0.38), 1, 1))
	if got := l.String(); got != "this machine was busy 38 % of the time; 2 of 2 trials were taken again" {
		t.Error(got)
	}
}
