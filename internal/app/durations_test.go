package app

import (
	"path/filepath"
	"testing"
	"time"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/must"
)

// The latest run like this one that has trials says how long they take.
func TestEarlier(t *testing.T) {
	st, err := store.Open(filepath.Join(t.TempDir(), "runs.db"))
	must.Do(t, err)
	defer st.Close()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	trial := func(candidate string, round int, seconds time.Duration, outcome result.Outcome) result.Trial {
		return result.Trial{Round: round, Place: len(candidate), Candidate: candidate, Attempt: 1, Outcome: outcome, Started: began, Ended: began.Add(seconds * time.Second), Reason: "it is tested"}
	}
	run := func(id string, change func(*result.Run), trials ...result.Trial) result.Run {
		r := result.Run{ID: id, Study: "bootlin-2023", Scale: "quick", Machine: "lab", Storage: "sim:sd-basic,1G",
			Rounds: 2, Candidates: []string{"ext4"}, Plan: []byte(`{"clock": "virtual"}`), Started: began, State: result.Finished}
		began = began.Add(time.Hour)
		change(&r)
		must.Do(t, st.Import(r, 2, trials))
		stored, err := st.Run(id)
		must.Do(t, err)
		return stored
	}
	same := func(*result.Run) {}
	run("older", same, trial("ext4", 1, 90, result.Done))
	run("like", same, trial("ext4", 1, 10, result.Done), trial("ext4", 2, 20, result.Done), trial("xfs", 1, 99, result.SubjectFailed))
	run("other-storage", func(r *result.Run) { r.Storage = "ram:1G" }, trial("ext4", 1, 1, result.Done))
	run("other-clock", func(r *result.Run) { r.Plan = []byte(`{}`) }, trial("ext4", 1, 1, result.Done))
	run("processor", func(r *result.Run) { r.Plan = []byte(`{"clock": "virtual", "processor": {"name": "600MIPS"}}`) }, trial("ext4", 1, 1, result.Done))
	now := run("new", same)
	d, err := Earlier(st, now)
	must.Do(t, err)
	if d.Run != "like" || len(d.Trials) != 1 || d.Trials["ext4"] != 15*time.Second {
		t.Errorf("%+v", d)
	}
	now.Study = "pandora-2012"
	if d, err = Earlier(st, now); err != nil || d.Run != "" || len(d.Trials) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}
