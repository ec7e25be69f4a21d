package verdict

import (
	"fmt"
	"math"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/result"
	"whichfs/internal/units"
)

// sumCell is the cell of cases together.
func sumCell(name string, counts map[string]int, missing []string, listed bool) FaultCell {
	c := FaultCell{Name: name, Counts: []OutcomeCount{}, Missing: missing}
	if ended(counts) > 0 {
		c.fill(counts, listed)
		return c
	}
	c.Absent = "the run has no such case"
	for i, text := range missing {
		_, why, _ := strings.Cut(text, ": ")
		if i > 0 && why != c.Absent {
			c.Absent = "none of its cases was judged"
			break
		}
		c.Absent = why
	}
	return c
}

// faultCell adds up the rounds of a case. A trial that failed later on counts
// with what it judged before; one that ended in the case has judged nothing
// there, and is told of: what was not looked at did not survive.
func faultCell(s *subject, c FaultCase) (FaultCell, map[string]int) {
	cell := FaultCell{Name: c.Name, Counts: []OutcomeCount{}}
	counts := map[string]int{}
	var reasons []string
	trials := lastAttempts(s.trials)
	for _, t := range trials {
		own := map[string]int{}
		why := ""
		if t.Outcome == result.Done || t.Outcome == result.SubjectFailed {
			own, why = caseOf(t, c.Name)
		}
		if own[fault.Tried] == 0 && ended(own) == 0 {
			reasons = append(reasons, unjudgedWhy(t, why))
			continue
		}
		add(counts, own)
	}
	n := ended(counts)
	if n == 0 {
		switch {
		case counts[fault.Tried] > 0:
			cell.Absent = fmt.Sprintf("%s, and the outcome of none was judged", units.Count(counts[fault.Tried], "iteration"))
		case len(reasons) > 0:
			cell.Absent = reasons[0]
		case s.Reason != "":
			cell.Absent = s.Reason
		default:
			cell.Absent = "it was not tried"
		}
		return cell, nil
	}
	cell.fill(counts, enumerated(c.Class))
	var notes []string
	if left := counts[fault.Tried] - n; left > 0 {
		notes = append(notes, fmt.Sprintf("%s without a known outcome not counted", units.Count(left, "iteration")))
	}
	if len(reasons) > 0 {
		notes = append(notes, fmt.Sprintf("nothing from %d of %s (%s)", len(reasons), units.Count(len(trials), "trial"), reasons[0]))
	}
	cell.Note = strings.Join(notes, "; ")
	return cell, counts
}

// unjudgedWhy says why a trial has no figure of a case.
func unjudgedWhy(t result.Trial, absent string) string {
	switch {
	case absent != "":
		return absent
	case t.Outcome == "":
		return "the trial never ended"
	case t.Outcome != result.Done:
		return outcomeReason(t)
	}
	return "it was not tried"
}

// caseOf reads the counts of a case from a trial.
func caseOf(t result.Trial, phase string) (counts map[string]int, absent string) {
	counts = map[string]int{}
	for _, m := range t.Measurements {
		if m.Phase != phase || !isFault(m.Metric) {
			continue
		}
		switch {
		case m.Absent != "":
			if m.Metric == fault.Tried {
				absent = m.Absent
			}
		case math.IsNaN(m.Value) || m.Value < 0 || m.Value > 1e12:
			if absent == "" {
				absent = fmt.Sprintf("%s was measured as %v", m.Metric, m.Value)
			}
		default:
			counts[m.Metric] = int(math.Round(m.Value))
		}
	}
	return counts, absent
}

// ended is how many iterations ended in an outcome that is known.
func ended(counts map[string]int) int {
	n := 0
	for _, o := range Outcomes {
		n += counts[fault.OutcomePrefix+o.Key]
	}
	return n
}

// fill works out a cell from its counts.
func (c *FaultCell) fill(counts map[string]int, listed bool) {
	c.Tried = ended(counts)
	lost, silent := 0, 0
	for _, o := range Outcomes {
		if n := counts[fault.OutcomePrefix+o.Key]; n > 0 {
			c.Counts = append(c.Counts, OutcomeCount{o.Key, n})
			if !o.Kept {
				lost += n
			}
			if o.Silent {
				silent += n
			}
		}
		if n := counts[fault.AfterPrefix+o.Key]; n > 0 {
			c.After = append(c.After, OutcomeCount{o.Key, n})
		}
	}
	c.Worst = c.Counts[0].Key
	c.Lost, c.Silent, c.Visible = rateOf(lost, c.Tried, listed), rateOf(silent, c.Tried, listed), rateOf(lost-silent, c.Tried, listed)
	c.Unnoticed = rateOf(silent, lost+counts[fault.OutcomePrefix+fault.Reported.Key()], listed)
	c.Mounted, c.Dirty, c.Clean = counts[fault.Mounted], counts[fault.CheckDirty], counts[fault.CheckClean]
	c.Replayed, c.Complained = counts[fault.Replayed], counts[fault.Complained]
	c.Promises, c.Broken = counts[fault.Promises], counts[fault.Broken]
	c.States, c.Equal = counts[fault.States], counts[fault.Equal]
}
