package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/stats"
)

// Reliability is what became of each candidate's data when power was cut,
// writes were corrupted, bits flipped, and in every crash state that was looked
// at. What was not judged is absent with its reason and never counts as kept.
type Reliability struct {
	Cases   []FaultCase `json:"cases"`   // in order of work
	Classes []string    `json:"classes"` // of these cases, in the order of FaultClasses
	// Rows are the candidates, least lost first; those without a case last.
	Rows []FaultRow `json:"rows"`
	// Pairs compare candidates within what was done to both, corrected for how
	// many pairs there are.
	Pairs []FaultPair `json:"pairs,omitempty"`
	// Answer says who keeps what was promised; Findings what else is to be known.
	// Both are whole sentences.
	Answer   string   `json:"answer"`
	Findings []string `json:"findings"`
	// Outcomes are those that occurred, worst first, each explained.
	Outcomes []FaultOutcome `json:"outcomes"`
	About    string         `json:"about"`
}

// FaultCase is one thing that was done to the candidates: a phase of the run.
type FaultCase struct {
	Name  string `json:"name"`
	Class string `json:"class"` // one of FaultClasses
}

// Classes of cases.
const (
	PowerCuts     = "power cuts"
	CrashStates   = "crash states"
	CorruptWrites = "corrupt writes"
	BitRot        = "bit rot"
	// CarelessPrograms are the crash states of programs that rely on more than is
	// promised: what is lost there breaks no promise of the filesystem.
	CarelessPrograms = "careless programs"
	OtherFaults      = "other faults"
)

// FaultClasses are all of them, in the order that reports show them.
var FaultClasses = []string{PowerCuts, CrashStates, CorruptWrites, BitRot, CarelessPrograms, OtherFaults}

// FaultRow is one candidate.
type FaultRow struct {
	Candidate string      `json:"candidate"`
	Cells     []FaultCell `json:"cells"` // one for each case
	Sums      []FaultCell `json:"sums"`  // one for each class: its cases together
	// Detection is the sum of the cases in which what is stored was changed behind
	// the filesystem's back: corrupted writes and bit rot. Writes that were
	// dropped or failed are not in it: nothing stored is wrong after these.
	Detection FaultCell `json:"detection"`
}

// FaultCell is how the iterations of a case, or of several, ended.
type FaultCell struct {
	// Name of the case or class.
	Name string `json:"name"`
	// Absent says why nothing was judged; all counts are 0 then.
	Absent string `json:"absent,omitempty"`
	// Missing are the cases of a sum that are not in it, with their reasons.
	Missing []string `json:"missing,omitempty"`
	// Note says what was tried and could not be judged.
	Note string `json:"note,omitempty"`

	Tried  int            `json:"tried"`           // iterations, or crash states, that were judged
	Counts []OutcomeCount `json:"counts"`          // worst first, those that occurred
	Worst  string         `json:"worst,omitempty"` // key of the worst outcome
	// Lost: not all that was promised could be had in the end.
	Lost Rate `json:"lost"`
	// Silent: part of them, in which reading told of nothing: wrong, zeroed,
	// truncated, or not there. Visible: the rest: an error, no mount, a hang.
	Silent  Rate `json:"silent"`
	Visible Rate `json:"visible"`
	// Unnoticed is Silent as a share of the iterations that show any damage:
	// those lost, and those in which the kernel reported errors.
	Unnoticed Rate `json:"unnoticed"`
	// After are the outcomes after the filesystem's own tool was let to repair, of
	// the iterations in which it was run.
	After      []OutcomeCount `json:"after_repair,omitempty"`
	Mounted    int            `json:"mounted"` // without repair
	Dirty      int            `json:"check_dirty"`
	Clean      int            `json:"check_clean"`
	Replayed   int            `json:"replayed"`   // the kernel told of a replay or recovery
	Complained int            `json:"complained"` // it told of errors
	Promises   int            `json:"promises"`   // single ones that were looked at
	Broken     int            `json:"broken"`     // of them
	States     int            `json:"states,omitempty"`
	Equal      int            `json:"states_equal,omitempty"` // further ones, equal to one of these
}

// Kept reports whether something was judged and all that was promised was there
// every time.
func (c FaultCell) Kept() bool { return c.Tried > 0 && c.Lost.Hits == 0 && c.Broken == 0 }

// OutcomeCount is how many iterations ended in an outcome, by its key.
type OutcomeCount struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

