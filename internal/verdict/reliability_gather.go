package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/study"
	"whichfs/internal/units"
)

// faultWork are the kinds of work whose phases are cases.
var faultWork = []string{"power-cut", "flaky-writes", "bit-rot", "crash-states"}

// isFault reports whether a metric belongs to a case.
func isFault(metric string) bool { return strings.HasPrefix(metric, "fault.") }

// ownCases are the phases that the run has as cases: those that a trial judged,
// and those that the study means to be some.
func (f *figures) ownCases() []FaultCase {
	meant := map[string]bool{}
	for _, imaged := range []bool{false, true} {
		for phase, work := range f.works(imaged) {
			meant[phase] = slices.Contains(faultWork, work)
		}
	}
	measured := false
	for _, s := range f.subjects {
		for _, t := range s.trials {
			for _, m := range t.Measurements {
				if m.Metric == fault.Tried {
					meant[m.Phase], measured = true, true
				}
			}
		}
	}
	if !measured && f.ranks() {
		return nil // an aside of a study of speed, and nobody came to it
	}
	var out []FaultCase
	order := f.phases()
	for _, s := range f.subjects {
		for _, t := range s.trials {
			for _, m := range t.Measurements {
				if !slices.Contains(order, m.Phase) {
					order = append(order, m.Phase)
				}
			}
		}
	}
	for _, phase := range order {
		if meant[phase] {
			out = append(out, FaultCase{phase, ClassOf(phase)})
		}
	}
	return out
}

// FaultsOnly reports whether a study shows what survives and orders nothing by
// speed.
func FaultsOnly(st study.Study) bool {
	if st.Scenario == nil || slices.ContainsFunc(st.Columns, func(c study.Column) bool { return len(c.Uses) > 0 }) {
		return false
	}
	return slices.ContainsFunc(st.Scenario(false, st.Scales["quick"]), func(s scenario.Step) bool { return s.Phase != "" && slices.Contains(faultWork, s.Work) })
}

// ranks reports whether the study orders its candidates by measures.
func (f *figures) ranks() bool {
	for _, c := range f.study.Columns {
		if len(c.Uses) > 0 {
			return true
		}
	}
	return false
}

// reliability gathers what faults did; nil where the run has no case.
func (f *figures) reliability() (*Reliability, error) {
	r := &Reliability{Cases: f.ownCases(), About: aboutReliability, Findings: []string{}}
	if len(r.Cases) == 0 {
		return nil, nil
	}
	for _, class := range FaultClasses {
		if slices.ContainsFunc(r.Cases, func(c FaultCase) bool { return c.Class == class }) {
			r.Classes = append(r.Classes, class)
		}
	}
	f.faults = map[string]map[string]map[string]int{}
	for _, s := range f.subjects {
		r.Rows = append(r.Rows, f.faultRow(s, r))
	}
	slices.SortStableFunc(r.Rows, byLoss)
	seen := map[string]bool{}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			for _, n := range slices.Concat(c.Counts, c.After) {
				seen[n.Key] = true
			}
		}
	}
	for _, o := range Outcomes {
		if seen[o.Key] {
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	var err error
	if r.Pairs, err = r.pairs(); err != nil {
		return nil, err
	}
	r.Answer, r.Findings = r.words()
	return r, nil
}

func (f *figures) faultRow(s *subject, r *Reliability) FaultRow {
	row := FaultRow{Candidate: s.Name}
	f.faults[s.Name] = map[string]map[string]int{}
	sums, all := map[string]map[string]int{}, map[string]int{}
	missing := map[string][]string{}
	var unjudged []string
	for _, c := range r.Cases {
		cell, counts := faultCell(s, c)
		row.Cells = append(row.Cells, cell)
		f.faults[s.Name][c.Name] = counts
		if cell.Absent != "" {
			missing[c.Class] = append(missing[c.Class], c.Name+": "+cell.Absent)
			if changesStored(c.Name) {
				unjudged = append(unjudged, c.Name+": "+cell.Absent)
			}
			continue
		}
		if sums[c.Class] == nil {
			sums[c.Class] = map[string]int{}
		}
		add(sums[c.Class], counts)
		if changesStored(c.Name) {
			add(all, counts)
		}
	}
	for _, class := range r.Classes {
		row.Sums = append(row.Sums, sumCell(class, sums[class], missing[class], class == CrashStates))
	}
	row.Detection = sumCell(Corruption, all, unjudged, false)
	return row
}

func add(into, counts map[string]int) {
	for k, n := range counts {
		into[k] += n
	}
}

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
	cell.fill(counts, c.Class == CrashStates)
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

// byLoss orders rows: what was lost after power cuts, then in crash states, then
// silently after corruption, then after any fault. Who was not judged in one of
// them stands behind who was.
func byLoss(a, b FaultRow) int {
	key := func(r FaultRow) []float64 {
		share := func(c FaultCell, x Rate) float64 {
			if c.Tried == 0 {
				return 2
			}
			return x.Value
		}
		cuts, states := r.Sum(PowerCuts), r.Sum(CrashStates)
		out := []float64{share(cuts, cuts.Lost), share(states, states.Lost), share(r.Detection, r.Detection.Silent)}
		for _, s := range r.Sums {
			out = append(out, share(s, s.Lost))
		}
		return out
	}
	return slices.CompareFunc(key(a), key(b), func(x, y float64) int { return cmp.Compare(x, y) })
}

// isCase reports whether a phase is a case of this run.
func (f *figures) isCase(phase string) bool {
	return f.survival != nil && slices.ContainsFunc(f.survival.Cases, func(c FaultCase) bool { return c.Name == phase })
}
