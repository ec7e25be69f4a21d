package verdict

import (
	"cmp"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/study"
)

// isFault reports whether a metric belongs to a case.
func isFault(metric string) bool { return strings.HasPrefix(metric, "fault.") }

// ownCases are the phases that the run has as cases: those that a trial judged,
// and those that the study means to be some.
func (f *figures) ownCases() []FaultCase {
	meant := map[string]bool{}
	for _, imaged := range []bool{false, true} {
		for phase, work := range f.works(imaged) {
			meant[phase] = work.Damages
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
	return st.Scenario(false, st.Scales["quick"]).Damages()
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
		row.Sums = append(row.Sums, sumCell(class, sums[class], missing[class], enumerated(class)))
	}
	row.Detection = sumCell(Corruption, all, unjudged, false)
	return row
}

func add(into, counts map[string]int) {
	for k, n := range counts {
		into[k] += n
	}
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
