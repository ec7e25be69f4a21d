package store_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
)

func temporary(t *testing.T) (*store.Store, string) {
	t.Helper()
	// A directory with a name that would be misread if it were not escaped.
	path := filepath.Join(t.TempDir(), "a b?c#d%41", "results.db")
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// everywhere runs a test on a new store of each kind.
func everywhere(t *testing.T, f func(t *testing.T, s *store.Store, path string)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		s, path := temporary(t)
		f(t, s, path)
	})
	t.Run("database", func(t *testing.T) {
		path := database.Shared(t).URL()
		s, err := store.Open(path)
		must.Do(t, err)
		t.Cleanup(func() { _ = s.Close() })
		f(t, s, path)
	})
}

// places are new stores of each kind that do not exist yet.
func places(t *testing.T, f func(t *testing.T, path string)) {
	t.Helper()
	t.Run("file", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "results.db")) })
	t.Run("database", func(t *testing.T) { f(t, database.Shared(t).URL()) })
}

// refused requires an error of a kind (nil: any) that contains all of these
// words.
func refused(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("error is not %q: %v", kind, err)
	}
	text := err.Error()
	if f, ok := errors.AsType[*result.Failure](err); ok {
		text += "; " + f.Hint
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error does not say %q: %s", w, text)
		}
	}
}

func example(id string) result.Run {
	return result.Run{
		ID: id, Study: "bootlin-2023", Scale: "quick", Machine: "lab", Storage: "disk:1G",
		Clock: "virtual", Processor: "600MIPS", Predicted: "600MIPS on model sd-basic", // which are the plan's
		Seed: math.MaxUint64, Rounds: 3, Candidates: []string{"ext4", "btrfs -m single -o compress=lzo"},
		Margin: 0.1, Plan: []byte(`{"rounds": 3, "clock": "virtual", "processor": {"name": "600MIPS"}, "predicted": "600MIPS on model sd-basic"}`), Version: "1.0", Emulated: true,
		Started: time.Date(2024, 3, 1, 12, 0, 0, 123456789, time.UTC), State: result.Running,
		Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: "6.1", Matters: true}, {Group: "run", Name: "x"}},
		Notes:      []result.Note{{Level: result.Warning, Text: "the governor is powersave"}},
	}
}

func exampleTrial() result.Trial {
	return result.Trial{
		Round: 1, Place: 2, Candidate: "ext4", Attempt: 1, Outcome: result.SubjectFailed, Phase: "check",
		Reason: "fsck found an error", Hint: "look at the console", Overhead: 1.5,
		Started: time.Date(2024, 3, 1, 12, 0, 1, 1, time.UTC), Ended: time.Date(2024, 3, 1, 12, 0, 9, 0, time.UTC),
		Measurements: []result.Measurement{
			{Phase: "write", Metric: result.Wall, Value: 1.0 / 3, Unit: "s"},
			{Phase: "write", Metric: result.DeviceWritten, Value: 1 << 53, Unit: "B"},
			{Phase: "write", Metric: result.DeviceFlushes, Value: 0, Unit: "1"},
			{Phase: "write", Metric: result.CPUFilesystem, Unit: "s", Absent: "no threads"},
			{Phase: "", Metric: result.SentinelRead, Value: math.SmallestNonzeroFloat64, Unit: "s"},
		},
		Notes:   []result.Note{{Phase: "write", Level: result.Warning, Text: "a\nb"}, {Level: result.Info, Text: "ünïcode \x00"}},
		Options: []result.Option{{Text: "compress=lzo", State: result.InForce, Evidence: "mountinfo"}, {Text: "x", State: result.Ignored}},
		Console: []string{"line one", "", "[ 1.0] panic: \"x\""},
	}
}

// sorted puts measurements into a fixed order.
func sorted(ms []result.Measurement) []result.Measurement {
	out := append([]result.Measurement(nil), ms...)
	sort.Slice(out, func(i, j int) bool {
		return out[i].Phase+"\x00"+out[i].Metric < out[j].Phase+"\x00"+out[j].Metric
	})
	return out
}

func diffTrials(want, got result.Trial) string {
	want.Measurements, got.Measurements = sorted(want.Measurements), sorted(got.Measurements)
	return cmp.Diff(want, got)
}

func TestStoreRoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		run := example("r1")
		must.Do(t, s.CreateRun(run, 6))
		trial := exampleTrial()
		id, err := s.BeginTrial("r1", trial)
		must.Do(t, err)
		trial.ID = id
		must.Do(t, s.FinishTrial(trial))
		support := []result.Support{
			{Candidate: "reiserfs", Outcome: result.Unsupported, Reason: "no module", Hint: "modprobe"},
			{Candidate: "ext4 -b 7", Outcome: result.Refused, Reason: "bad block size"},
		}
		must.Do(t, s.SetSupport("r1", []result.Support{{Candidate: "old", Outcome: result.Refused}}))
		must.Do(t, s.SetSupport("r1", support))
		run.State, run.Ended, run.Active = result.Interrupted, run.Started.Add(time.Minute), 59.5
		run.Conditions, run.Notes = run.Conditions[1:], nil
		must.Do(t, s.UpdateRun(run))

		check := func(t *testing.T, s *store.Store) {
			got, err := s.Run("last")
			must.Do(t, err)
			if d := cmp.Diff(run, got); d != "" {
				t.Error(d)
			}
			trials, err := s.Trials("r1")
			must.Do(t, err)
			if len(trials) != 1 {
				t.Fatalf("%d trials", len(trials))
			}
			if d := diffTrials(trial, trials[0]); d != "" {
				t.Error(d)
			}
			list, err := s.Support("r1")
			must.Do(t, err)
			if d := cmp.Diff(support, list); d != "" {
				t.Error(d)
			}
			must.Do(t, s.Check())
		}
		t.Run("same store", func(t *testing.T) { check(t, s) })
		t.Run("read beside the writer", func(t *testing.T) {
			r, err := store.OpenReadOnly(path)
			must.Do(t, err)
			defer func() { _ = r.Close() }()
			check(t, r)
			refused(t, r.CreateRun(example("r2"), 1), store.ErrNotWritable)
		})
		must.Do(t, s.Close())
		t.Run("opened again", func(t *testing.T) {
			s, err := store.Open(path)
			must.Do(t, err)
			defer func() { _ = s.Close() }()
			check(t, s)
		})
	})
}

func TestInvalidFigureIsAbsent(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		must.Do(t, s.CreateRun(example("r"), 1))
		trial := exampleTrial()
		var err error
		trial.ID, err = s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
		must.Do(t, err)
		trial.Measurements = []result.Measurement{
			{Phase: "a", Metric: "m", Value: math.NaN(), Unit: "s"},
			{Phase: "b", Metric: "m", Value: math.Inf(-1), Unit: "s"},
			{Phase: "c", Metric: "m", Value: 5, Unit: "s", Absent: "both: the reason wins"},
		}
		must.Do(t, s.FinishTrial(trial))
		trials, err := s.Trials("r")
		must.Do(t, err)
		for _, m := range trials[0].Measurements {
			if m.Absent == "" || m.Value != 0 || m.Unit != "s" {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestTrialIsFinishedOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		must.Do(t, s.CreateRun(example("r"), 2))
		first, err := s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
		must.Do(t, err)
		second, err := s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1}) // the machine went down
		must.Do(t, err)
		if first == second {
			t.Error("the same number twice")
		}
		trial := exampleTrial()
		trial.ID = first
		refused(t, s.FinishTrial(trial), nil, "gone", "resumed")
		trial.ID, trial.Outcome = second, ""
		refused(t, s.FinishTrial(trial), nil, "no outcome")
		trial.Outcome = result.Done
		trial.Measurements = append(trial.Measurements, trial.Measurements[0])
		refused(t, s.FinishTrial(trial), nil, "appears twice", "wall", "write")
		if n, err := s.Count("measurement"); n != 0 || err != nil {
			t.Errorf("%d measurements of a refused trial are there (%v)", n, err)
		}
		trial.Measurements = trial.Measurements[1:]
		must.Do(t, s.FinishTrial(trial))
		refused(t, s.FinishTrial(trial), nil, "already finished", "done")
		_, err = s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
		refused(t, err, nil, "already finished")
		_, err = s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 2})
		must.Do(t, err)
		_, err = s.BeginTrial("nope", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
		refused(t, err, store.ErrNoRun, "nope")

		trials, err := s.Trials("r")
		must.Do(t, err)
		if len(trials) != 2 || trials[0].Outcome != result.Done || trials[1].Outcome != "" || trials[1].Started.IsZero() {
			t.Errorf("%+v", trials)
		}
	})
}

func TestRunIsFoundByName(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		_, err := s.Run("last")
		refused(t, err, store.ErrNoRun, "none yet", path)
		for _, id := range []string{"2024-a1", "2024-a1b", "2024-c", "50%_x"} {
			must.Do(t, s.CreateRun(example(id), 1))
		}
		for arg, want := range map[string]string{
			"last": "50%_x", "latest": "50%_x", "": "50%_x", "2024-a1": "2024-a1", "2024-a1b": "2024-a1b",
			"2024-c": "2024-c", "2024-": "", "2024-a": "", "5": "50%_x", "%": "", "_": "", "x": "", "2024-a1bc": "",
		} {
			run, err := s.Run(arg)
			switch {
			case want == "":
				refused(t, err, store.ErrNoRun, arg)
			case err != nil || run.ID != want:
				t.Errorf("%q: got %q, %v", arg, run.ID, err)
			}
		}
		_, err = s.Run("2024-")
		refused(t, err, store.ErrNoRun, "2024-a1b", "2024-c")
		refused(t, s.CreateRun(example("2024-c"), 1), nil, "already")
		refused(t, s.CreateRun(example("last"), 1), nil, "last")
		refused(t, s.CreateRun(example(""), 1), nil)
	})
}

