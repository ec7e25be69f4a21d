package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/result"
)

// upTo returns the trials of the first rounds.
func upTo(trials []result.Trial, round int) []result.Trial {
	var out []result.Trial
	for _, t := range trials {
		if t.Round <= round {
			out = append(out, t)
		}
	}
	return out
}

func question(t *testing.T, s Settling, name string) Question {
	t.Helper()
	for _, q := range s.Questions {
		if q.Name == name {
			return q
		}
	}
	t.Fatalf("no question %s in %+v", name, s)
	return Question{}
}

func TestSettle(t *testing.T) {
	run, trials, st := toy.Run{Seed: 1, Rounds: 12}.Make()
	s := Settle(run, upTo(trials, 2), st, []string{"write"}, 12)
	if s.Done || s.Look != 2 || len(s.Questions) != 2 || len(s.Dropped) != 0 {
		t.Errorf("after two rounds: %+v", s)
	}
	mustContain(t, "reason", s.Questions[0].Reason, "first look")
	s = Settle(run, trials, st, []string{"write"}, 12)
	if q := question(t, s, "read-write"); !s.Done || !q.Settled || q.Best != toy.Ext4 || q.Reason == "" {
		t.Errorf("%+v", s)
	}
	if q := question(t, s, "Write"); !q.Settled || q.Best != toy.Packed {
		t.Errorf("%+v", q)
	}
	if s.Look != stats.FirstLook || s.Most != 12 {
		t.Errorf("it went on after everything was settled: look %d of %d", s.Look, s.Most)
	}
}

// The same trials give the same answer in any order, with the trials of an
// incomplete round, and with those of variants.
func TestSettleDependsOnlyOnTrials(t *testing.T) {
	run, trials, st := toy.Run{Seed: 9, Rounds: 8, Noise: 0.15}.Make()
	for round := 1; round <= 8; round++ {
		want := Settle(run, upTo(trials, round), st, nil, 8)
		var mixed []result.Trial
		for i := len(trials) - 1; i >= 0; i-- {
			x := trials[i]
			if x.Round <= round || x.Round == round+1 && x.Candidate == toy.Ext2 || x.Variant != "" {
				mixed = append(mixed, x)
			}
		}
		if diff := cmp.Diff(want, Settle(run, mixed, st, nil, 8)); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
	}
}

// A dropped candidate has no further trials: what was decided stays.
func TestDroppedCandidatesStayDropped(t *testing.T) {
	run, all, st := toy.Run{Seed: 5, Rounds: 30, Noise: 0.25}.Make()
	var trials []result.Trial
	dropped, early := map[string]int{}, false
	for round := 1; ; round++ {
		for _, x := range all {
			if _, gone := dropped[x.Candidate]; x.Round == round && !gone {
				trials = append(trials, x)
			}
		}
		s := Settle(run, trials, st, []string{"create"}, 30)
		if s.Look != round {
			t.Fatalf("round %d is complete, and the look is at %d", round, s.Look)
		}
		for name, last := range dropped {
			if s.Dropped[name] != last {
				t.Errorf("round %d: %s was dropped after round %d and now after %d", round, name, last, s.Dropped[name])
			}
		}
		dropped = s.Dropped
		early = early || len(dropped) > 0 && !s.Done
		if s.Done {
			if !early {
				t.Error("nobody was dropped before the end")
			}
			if round <= stats.FirstLook || round == 30 || len(dropped) == 0 {
				t.Errorf("done after round %d, dropped %v: the test shows nothing", round, dropped)
			}
			break
		}
	}
	// The winner of one question and the loser of another goes on until both
	// are known.
	last := Settle(run, trials, st, []string{"create"}, 30)
	if q := question(t, last, "Create"); q.Best != toy.Ext4 {
		t.Errorf("%+v", q)
	}
	run.Plan = []byte(`{"until":"settled","questions":["create"]}`)
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&last, v.Settling); diff != "" {
		t.Error(diff)
	}
	for _, w := range v.Warnings {
		if strings.Contains(w, "Fewer rounds") {
			t.Errorf("what was dropped is complained of: %q", w)
		}
	}
	if v.Trials.Planned != v.Trials.Done {
		t.Errorf("%d planned, %d done", v.Trials.Planned, v.Trials.Done)
	}
}

func TestSettleWithoutFigures(t *testing.T) {
	run, trials, st := toy.Run{Seed: 1, Rounds: 6, Change: func(x *result.Trial) bool {
		if x.Candidate != toy.Ext4 {
			x.Outcome, x.Reason, x.Measurements = result.SubjectFailed, "mkfs failed", nil
		}
		return true
	}}.Make()
	s := Settle(run, trials, st, []string{"ratio", "nonsense"}, 6)
	if !s.Done || s.Look != stats.FirstLook {
		t.Errorf("%+v", s)
	}
	if q := question(t, s, "read-write"); !q.Settled || q.Best != toy.Ext4 || q.Reason != "there is nothing to compare it with" {
		t.Errorf("%+v", q)
	}
	if q := question(t, s, "Compressed to"); q.Settled || q.Reason != "no candidate has figures for it" {
		t.Errorf("%+v", q)
	}
	if q := question(t, s, "nonsense"); q.Settled || q.Reason != "the study has no such column" {
		t.Errorf("%+v", q)
	}
	if s := Settle(run, nil, st, nil, 6); s.Done || s.Look != 0 {
		t.Errorf("without trials: %+v", s)
	}
	// A trial that the lab failed is tried once more before its round is complete.
	run, trials, st = toy.Run{Seed: 1, Rounds: 3}.Make()
	for i := range trials {
		if x := &trials[i]; x.Round == 2 && x.Candidate == toy.Ext2 && x.Variant == "" {
			x.Outcome, x.Measurements = result.LabFailed, nil
		}
	}
	if s := Settle(run, trials, st, nil, 3); s.Look != 1 {
		t.Errorf("a round is complete before its second try: look %d", s.Look)
	}
	for i := range trials {
		if trials[i].Outcome == result.LabFailed {
			trials[i].Attempt = 2
		}
	}
	if s := Settle(run, trials, st, nil, 3); s.Look != 3 || !s.Done {
		t.Errorf("after the second try: %+v", s)
	}
}
