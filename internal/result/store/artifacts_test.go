package store_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/bounded"
	"whichfs/internal/testing/must"
)

// Variants, the output of other programs, and the series of runs are read back
// unchanged.
func TestVariantsArtifactsSeries(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		first, second := example("r1"), example("r2")
		first.Series, second.Series = "r1", "r1"
		must.Do(t, s.CreateRun(first, 2))
		must.Do(t, s.CreateRun(second, 2))
		must.Do(t, s.CreateRun(example("alone"), 2))
		trial := exampleTrial()
		trial.Variant = "noatime,dirsync"
		long := strings.Repeat("{\"clat_ns\": 1}\n\x00ü", 100_000)
		trial.Artifacts = []result.Artifact{{Phase: "randread", Name: "fio.json", Text: long}, {Phase: "read", Name: "empty"}}
		var err error
		trial.ID, err = s.BeginTrial("r1", trial)
		must.Do(t, err)
		must.Do(t, s.FinishTrial(trial))
		trials, err := s.Trials("r1")
		must.Do(t, err)
		if len(trials) != 1 || trials[0].Variant != trial.Variant || trials[0].Artifacts != nil {
			t.Errorf("%+v", trials)
		}
		got, err := s.Artifacts(trial.ID)
		must.Do(t, err)
		if d := cmp.Diff(trial.Artifacts, got); d != "" {
			t.Error(d)
		}
		if got, err := s.Artifacts(trial.ID + 1); err != nil || got != nil {
			t.Errorf("of no trial: %v, %v", got, err)
		}
		for id, want := range map[string][]string{"r1": {"r1", "r2"}, "r2": {"r1", "r2"}, "alone": {"alone"}} {
			run, err := s.Run(id)
			must.Do(t, err)
			ids, err := s.Series(run)
			must.Do(t, err)
			if d := cmp.Diff(want, ids); d != "" {
				t.Errorf("%s: %s", id, d)
			}
		}
		must.Do(t, s.DeleteRun("r1")) // and all that belongs to it
		if got, err := s.Artifacts(trial.ID); err != nil || got != nil {
			t.Errorf("after deleting: %v, %v", got, err)
		}
	})
}

// A foreign store can hold a small text that unpacks to any length: that is an
// error, not a truncated text.
func TestArtifactOfAnyLength(t *testing.T) {
	s, _ := temporary(t)
	must.Do(t, s.CreateRun(example("r"), 1))
	trial := exampleTrial()
	trial.Artifacts = []result.Artifact{{Phase: "randread", Name: "fio.json", Text: "x"}}
	var err error
	trial.ID, err = s.BeginTrial("r", trial)
	must.Do(t, err)
	must.Do(t, s.FinishTrial(trial))
	var body bytes.Buffer
	z := zlib.NewWriter(&body)
	for range 65 {
		_, err := z.Write(make([]byte, 1<<20))
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	must.Do(t, s.SetArtifacts(body.Bytes()))
	got, err := s.Artifacts(trial.ID)
	if !errors.Is(err, bounded.ErrTooLong) || !strings.Contains(err.Error(), "fio.json: the stored output is too long") {
		t.Errorf("%d artifacts, %v", len(got), err)
	}
}
