package store_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

// imported stores a small run that change has changed.
func imported(t *testing.T, s *store.Store, id string, change func(*result.Run)) {
	t.Helper()
	run, trials := storetest.Run(id, storetest.Shape{Candidates: 2, Rounds: 2, Phases: 3, Metrics: 2}, 1)
	if change != nil {
		change(&run)
	}
	must.Do(t, s.Import(run, 9, trials))
}

// searched fills a store with runs that differ.
func searched(t *testing.T, s *store.Store) {
	t.Helper()
	kernel := func(version string) func(*result.Run) {
		return func(r *result.Run) { r.Conditions[0].Value = version }
	}
	imported(t, s, "a", nil)
	imported(t, s, "b", kernel("6.12.3"))
	imported(t, s, "c", func(r *result.Run) { r.Storage, r.Candidates = "sd:50%_1G", []string{"xfs", "btrfs -m single"} })
	imported(t, s, "d", func(r *result.Run) { r.Machine, r.State = "Board-1", result.Interrupted })
	imported(t, s, "e", func(r *result.Run) { r.Study = "elc-2015" })
	imported(t, s, "f", func(r *result.Run) { r.Conditions[1].Value = "sha256:ffff" })
	imported(t, s, "g", func(r *result.Run) {
		r.Conditions = append(r.Conditions, result.Condition{Group: "machine", Name: "clock", Value: "virtual"})
	})
	imported(t, s, "h", kernel("6.12.3"))
	must.Do(t, s.AddRemark("b", "#Old-Card! seen\n#twice"))
	must.Do(t, s.AddRemark("a", "#old-card"))
}

func TestSearch(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		searched(t, s)
		for _, c := range []struct {
			q    store.Query
			want string
			of   int
		}{
			{store.Query{}, "hgfedcba", 8},
			{store.Query{Limit: 3}, "hgf", 8},
			{store.Query{Limit: 3, Before: "f"}, "edc", 8},
			{store.Query{Before: "a"}, "", 8},
			{store.Query{Study: "elc-2015"}, "e", 1},
			{store.Query{State: "interrupted"}, "d", 1},
			{store.Query{Machine: "bOARD"}, "d", 1},
			{store.Query{Storage: "50%_"}, "c", 1},
			{store.Query{Storage: "0%%"}, "", 0},
			{store.Query{Kernel: "6.12"}, "hb", 2},
			{store.Query{Filesystem: "btrfs"}, "c", 1},
			{store.Query{Filesystem: "btr"}, "", 0},
			{store.Query{Filesystem: "xfs"}, "c", 1},
			{store.Query{Label: "#OLD-card"}, "ba", 2},
			{store.Query{Label: "old"}, "", 0},
			{store.Query{Label: "old-card", Kernel: "6.12", Study: "bootlin-2023"}, "b", 1},
		} {
			list, total, err := s.Find(c.q)
			must.Do(t, err)
			var ids strings.Builder
			for _, one := range list {
				ids.WriteString(one.Run.ID)
			}
			if ids.String() != c.want || total != c.of {
				t.Errorf("%+v: %s of %d, not %s of %d", c.q, ids.String(), total, c.want, c.of)
			}
		}
		_, _, err := s.Find(store.Query{Before: "nosuch"})
		refused(t, err, store.ErrNoRun, "nosuch")
		list, _, err := s.Find(store.Query{Kernel: "6.12", Before: "c"})
		must.Do(t, err)
		if b := list[0]; b.Kernel != "6.12.3" || !slices.Equal(b.Labels, []string{"old-card", "twice"}) || b.Planned != 9 || b.Done != 4 || b.Failed != 0 || b.Run.Plan != nil {
			t.Errorf("%+v", b)
		}
		values, err := s.Values()
		must.Do(t, err)
		if d := cmp.Diff(store.Values{Studies: []string{"bootlin-2023", "elc-2015"}, Machines: []string{"Board-1", "fake"}, Storages: []string{"disk:1G", "sd:50%_1G"}}, values); d != "" {
			t.Error(d)
		}
		// What a run is found by is that of now, and goes with it.
		run, err := s.Run("d")
		must.Do(t, err)
		run.State, run.Conditions[0].Value = result.Finished, "7.0"
		must.Do(t, s.UpdateRun(run))
		if list, _, err := s.Find(store.Query{State: "finished", Kernel: "7.0"}); err != nil || len(list) != 1 || list[0].Kernel != "7.0" {
			t.Errorf("%+v, %v", list, err)
		}
		must.Do(t, s.DeleteRun("d"))
		if n, err := s.Count("circumstances"); n != 7 || err != nil {
			t.Errorf("circumstances of %d runs, %v", n, err)
		}
	})
}

// ids are those of marks, in their order.
func ids(t *testing.T, marks []store.Mark, err error) (text string) {
	t.Helper()
	must.Do(t, err)
	for _, m := range marks {
		text += m.ID
	}
	return text
}

