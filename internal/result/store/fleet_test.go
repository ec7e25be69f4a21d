package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

// Two processes describe one run: nothing of either is lost, and what was first stays.
func TestMergeRun(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		other, err := store.Open(path)
		must.Do(t, err)
		defer func() { _ = other.Close() }()
		run := example("r")
		run.Conditions = []result.Condition{{Group: "machine", Name: "kernel", Value: "6.1", Matters: true}}
		run.Notes, run.Emulated = []result.Note{{Level: result.Info, Text: "first"}}, false
		must.Do(t, s.CreateRun(run, 1))
		memory := result.Condition{Group: "machine", Name: "memory", Value: "1 GiB"}
		cards := result.Condition{Group: "storage", Name: "memory", Value: "8 GiB"}
		_, err = other.MergeRun(result.Run{ID: "r", Conditions: []result.Condition{memory, memory}, Notes: []result.Note{{Level: result.Warning, Text: "second"}, run.Notes[0]}})
		must.Do(t, err)
		got, err := s.MergeRun(result.Run{ID: "r", Emulated: true, Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: "6.12"}, cards}})
		must.Do(t, err)
		want := []result.Condition{run.Conditions[0], memory, cards}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		there, err := other.Run("r")
		must.Do(t, err)
		if d := cmp.Diff(want, there.Conditions); d != "" || !there.Emulated || len(there.Notes) != 2 || there.Notes[1].Text != "second" {
			t.Errorf("%s%+v", d, there)
		}
		_, err = s.MergeRun(result.Run{ID: "none"})
		refused(t, err, store.ErrNoRun)
	})
}

// fleet is a run of a fleet whose jobs are done by hand.
type fleet struct {
	*store.Fleet
	t  *testing.T
	s  *store.Store
	db *sql.DB
}

func newFleet(t *testing.T, path, direct string) *fleet {
	t.Helper()
	s, err := store.Open(path)
	must.Do(t, err)
	f, err := s.Fleet()
	must.Do(t, err)
	db, err := sql.Open("pgx", direct)
	must.Do(t, err)
	t.Cleanup(func() { f.Close(); _ = s.Close(); _ = db.Close() })
	return &fleet{f, t, s, db}
}

// share makes a run with jobs.
func (f *fleet) share(id string, jobs int) {
	f.t.Helper()
	must.Do(f.t, f.s.CreateRun(example(id), jobs))
	var all []store.Job
	for i := range jobs {
		all = append(all, store.Job{Run: id, Round: 1, Places: []int{i + 1}})
	}
	must.Do(f.t, f.Share(f.t.Context(), id, store.Needs{Machine: "fake"}, all))
}

