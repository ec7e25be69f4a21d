package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Reliability shows what happened to each candidate's data after power loss,
// corrupted writes and bit flips, and in every crash state that was judged. A
// case that was not judged is absent with its reason and never counts as kept.
type Reliability struct {
	Cases   []FaultCase `json:"cases"`   // in order of work
	Classes []string    `json:"classes"` // the classes of these cases, in the order of FaultClasses
	// Rows are the candidates, fewest losses first; those without a case last.
	Rows []FaultRow `json:"rows"`
	// Pairs compares candidates over the cases that both have, corrected for the
	// number of pairs.
	Pairs []FaultPair `json:"pairs,omitempty"`
	// Answer says which candidates keep their promises; Findings are the other
	// results. Both are whole sentences.
	Answer   string   `json:"answer"`
	Findings []string `json:"findings"`
	// Outcomes are those that occurred, worst first, each explained.
	Outcomes []FaultOutcome `json:"outcomes"`
	About    string         `json:"about"`
}

// FaultCase is one kind of damage done to the candidates: a phase of the run.
type FaultCase struct {
	Name  string `json:"name"`
	Class string `json:"class"` // one of FaultClasses
	// Group and Short are, of CorruptBytes, what all cells of a table share, and
	// the rest of the name: "writes, a byte of each block", "0xff first".
	Group string `json:"group,omitempty"`
	Short string `json:"short,omitempty"`
	// stored: stored data was changed behind the filesystem's back.
	stored bool
}

// Classes of cases.
const (
	PowerCuts     = "power cuts"
	CrashStates   = "crash states"
	CorruptWrites = "corrupt writes"
	BitRot        = "bit rot"
	// CarelessPrograms are the crash states of programs that rely on more than is
	// promised: a loss there breaks no promise of the filesystem.
	CarelessPrograms = "careless programs"
	// ProcessorResets leave the storage its power: all that was sent to it is there.
	ProcessorResets   = "processor resets"
	UnreadableSectors = "unreadable sectors"
	// CorruptBytes is the matrix of corruption: writes or reads, by which byte,
	// where, in each request or each block.
	CorruptBytes = "corrupt bytes"
	OtherFaults  = "other faults"
)

// whatIsDone maps damage to storage, by kind of work and its Fault (none: any
// other), to the class of its cases.
var whatIsDone = []struct {
	work, fault string
	class       string
	stored      bool // changes stored data
}{
	{fault.PowerCut, fault.Kill, ProcessorResets, false},
	{fault.PowerCut, "", PowerCuts, false},
	{fault.FlakyWrites, fault.CorruptAfter, CorruptWrites, true},
	{fault.FlakyWrites, fault.CorruptInTurn, CorruptWrites, true},
	{fault.FlakyWrites, fault.CorruptEither, CorruptBytes, false},
	{fault.FlakyWrites, "", CorruptWrites, false},
	{fault.FlakyReads, "", CorruptBytes, false},
	{fault.BadSectors, "", UnreadableSectors, false},
	{fault.BitRot, "", BitRot, true},
	{fault.CrashStates, fault.Careless, CarelessPrograms, false},
	{fault.CrashStates, "", CrashStates, false},
}

// caseOfStep returns the case of a step; ok is false for work that does no
// damage.
func caseOfStep(step scenario.Step) (c FaultCase, ok bool) {
	for _, w := range whatIsDone {
		if w.work == step.Work && (w.fault == step.Fault || w.fault == "") {
			c := FaultCase{Name: step.Phase, Class: w.class, stored: w.stored}
			if c.Class == CorruptBytes {
				c.Group, c.Short = spotWords(step)
			}
			return c, true
		}
	}
	return FaultCase{Name: step.Phase, Class: OtherFaults}, false
}