func TestListAndDelete(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		must.Do(t, s.CreateRun(example("old"), 4))
		run, trials := storetest.Run("new", storetest.Shape{Candidates: 2, Rounds: 2, Phases: 2, Metrics: 3}, 1)
		trials[1].Outcome, trials[2].Outcome = result.LabFailed, ""
		must.Do(t, s.Import(run, 4, trials))
		list, err := s.Runs()
		must.Do(t, err)
		if len(list) != 2 || list[0].Run.ID != "new" || list[1].Run.ID != "old" {
			t.Fatalf("%+v", list)
		}
		if l := list[0]; l.Planned != 4 || l.Done != 2 || l.Failed != 1 {
			t.Errorf("%+v", l)
		}
		if l := list[1]; l.Planned != 4 || l.Done != 0 || l.Failed != 0 {
			t.Errorf("%+v", l)
		}
		got, err := s.Trials("new")
		must.Do(t, err)
		for i := range got {
			want := trials[i]
			want.ID = got[i].ID
			if want.Outcome == "" {
				want = result.Trial{ID: want.ID, Round: want.Round, Place: want.Place, Candidate: want.Candidate, Attempt: 1, Started: want.Started}
			}
			if d := diffTrials(want, got[i]); d != "" {
				t.Error(d)
			}
		}
		must.Do(t, s.DeleteRun("new"))
		refused(t, s.DeleteRun("new"), store.ErrNoRun, "new")
		_, err = s.Trials("new")
		refused(t, err, store.ErrNoRun)
		for _, table := range []string{"trial", "measurement", "note", "option"} {
			if n, err := s.Count(table); n != 0 || err != nil {
				t.Errorf("%s: %d rows left (%v)", table, n, err)
			}
		}
		if n, err := s.Count("condition"); n != 2 || err != nil {
			t.Errorf("the other run has %d conditions (%v)", n, err)
		}
	})
}

func TestOnlyRequestedMetrics(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		run, trials := storetest.Run("r", storetest.Shape{Candidates: 2, Rounds: 1, Phases: 3, Metrics: 5}, 1)
		must.Do(t, s.Import(run, 2, trials))
		for _, c := range []struct {
			metrics []string
			want    int
		}{{nil, 0}, {[]string{result.Wall}, 3}, {[]string{result.Wall, result.CPUUser, "unheard"}, 6}, {[]string{"unheard"}, 0}} {
			got, err := s.TrialsWith("r", c.metrics...)
			must.Do(t, err)
			for _, tr := range got {
				if len(tr.Measurements) != c.want {
					t.Errorf("%v: %d figures", c.metrics, len(tr.Measurements))
				}
				if len(tr.Options) != 1 || len(tr.Notes) != 1 {
					t.Errorf("%v: options and notes are missing", c.metrics)
				}
			}
		}
	})
}

// Numbers of figures around the size of a batch and its multiples.
func TestEveryFigureIsStored(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		for _, n := range []int{0, 1, 63, 64, 65, 128, 200} {
			run, trials := storetest.Run(string(rune('a'+n)), storetest.Shape{Candidates: 1, Rounds: 1, Phases: n, Metrics: 1}, 1)
			must.Do(t, s.Import(run, 1, trials))
			got, err := s.Trials(run.ID)
			must.Do(t, err)
			trials[0].ID = got[0].ID
			if d := diffTrials(trials[0], got[0]); d != "" {
				t.Errorf("%d: %s", n, d)
			}
		}
	})
}

func TestDefaultPath(t *testing.T) {
	for _, c := range []struct{ store, data, home, want string }{
		{"/x/y.db", "/data", "/home/u", "/x/y.db"},
		{"", "/data", "/home/u", "/data/whichfs/results.db"},
		{"", "relative", "/home/u", "/home/u/.local/share/whichfs/results.db"},
		{"", "", "/home/u", "/home/u/.local/share/whichfs/results.db"},
	} {
		t.Setenv("WHICHFS_STORE", c.store)
		t.Setenv("XDG_DATA_HOME", c.data)
		t.Setenv("HOME", c.home)
		if got, err := store.DefaultPath(); err != nil || got != c.want {
			t.Errorf("%+v: got %s, %v", c, got, err)
		}
	}
	t.Setenv("HOME", "")
	if _, err := store.DefaultPath(); err == nil || !strings.Contains(err.Error(), "WHICHFS_STORE") {
		t.Errorf("without a home: %v", err)
	}
}
