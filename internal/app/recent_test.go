package app

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichfs/internal/judge/history"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/must"
)

// years is a store with runs on many machines, storages and kernels.
func years(t *testing.T, runs int, shape storetest.Shape) *App {
	t.Helper()
	a := &App{Path: filepath.Join(t.TempDir(), "results.db"), Note: func(string) {}}
	st, err := a.Store()
	must.Do(t, err)
	defer st.Close()
	must.Do(t, storetest.Years(st, runs, shape))
	return a
}

// What pages show of a history is the history's end.
func TestRecentHistory(t *testing.T) {
	a := years(t, 61, storetest.Shape{Candidates: 2, Rounds: 2, Phases: 9, Metrics: 1})
	q := store.Query{Study: "bootlin-2023"}
	m := &Memory{}
	for _, by := range []history.Order{history.ByRun, history.ByKernel} {
		for _, last := range []int{2, 100} {
			ask := history.Question{By: by, Last: last}
			all, err := a.History(&Memory{}, q, ask)
			must.Do(t, err)
			if len(all.Groups) != 20 {
				t.Fatalf("%d groups", len(all.Groups))
			}
			for at := range all.Groups {
				h, err := a.RecentHistory(m, q, ask, at)
				must.Do(t, err)
				for i, g := range h.Groups {
					want := all.Groups[i]
					runs := want.Earlier + len(want.Steps)
					if i != at {
						want = history.Head(result.Run{Scale: want.Scale, Machine: want.Machine, Storage: want.Storage})
						want.Clock, want.Data, want.Older = all.Groups[i].Clock, all.Groups[i].Data, runs
					} else if by == history.ByRun {
						want.Older, want.Earlier = want.Earlier, 0
					}
					if d := cmp.Diff(want, g, cmpopts.IgnoreUnexported(history.Point{})); d != "" {
						t.Fatalf("by %s, the last %d of group %d: group %d: %s", by, last, at, i, d)
					}
				}
			}
			_, err = a.RecentHistory(m, q, ask, len(all.Groups))
			if f := result.FailureOf(err); f == nil || f.Outcome != result.Refused {
				t.Errorf("a group that is not there: %v", err)
			}
		}
	}
}

// Leaders have the columns and orders of the runs' reports.
func TestLeaders(t *testing.T) {
	a := years(t, 25, storetest.Shape{Candidates: 4, Rounds: 3, Phases: 14, Metrics: 20})
	m := &Memory{}
	for range 2 { // the second time from memory
		list, err := a.Leaders(m, store.Query{Limit: 5})
		must.Do(t, err)
		if len(list) != 5 || list[0].Run.ID != "fill-00025" || list[4].Run.ID != "fill-00021" {
			t.Fatalf("%d leaders", len(list))
		}
		st, err := a.ReadStore()
		must.Do(t, err)
		defer st.Close()
		for _, is := range list {
			run, err := st.Run(is.Run.ID)
			must.Do(t, err)
			want, _, err := Judge(st, run)
			must.Do(t, err)
			for i := range want.Uses {
				want.Uses[i].Reasons, is.Uses[i].Reasons = nil, nil // those of wear and faults are missing
			}
			for what, pair := range map[string][2]any{"columns": {want.Columns, is.Columns}, "further columns": {want.Extra, is.Extra}, "orders": {want.Uses, is.Uses}, "trials": {want.Trials, is.Trials}} {
				if d := cmp.Diff(pair[0], pair[1], cmpopts.IgnoreUnexported(verdict.Column{}, verdict.Use{}), cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s of run %s: %s", what, run.ID, d)
				}
			}
		}
	}
}

// The latest finished run is found behind many that are not.
func TestRecommendFindsAnOldRun(t *testing.T) {
	a := years(t, 1, storetest.Shape{Candidates: 2, Rounds: 2, Phases: 14, Metrics: 1})
	st, err := a.Store()
	must.Do(t, err)
	defer st.Close()
	for i := range 105 {
		run, trials := storetest.Run(fmt.Sprintf("stopped-%03d", i), storetest.Shape{Candidates: 1, Rounds: 1, Phases: 1, Metrics: 1}, 1)
		run.State = result.Interrupted
		must.Do(t, st.Import(run, 1, trials))
	}
	runs, newer, err := Wish{}.chosen(st)
	must.Do(t, err)
	if len(runs) != 1 || runs[0].ID != "fill-00001" || len(newer) != 105 || newer[0].ID != "stopped-104" {
		t.Errorf("%d runs, and %d that are newer", len(runs), len(newer))
	}
}