// spotWords describe a step of the matrix of corruption.
func spotWords(step scenario.Step) (group, short string) {
	group, unit, place := "reads", "request", "first"
	if step.Work == fault.FlakyWrites {
		group = "writes"
	}
	if step.Block > 0 {
		unit = "block"
	}
	if step.Order == scenario.OrderRandom {
		place = "elsewhere"
	}
	return group + ", a byte of each " + unit, cmp.Or(step.Byte, fault.ByteZero) + " " + place
}

// FaultClasses are all of them, in the order that reports show them.
var FaultClasses = []string{PowerCuts, ProcessorResets, CrashStates, CorruptWrites, CorruptBytes, BitRot, UnreadableSectors, CarelessPrograms, OtherFaults}

// FaultRow is one candidate.
type FaultRow struct {
	Candidate string      `json:"candidate"`
	Cells     []FaultCell `json:"cells"` // one for each case
	Sums      []FaultCell `json:"sums"`  // one for each class: its cases together
	// Detection is the sum of the cases in which stored data was changed behind
	// the filesystem's back: corrupted writes and bit rot. It excludes dropped and
	// failed writes, which leave no wrong data on storage.
	Detection FaultCell `json:"detection"`
}

// FaultCell is how the iterations of a case, or of several, ended.
type FaultCell struct {
	// Name of the case or class.
	Name string `json:"name"`
	// Absent says why nothing was judged; all counts are then 0.
	Absent string `json:"absent,omitempty"`
	// Missing lists the cases left out of a sum, with their reasons.
	Missing []string `json:"missing,omitempty"`
	// Note says what was tried but could not be judged.
	Note string `json:"note,omitempty"`

	Tried  int            `json:"tried"`           // iterations, or crash states, that were judged
	Counts []OutcomeCount `json:"counts"`          // those that occurred, worst first
	Worst  string         `json:"worst,omitempty"` // key of the worst outcome
	// Lost: some promised data was not available in the end.
	Lost Rate `json:"lost"`
	// Silent: those of Lost in which reading returned no error: the data was
	// wrong, zeroed, truncated or missing. Visible: the others: an error, a failed
	// mount, a hang.
	Silent  Rate `json:"silent"`
	Visible Rate `json:"visible"`
	// Unnoticed is Silent as a share of the iterations that show any damage:
	// those lost, and those in which the kernel reported errors.
	Unnoticed Rate `json:"unnoticed"`
	// After are the outcomes after a repair with the filesystem's own tool, of the
	// iterations in which it ran.
	After      []OutcomeCount `json:"after_repair,omitempty"`
	Mounted    int            `json:"mounted"` // without repair
	Dirty      int            `json:"check_dirty"`
	Clean      int            `json:"check_clean"`
	Replayed   int            `json:"replayed"`   // the kernel reported a replay or recovery
	Complained int            `json:"complained"` // it reported errors
	Promises   int            `json:"promises"`   // single ones that were judged
	Broken     int            `json:"broken"`     // of them
	States     int            `json:"states,omitempty"`
	Equal      int            `json:"states_equal,omitempty"` // further ones, equal to one of these
	// Mount is the time of the first mount after the fault, before any repair; nil
	// for sums, crash states, and where none succeeded.
	Mount *MountTime `json:"mount,omitempty"`
}

// MountTime is over several mounts, in seconds. Over several rounds the median
// is that of their medians.
type MountTime struct {
	Median  float64 `json:"median"`
	Longest float64 `json:"longest"`
}

// Kept reports whether at least one iteration was judged and every promise was
// kept every time.
func (c FaultCell) Kept() bool { return c.Tried > 0 && c.Lost.Hits == 0 && c.Broken == 0 }

// OutcomeCount is how many iterations ended in an outcome, by its key.
type OutcomeCount struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

// Rate is how often an event happened, with its exact 95 % limits, which are
// one-sided where it never or always happened.
type Rate struct {
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Listed: the counted items are not a sample (crash states are enumerated), so
	// limits would be meaningless. Low and High equal Value.
	Listed bool `json:"listed,omitempty"`
}