// Rate is how often something happened, with its exact 95 % limits; one-sided
// where it never or always happened.
type Rate struct {
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Listed: what was counted is no sample of anything (crash states, which are
	// enumerated), so that limits would mean nothing. Low and High are Value.
	Listed bool `json:"listed,omitempty"`
}

// rateOf makes a rate of counts that add up.
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

// Limits are what the count shows: "at most 1.3 %"; empty where there are none.
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

// Percent prints a share near 0 or 1 with the digits that tell it from them.
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

// FaultPair compares two candidates by how often they lost something, or did so
// silently, over the cases that both have.
type FaultPair struct {
	Class    string  `json:"class"` // PowerCuts, or "corruption" for what Detection sums up
	A        string  `json:"a"`
	B        string  `json:"b"`
	RateA    Rate    `json:"rate_a"`
	RateB    Rate    `json:"rate_b"`
	P        float64 `json:"p"`
	Adjusted float64 `json:"adjusted"` // after Holm's correction within the class
	// Settled: chance is ruled out. Otherwise they could be alike, or not.
	Settled bool `json:"settled"`
}

// Corruption is the class of pairs that are about what Detection sums up.
const Corruption = "corruption"

// FaultOutcome explains an outcome.
type FaultOutcome struct {
	Key string `json:"key"`
	// Letter stands for it where there is no room: lower case where all that was
	// promised is there.
	Letter string `json:"letter"`
	Kept   bool   `json:"kept"`
	Silent bool   `json:"silent"` // lost, and reading told of nothing
	About  string `json:"about"`  // a clause
}

// Outcomes are all that an iteration can end in, worst first.
var Outcomes = []FaultOutcome{
	{Key: fault.Died.Key(), Letter: "D", About: "the kernel gave up (panic, BUG, oops)"},
	{Key: fault.Hang.Key(), Letter: "H", About: "a call did not return"},
	{Key: fault.Unmountable.Key(), Letter: "U", About: "it does not mount, and its own tool, if it has one, does not help"},
	{Key: fault.Wrong.Key(), Letter: "W", Silent: true, About: "other bytes come back, without an error"},
	{Key: fault.IOError.Key(), Letter: "E", About: "reading ends in an error: the loss is reported"},
	{Key: fault.Lost.Key(), Letter: "L", Silent: true, About: "a file or name that was promised is not there"},
	{Key: fault.Zeroed.Key(), Letter: "Z", Silent: true, About: "zeros come back where there was something else, without an error"},
	{Key: fault.Truncated.Key(), Letter: "T", Silent: true, About: "a file is shorter than promised; what is there is right"},
	{Key: fault.NeedsCheck.Key(), Letter: "c", Kept: true, About: "it mounts only after its own tool repaired it, with everything that was promised"},
	{Key: fault.ReadOnly.Key(), Letter: "o", Kept: true, About: "everything promised is there, and nothing can be written any more"},
	{Key: fault.Reported.Key(), Letter: "s", Kept: true, About: "everything promised is there, and the kernel says that there are errors"},
	{Key: fault.Recovered.Key(), Letter: "r", Kept: true, About: "everything promised is there after a journal or log was replayed, or the kernel mended something by itself"},
	{Key: fault.Whole.Key(), Letter: "✓", Kept: true, About: "everything promised is there and right, and the kernel said nothing of damage"},
}

// OutcomeOf finds an outcome by its key.
func OutcomeOf(key string) (FaultOutcome, bool) {
	at := slices.IndexFunc(Outcomes, func(o FaultOutcome) bool { return o.Key == key })
	if at < 0 {
		return FaultOutcome{Key: key, Letter: "?", About: "an outcome that this version does not know"}, false
	}
	return Outcomes[at], true
}

// ClassOf sorts a case by the beginning of its name.
func ClassOf(name string) string {
	for _, c := range []struct{ prefix, class string }{
		{"cut", PowerCuts}, {"crash", CrashStates}, {"corrupt", CorruptWrites}, {"dropped", CorruptWrites}, {"failed", CorruptWrites}, {"rot", BitRot}, {"careless", CarelessPrograms},
	} {
		if strings.HasPrefix(name, c.prefix) {
			return c.class
		}
	}
	return OtherFaults
}

// enumerated says whether what a class counts is no sample: crash states.
func enumerated(class string) bool { return class == CrashStates || class == CarelessPrograms }

// changesStored says whether a case changes what is stored.
func changesStored(name string) bool {
	return strings.HasPrefix(name, "corrupt") || strings.HasPrefix(name, "rot")
}

const aboutReliability = "How the iterations of each case ended, worst first. " +
	"A count stands with its exact 95 % limits: none of 226 shows that it happens in at most 1.3 % of such iterations, none of 20 only that it does in at most 14 %. " +
	"Crash states are enumerated and no sample, so they have no limits. Careless programs rely on more than is promised: what they lose breaks no promise. What could not be judged is absent and counts as nothing. " +
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

// Sum finds the sum of a class; absent where the run has no such case.
func (r FaultRow) Sum(class string) FaultCell {
	for _, s := range r.Sums {
		if s.Name == class {
			return s
		}
	}
	return FaultCell{Name: class, Absent: "the run has no such case"}
}
