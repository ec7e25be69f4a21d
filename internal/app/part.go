package app

import (
	"fmt"
	"strings"

	"whichfs/internal/host/experiment"
	"whichfs/internal/result"
)

// part is the store of one job: other workers write to the run as well.
type part struct {
	d    *duty
	job  int64
	keep map[int]result.Trial // trials by place, instead of storing them; nil: store them

	conditions, notes int // that the run had when it was merged
}

func (s *part) BeginTrial(string, result.Trial) (int64, error) { return 0, nil } // it is stored when it has ended

func (s *part) FinishTrial(t result.Trial) error {
	t.Worker = s.d.w.self.Name
	if s.keep != nil {
		s.keep[t.Place] = t
		return nil
	}
	if err := s.d.w.store.AddTrial(s.d.run.ID, t, s.job); err != nil {
		return err
	}
	text := fmt.Sprintf("run %s: round %d  %s  %.1f s", s.d.run.ID, t.Round, t.Named(), t.Ended.Sub(t.Started).Seconds())
	if t.Outcome != result.Done {
		text += fmt.Sprintf("  %s in %s: %s", t.Outcome, t.Phase, strings.Join(strings.Fields(t.Reason), " "))
	}
	s.d.w.app.Note(text)
	return nil
}

func (s *part) UpdateRun(r result.Run) error {
	if s.keep != nil || len(r.Conditions) == max(s.conditions, len(s.d.run.Conditions)) && len(r.Notes) == max(s.notes, len(s.d.run.Notes)) {
		return nil
	}
	there, err := s.d.w.store.MergeRun(r)
	if err != nil {
		return err
	}
	s.conditions, s.notes = len(r.Conditions), len(r.Notes)
	return experiment.Conflict(there, r.Conditions)
}

func (s *part) SetSupport(run string, list []result.Support) error {
	lacks := "all"
	if len(list) > 0 {
		var names []string
		for _, c := range list {
			names = append(names, c.Candidate)
		}
		lacks = "all but " + strings.Join(names, "; ")
	}
	// Workers must agree on it, or some rounds would have candidates that others lack.
	can := []result.Condition{{Group: "run", Name: "candidates that can run", Value: lacks, Matters: true}}
	there, err := s.d.w.store.MergeRun(result.Run{ID: run, Conditions: can})
	if err == nil {
		err = experiment.Conflict(there, can)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	return s.d.w.store.SetSupport(run, list)
}

func (s *part) Trials(run string) ([]result.Trial, error) { return s.d.w.store.Trials(run) }