// rateOf makes a rate of consistent counts.
func rateOf(hits, of int, listed bool) Rate {
	r := Rate{Hits: hits, Of: of, Listed: listed}
	p, err := stats.Binomial(hits, of)
	if err != nil {
		return Rate{Listed: listed} // nothing was tried
	}
	r.Value, r.Low, r.High = p.Value, p.Low, p.High
	if listed {
		r.Low, r.High = r.Value, r.Value
	}
	return r
}

// Count is the rate without limits: "3 of 226".
func (r Rate) Count() string { return fmt.Sprintf("%d of %d", r.Hits, r.Of) }

// Limits are the bounds that the count shows: "at most 1.3 %"; empty where
// there are none.
func (r Rate) Limits() string {
	switch {
	case r.Of == 0 || r.Listed:
		return ""
	case r.Hits == 0:
		return "at most " + Percent(r.High)
	case r.Hits == r.Of:
		return "at least " + Percent(r.Low)
	}
	return fmt.Sprintf("%s to %s", Percent(r.Low), Percent(r.High))
}

// String is the rate with its limits: "0 of 226: at most 1.3 %".
func (r Rate) String() string {
	switch limits := r.Limits(); {
	case r.Of == 0:
		return "–"
	case limits == "":
		return r.Count()
	default:
		return r.Count() + ": " + limits
	}
}

// Percent prints a share with enough digits to tell it from 0 and 1.
func Percent(share float64) string {
	decimals, p := 0, 100*share
	switch {
	case p == 0 || p == 100:
	case p < 0.095 || p > 99.905:
		decimals = 2
	case p < 9.95 || p > 90.05:
		decimals = 1
	}
	return strconv.FormatFloat(p, 'f', decimals, 64) + " %"
}

// FaultPair compares how often two candidates lost data, or lost it silently,
// over the cases that both have.
type FaultPair struct {
	Class    string  `json:"class"` // PowerCuts, or "corruption" for the cases of Detection
	A        string  `json:"a"`
	B        string  `json:"b"`
	RateA    Rate    `json:"rate_a"`
	RateB    Rate    `json:"rate_b"`
	P        float64 `json:"p"`
	Adjusted float64 `json:"adjusted"` // after Holm's correction within the class
	// Settled: chance is ruled out. Otherwise the two may or may not differ.
	Settled bool `json:"settled"`
}

// Corruption is the class of pairs over the cases of Detection.
const Corruption = "corruption"

// FaultOutcome explains an outcome, as fault.Outcome does.
type FaultOutcome struct {
	Key    string `json:"key"`
	Letter string `json:"letter"`
	Kept   bool   `json:"kept"`
	Silent bool   `json:"silent"`
	About  string `json:"about"`
}

func explained(o fault.Outcome) FaultOutcome {
	return FaultOutcome{Key: o.Key(), Letter: o.Letter(), Kept: o.Kept(), Silent: o.Silent(), About: o.About()}
}

// enumerated reports whether a class counts items that are not a sample: crash
// states.
func enumerated(class string) bool { return class == CrashStates || class == CarelessPrograms }

const aboutReliability = "How the iterations of each case ended, worst first. " +
	"Each count has exact 95 % limits: none of 226 shows that the outcome occurs in at most 1.3 % of such iterations, none of 20 shows only at most 14 %. " +
	"Crash states are enumerated rather than sampled, so they have no limits. Careless programs rely on more than is promised: their losses break no promise. Iterations that could not be judged are left out. " +
	"Candidates are ranked by what was lost, not by speed."

// Row finds a candidate.
func (r *Reliability) Row(candidate string) (FaultRow, bool) {
	if r != nil {
		for _, row := range r.Rows {
			if row.Candidate == candidate {
				return row, true
			}
		}
	}
	return FaultRow{}, false
}