// take has a worker fetch the next job, as River does.
func (f *fleet) take(worker string) (id int64) {
	f.t.Helper()
	must.Do(f.t, f.db.QueryRow(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = ARRAY[$1]
		WHERE id = (SELECT id FROM river_job WHERE state = 'available' ORDER BY id LIMIT 1) RETURNING id`, worker).Scan(&id))
	return id
}

// jobs are the numbers of those that wait, run and failed.
func (f *fleet) jobs() (counts [3]int) {
	f.t.Helper()
	shared, err := f.s.Shared(100)
	must.Do(f.t, err)
	for _, s := range shared {
		counts[0], counts[1], counts[2] = counts[0]+s.Waiting, counts[1]+s.Running, counts[2]+s.Failed
	}
	return counts
}

func trialAt(place int) result.Trial {
	trial := exampleTrial()
	trial.Round, trial.Place, trial.Worker = 1, place, "w"
	return trial
}

// Jobs of a machine whose clock is ahead can be done at once: River would wait for its time.
func TestJobsOfAClockThatIsAhead(t *testing.T) {
	path := database.Shared(t).URL()
	f := newFleet(t, path, path)
	f.By(store.Ahead{})
	f.share("r", 3)
	var later int
	must.Do(t, f.db.QueryRow("SELECT count(*) FROM river_job WHERE scheduled_at > now()").Scan(&later))
	if later != 0 || f.jobs() != [3]int{3, 0, 0} {
		t.Errorf("%d of %v jobs are for later", later, f.jobs())
	}
}

// A worker whose job was handed on stores nothing more, and no trial is stored twice.
func TestTrialOfAFleetIsStoredOnce(t *testing.T) {
	path := database.Shared(t).URL()
	f := newFleet(t, path, path)
	f.share("r", 2)
	first, second := f.take("w"), f.take("w")
	must.Do(t, f.s.AddTrial("r", trialAt(1), first))
	if err := f.s.AddTrial("r", trialAt(1), first); !errors.Is(err, store.ErrTaken) {
		t.Errorf("stored twice: %v", err)
	}
	must.Do(t, f.HandOn(t.Context(), second, false))
	for _, err := range []error{f.s.AddTrial("r", trialAt(2), second), f.s.DropRound("r", 1, second)} {
		if !errors.Is(err, store.ErrTaken) {
			t.Errorf("by a worker that has lost the job: %v", err)
		}
	}
	trials, err := f.s.Trials("r")
	must.Do(t, err)
	if len(trials) != 1 || trials[0].Worker != "w" || len(trials[0].Measurements) == 0 || f.jobs() != [3]int{1, 1, 0} {
		t.Errorf("%+v, %v", trials, f.jobs())
	}
	must.Do(t, f.s.DropRound("r", 1, first))
	if trials, err = f.s.Trials("r"); err != nil || len(trials) != 0 {
		t.Errorf("%+v, %v", trials, err)
	}
	// No other process can hold the run while the fleet has it, and it ends only once.
	if _, err := f.s.Hold("r", nil); err == nil || !f.s.Held("r") {
		t.Error("another process may carry it out")
	}
	for want := range 2 {
		ended, err := f.s.EndShared("r", result.Finished, []result.Note{{Level: result.Info, Text: "the end"}})
		if must.Do(t, err); ended != (want == 0) {
			t.Errorf("ended: %v", ended)
		}
	}
	run, err := f.s.Run("r")
	must.Do(t, err)
	if run.State != result.Finished || run.Ended.IsZero() || run.Notes[len(run.Notes)-1].Text != "the end" || f.s.Held("r") {
		t.Errorf("%+v", run)
	}
}

// The jobs of workers that are gone, that hang, or that could not say that they have done with them, go to
// others; the fifth time they fail.
func TestJobsOfLostWorkers(t *testing.T) {
	path := database.Shared(t).URL()
	f := newFleet(t, path, path)
	f.share("r", 1)
	attend := func(id string, jobs ...int64) *store.Store {
		t.Helper()
		s, err := store.Open(path)
		must.Do(t, err)
		t.Cleanup(func() { _ = s.Close() })
		_, err = s.Attend(store.Worker{ID: id})
		must.Do(t, err)
		must.Do(t, s.Beat(store.Worker{ID: id, Jobs: jobs}))
		return s
	}
	sweep := func(what string, want [3]int) {
		t.Helper()
		must.Do(t, f.Sweep(t.Context()))
		if got := f.jobs(); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	execute := func(query string, args ...any) {
		t.Helper()
		_, err := f.db.Exec(query, args...)
		must.Do(t, err)
	}
	attend("lives", f.take("lives"))
	execute("UPDATE worker SET seen = now() - interval '50 s'")
	sweep("it lives", [3]int{0, 1, 0})
	execute("UPDATE worker SET seen = now() - interval '61 s'")
	sweep("it hangs", [3]int{1, 0, 0})

	attend("forgot", f.take("forgot"))
	sweep("it works", [3]int{0, 1, 0})
	execute("UPDATE worker SET jobs = '{}' WHERE id = 'forgot'")
	sweep("it may have just begun", [3]int{0, 1, 0})
	execute("UPDATE river_job SET attempted_at = now() - interval '1 min' WHERE state = 'running'")
	sweep("it has done with it", [3]int{1, 0, 0})

	gone := attend("gone", f.take("gone"))
	must.Do(t, gone.Close())
	sweep("it may connect again", [3]int{0, 1, 0})
	execute("UPDATE worker SET seen = now() - interval '6 s' WHERE id = 'gone'")
	wait.Until(t, "the server has noticed that it is gone", func() bool {
		must.Do(t, f.Sweep(t.Context()))
		return f.jobs() == [3]int{1, 0, 0}
	})

	f.take("nobody")
	sweep("there is no such worker", [3]int{1, 0, 0})
	f.take("nobody")
	sweep("for the fifth time", [3]int{0, 0, 1})
}

// All workers see that a run has no open jobs, and one ends it.
func TestRunIsEndedByOne(t *testing.T) {
	path := database.Shared(t).URL()
	one, other := newFleet(t, path, path), newFleet(t, path, path)
	broken := errors.New("broken")
	calls := 0
	count := func() error { calls++; return nil }
	err := one.Alone(t.Context(), "r", func() error {
		must.Do(t, other.Alone(t.Context(), "r", count))
		if calls != 0 {
			t.Error("two end the same run")
		}
		must.Do(t, other.Alone(t.Context(), "another", count))
		return broken
	})
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}
	must.Do(t, other.Alone(t.Context(), "r", count))
	if calls != 2 {
		t.Error("whoever has ended it holds it")
	}
}

// The connection is cut at each statement: each job is there once, each trial, and each note.
func TestFleetIsCutAtEveryStatement(t *testing.T) {
	server := database.Shared(t)
	proxy := database.NewProxy(t, server)
	direct := server.URL()
	f := newFleet(t, server.At(proxy.Port, database.User, schemaOf(t, direct)), direct)
	cuts := 0
	for executed, step := range map[bool]int{true: 1, false: 4} {
		for at := 1; ; at += step {
			id := fmt.Sprintf("r-%t-%d", executed, at)
			must.Do(t, f.s.CreateRun(example(id), 2))
			proxy.CutAt(at, executed)
			must.Do(t, f.Share(t.Context(), id, store.Needs{Machine: "fake"}, []store.Job{{Run: id, Round: 1, Places: []int{1}}, {Run: id, Round: 1, Places: []int{2}}}))
			job := f.take("w")
			must.Do(t, f.s.AddTrial(id, trialAt(1), job))
			must.Do(t, f.HandOn(t.Context(), job, true))
			_, err := f.s.MergeRun(result.Run{ID: id, Notes: []result.Note{{Level: result.Info, Text: "merged"}}})
			must.Do(t, err)
			if got := f.jobs(); got != [3]int{2, 0, 0} {
				t.Errorf("cut at %d: jobs %v", at, got)
			}
			_, err = f.s.EndShared(id, result.Finished, []result.Note{{Level: result.Info, Text: "ended"}})
			must.Do(t, err)
			pending := proxy.Pending()
			proxy.CutAt(0, false)
			run, err := f.s.Run(id)
			must.Do(t, err)
			trials, err := f.s.Trials(id)
			must.Do(t, err)
			if n := len(run.Notes) - len(example(id).Notes); n != 2 || len(trials) != 1 || run.State != result.Finished {
				t.Errorf("cut at %d: %d notes, %d trials, %s", at, n, len(trials), run.State)
			}
			if pending {
				break
			}
			cuts++
		}
	}
	if t.Logf("%d cuts", cuts); cuts < 40 {
		t.Errorf("only %d cuts", cuts)
	}
}

// What workers do belongs to nobody: each may add to a run of the fleet, and end it.
func fleetOfOthers(t *testing.T, path string, alice, bob *store.Store) {
	t.Helper()
	f := &fleet{t: t, s: alice}
	var err error
	f.db, err = sql.Open("pgx", path)
	must.Do(t, err)
	defer func() { _ = f.db.Close() }()
	f.Fleet, err = alice.Fleet()
	must.Do(t, err)
	defer f.Close()
	f.share("shared", 1)
	job := f.take("w")
	must.Do(t, alice.AddTrial("shared", trialAt(2), job))
	more := result.Run{ID: "shared", Conditions: []result.Condition{{Group: "machine", Name: "odd", Value: "yes"}}}
	_, err = bob.MergeRun(more)
	must.Do(t, err)
	must.Do(t, bob.DropRound("shared", 1, job))
	must.Do(t, bob.AddTrial("shared", trialAt(1), job))
	release, err := bob.Attend(store.Worker{ID: "bob"})
	must.Do(t, err)
	must.Do(t, bob.Beat(store.Worker{ID: "bob"}))
	release()
	ended, err := bob.EndShared("shared", result.Finished, nil)
	if must.Do(t, err); !ended {
		t.Error("not ended")
	}
	more.Conditions[0].Name = "later"
	_, err = bob.MergeRun(more)
	refused(t, err, store.ErrNotWritable, "another user")
}