func TestLatestAndLines(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		searched(t, s)
		latest := func(q store.Query) string {
			marks, err := s.Latest(q)
			return ids(t, marks, err)
		}
		// d is not finished, b is older than h; other data are no other condition.
		if got := latest(store.Query{}); got != "hgfec" {
			t.Errorf("the latest are %s", got)
		}
		if got := latest(store.Query{Limit: 2, Study: "bootlin-2023"}); got != "hg" {
			t.Errorf("the latest two are %s", got)
		}
		lines, err := s.Lines(store.Query{Study: "bootlin-2023"})
		must.Do(t, err)
		if d := cmp.Diff([]store.Line{{"h", 3}, {"g", 1}, {"f", 1}, {"d", 1}, {"c", 1}}, lines); d != "" {
			t.Error(d)
		}
		of := func(q store.Query, most int) string {
			marks, err := s.Of(lines[0], q, most)
			return ids(t, marks, err)
		}
		if all, two, new := of(store.Query{}, 0), of(store.Query{}, 2), of(store.Query{Kernel: "6.12"}, 5); all != "abh" || two != "bh" || new != "bh" {
			t.Errorf("the line has %s, the latest two are %s, those of a kernel %s", all, two, new)
		}
		// A mark changes with the figures of its run, and with nothing else.
		mark := func(id string) store.Mark {
			marks, err := s.Marks(store.Query{})
			must.Do(t, err)
			return marks[slices.IndexFunc(marks, func(m store.Mark) bool { return m.ID == id })]
		}
		before := map[string]store.Mark{"a": mark("a"), "d": mark("d")}
		if before["d"].Study != "bootlin-2023" {
			t.Errorf("%+v", before["d"])
		}
		must.Do(t, s.AddRemark("d", "seen"))
		if mark("d") != before["d"] {
			t.Error("a remark changes the mark")
		}
		id, err := s.BeginTrial("d", result.Trial{Round: 3, Place: 1, Candidate: "ext4", Attempt: 1})
		must.Do(t, err)
		trial := exampleTrial()
		trial.ID = id
		must.Do(t, s.FinishTrial(trial))
		if mark("d") == before["d"] {
			t.Error("a trial does not change the mark")
		}
		run, err := s.Run("a")
		must.Do(t, err)
		run.Rounds++
		must.Do(t, s.UpdateRun(run))
		if mark("a") == before["a"] {
			t.Error("another round does not change the mark")
		}
	})
}

// Runs that are read together are as those that are read one by one.
func TestFiguresOfSeveralRuns(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		searched(t, s)
		must.Do(t, s.SetSupport("c", []result.Support{{Candidate: "xfs", Outcome: result.Refused, Reason: "no", Hint: "yes"}, {Candidate: "ext2", Outcome: result.Unsupported}}))
		for _, metrics := range [][]string{nil, {result.Wall}, {"unheard"}} {
			list, err := s.Figures([]string{"h", "a", "c"}, metrics...)
			must.Do(t, err)
			for i, id := range []string{"h", "a", "c"} {
				run, err := s.Run(id)
				must.Do(t, err)
				run.Notes = nil
				support, err := s.Support(id)
				must.Do(t, err)
				trials, err := s.Trials(id)
				must.Do(t, err)
				for k := range trials {
					trials[k].Notes, trials[k].Options = nil, nil
					trials[k].Measurements = slices.DeleteFunc(trials[k].Measurements, func(m result.Measurement) bool { return metrics != nil && !slices.Contains(metrics, m.Metric) })
					if len(trials[k].Measurements) == 0 {
						trials[k].Measurements = nil
					}
				}
				if d := cmp.Diff(store.Figured{Run: run, Support: support, Trials: trials}, list[i]); d != "" {
					t.Errorf("%s with %v: %s", id, metrics, d)
				}
			}
		}
		_, err := s.Figures([]string{"a", "nosuch"})
		refused(t, err, store.ErrNoRun, "nosuch")
	})
}

// Somebody else, who may be on another machine if the store is a database, ends a run.
func TestCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		other, err := store.Open(path)
		must.Do(t, err)
		defer other.Close()
		must.Do(t, s.CreateRun(example("r"), 1))
		must.Do(t, s.CreateRun(example("q"), 1))
		refused(t, other.Cancel("r"), nil, "no process is carrying out run r")
		hold := func(id string) (release func(), cancelled chan bool) {
			cancelled = make(chan bool, 9) // it may be told more than once
			release, err := s.Hold(id, func() { cancelled <- true })
			must.Do(t, err)
			return release, cancelled
		}
		release, first := hold("r")
		releaseOther, others := hold("q")
		must.Do(t, other.Cancel("r"))
		wait.For(t, "the run is cancelled", first)
		release()
		refused(t, other.Cancel("r"), nil, "no process is carrying out run r")
		// It says nothing about who carries it out next, nor about other runs.
		release, second := hold("r")
		if len(others) > 0 {
			t.Error("another run was cancelled")
		}
		must.Do(t, other.Cancel("q"))
		wait.For(t, "the other run is cancelled", others)
		release()
		releaseOther()
		if len(second) > 0 {
			t.Error("run r was cancelled again")
		}
	})
}

// Who waits for being cancelled has lost the connection meanwhile.
func TestCancelAfterALostConnection(t *testing.T) {
	server := database.Shared(t)
	s, err := store.Open(server.URL())
	must.Do(t, err)
	defer s.Close()
	must.Do(t, s.CreateRun(example("r"), 1))
	var cancelled atomic.Bool
	release, err := s.Hold("r", func() { cancelled.Store(true) })
	must.Do(t, err)
	defer release()
	const waits = `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'ClientRead' AND query LIKE 'SELECT id FROM run WHERE cancelled%'`
	wait.Until(t, "somebody waits", func() bool { return count(t, server, waits) == 1 })
	execute(t, server, strings.Replace(waits, "count(*)", "pg_terminate_backend(pid)", 1))
	must.Do(t, s.Cancel("r"))
	wait.Until(t, "the run is cancelled", cancelled.Load)
	wait.Until(t, "somebody waits again", func() bool { return count(t, server, waits) == 1 })
	release()
	wait.Until(t, "nobody waits for a run that is released", func() bool { return count(t, server, waits) == 0 })
}