// Sum finds the sum of a class, absent where the run has no such case.
func (r FaultRow) Sum(class string) FaultCell {
	for _, s := range r.Sums {
		if s.Name == class {
			return s
		}
	}
	return FaultCell{Name: class, Absent: "the run has no such case"}
}

// isFault reports whether a metric belongs to a case.
func isFault(metric string) bool { return strings.HasPrefix(metric, "fault.") }

// ownCases are the phases of the run that are cases: those that a trial judged
// and those that its plan declares.
func (f *figures) ownCases() []FaultCase {
	cases := map[string]FaultCase{}
	for _, step := range slices.Concat(f.scenario(true), f.scenario(false)) {
		if c, ok := caseOfStep(step); ok && step.Phase != "" {
			cases[step.Phase] = c
		}
	}
	order := f.phases()
	measured := false
	for _, s := range f.subjects {
		for _, t := range s.trials {
			for _, m := range t.Measurements {
				if !slices.Contains(order, m.Phase) {
					order = append(order, m.Phase)
				}
				if m.Metric != fault.Tried {
					continue
				}
				measured = true
				if _, meant := cases[m.Phase]; !meant {
					cases[m.Phase] = FaultCase{Name: m.Phase, Class: OtherFaults}
				}
			}
		}
	}
	if !measured && f.ranks() {
		return nil // optional in a study of speed, and no trial reached it
	}
	var out []FaultCase
	for _, phase := range order {
		if c, ok := cases[phase]; ok {
			out = append(out, c)
		}
	}
	return out
}

// FaultsOnly reports whether a study shows only what survives and ranks nothing
// by speed.
func FaultsOnly(st study.Study) bool {
	if st.Scenario == nil || slices.ContainsFunc(st.Columns, func(c study.Column) bool { return len(c.Uses) > 0 }) {
		return false
	}
	return slices.ContainsFunc(st.Scenario(false, st.Scales["quick"]), func(step scenario.Step) bool {
		k, _ := scenario.KindOf(step.Work)
		return k.Damages && !k.Prepares
	})
}

// untimed reports whether the study has no order by measures, and counts outcomes in its place: of
// faults, or of what was tried.
func (f *figures) untimed() bool { return (f.survival != nil || f.study.Untimed) && !f.ranks() }

// ranks reports whether the study orders its candidates by measures.
func (f *figures) ranks() bool {
	for _, c := range f.study.Columns {
		if len(c.Uses) > 0 {
			return true
		}
	}
	return false
}

// reliability collects the effects of faults; nil where the run has no case.
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
	for _, o := range slices.Backward(fault.Outcomes) {
		if seen[o.Key()] {
			r.Outcomes = append(r.Outcomes, explained(o))
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
			if c.stored {
				unjudged = append(unjudged, c.Name+": "+cell.Absent)
			}
			continue
		}
		if sums[c.Class] == nil {
			sums[c.Class] = map[string]int{}
		}
		add(sums[c.Class], counts)
		if c.stored {
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

// byLoss orders rows by losses after power cuts, then in crash states, then
// silently after corruption, then after any fault. Within each, candidates that
// were not judged come after those that were.
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
	_, ok := f.survival.Case(phase)
	return ok
}

// Case finds a case by its name.
func (r *Reliability) Case(name string) (FaultCase, bool) {
	if r != nil {
		for _, c := range r.Cases {
			if c.Name == name {
				return c, true
			}
		}
	}
	return FaultCase{}, false
}

// sumCell is the sum of several cases.
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

// faultCell adds up the rounds of a case. A trial that failed later counts with
// the cases it finished; a trial that ended during the case has judged nothing
// there, which is noted: survival is shown only by what was judged.
func faultCell(s *subject, c FaultCase) (FaultCell, map[string]int) {
	cell := FaultCell{Name: c.Name, Counts: []OutcomeCount{}}
	counts := map[string]int{}
	var reasons []string
	trials := perRound(s.trials)
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
			cell.Absent = fmt.Sprintf("%s, none with a known outcome", units.Count(counts[fault.Tried], "iteration"))
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
	cell.Mount = s.mountTime(c.Name)
	var notes []string
	if left := counts[fault.Tried] - n; left > 0 {
		notes = append(notes, fmt.Sprintf("%s without a known outcome left out", units.Count(left, "iteration")))
	}
	if len(reasons) > 0 {
		notes = append(notes, fmt.Sprintf("nothing from %d of %s (%s)", len(reasons), units.Count(len(trials), "trial"), reasons[0]))
	}
	cell.Note = strings.Join(notes, "; ")
	return cell, counts
}

// mountTime is that of a case.
func (s *subject) mountTime(phase string) *MountTime {
	median, longest := s.figures[key{phase, fault.MountMedian}], s.figures[key{phase, fault.MountLongest}]
	if median == nil || longest == nil || len(median.values) == 0 || len(longest.values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(median.values))
	n := len(sorted)
	return &MountTime{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Longest: slices.Max(longest.values)}
}

// unjudgedWhy says why a trial has no figure for a case.
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
	for _, o := range fault.Outcomes {
		n += counts[fault.OutcomePrefix+o.Key()]
	}
	return n
}

// fill computes a cell from its counts.
func (c *FaultCell) fill(counts map[string]int, listed bool) {
	c.Tried = ended(counts)
	lost, silent := 0, 0
	for _, o := range slices.Backward(fault.Outcomes) {
		if n := counts[fault.OutcomePrefix+o.Key()]; n > 0 {
			c.Counts = append(c.Counts, OutcomeCount{o.Key(), n})
			if !o.Kept() {
				lost += n
			}
			if o.Silent() {
				silent += n
			}
		}
		if n := counts[fault.AfterPrefix+o.Key()]; n > 0 {
			c.After = append(c.After, OutcomeCount{o.Key(), n})
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

// pairs compares all candidates that were judged in the same cases.
func (r *Reliability) pairs() ([]FaultPair, error) {
	var out []FaultPair
	for _, class := range []string{PowerCuts, Corruption} {
		counts := func(c FaultCase) bool {
			if class == Corruption {
				return c.stored
			}
			return c.Class == class
		}
		hits := func(c FaultCell) int {
			if class == Corruption {
				return c.Silent.Hits
			}
			return c.Lost.Hits
		}
		var family []FaultPair
		var ps []float64
		for i, a := range r.Rows {
			for _, b := range r.Rows[i+1:] {
				var tables []stats.Fourfold
				var sum stats.Fourfold
				for k, c := range r.Cases {
					x, y := a.Cells[k], b.Cells[k]
					if !counts(c) || x.Tried == 0 || y.Tried == 0 {
						continue
					}
					t := stats.Fourfold{HitsA: hits(x), NA: x.Tried, HitsB: hits(y), NB: y.Tried}
					tables = append(tables, t)
					sum = stats.Fourfold{HitsA: sum.HitsA + t.HitsA, NA: sum.NA + t.NA, HitsB: sum.HitsB + t.HitsB, NB: sum.NB + t.NB}
				}
				if len(tables) == 0 {
					continue
				}
				p, err := stats.Exact(tables)
				if err != nil {
					return nil, fmt.Errorf("%s, %s against %s: %w", class, a.Candidate, b.Candidate, err)
				}
				family = append(family, FaultPair{Class: class, A: a.Candidate, B: b.Candidate, P: p,
					RateA: rateOf(sum.HitsA, sum.NA, false), RateB: rateOf(sum.HitsB, sum.NB, false)})
				ps = append(ps, p)
			}
		}
		for k, q := range stats.Holm(ps) {
			family[k].Adjusted, family[k].Settled = q, q < stats.Alpha
		}
		out = append(out, family...)
	}
	return out, nil
}
