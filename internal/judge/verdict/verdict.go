// Package verdict turns the measurements of a run into an answer: estimates
// with intervals, ranks with their confidence, ties, grades, claims checked,
// and a recommendation with its reasons. It computes and prints nothing;
// reports print and compute nothing.
package verdict

import (
	"whichfs/internal/filesystem"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// Verdict is everything that a report says about a run.
type Verdict struct {
	Run result.Run `json:"run"`
	// Digest of all figures, where the run's clock makes them repeat bit by bit;
	// see result.Digest.
	Digest     string      `json:"digest,omitempty"`
	Candidates []Candidate `json:"candidates"` // in plan order
	Columns    []Column    `json:"columns"`    // the big picture and the observations table
	Extra      []Column    `json:"extra"`      // measures without a column in the published table
	Uses       []Use       `json:"uses"`       // read-write, read-only: best first
	Claims     []Claim     `json:"claims"`
	Tables     []Published `json:"published"`
	Phases     []Phase     `json:"phases"` // per-phase costs
	// Effects of the factors varied besides the candidates.
	Effects []Factor `json:"effects,omitempty"`
	// Kernels compare each further kernel with the first.
	Kernels []Kernel `json:"kernels,omitempty"`
	// Curves show growth along an axis, for factors whose levels are points.
	Curves []Curve `json:"curves,omitempty"`
	// Medium holds the effects of faults of the medium; nil where none were tried.
	Medium *Medium `json:"medium,omitempty"`
	// Reliability shows what survived faults; nil where the run has no case.
	Reliability *Reliability `json:"reliability,omitempty"`
	// Rounds are how far the rounds of each candidate lie apart, the least stable first.
	Rounds []Rounds `json:"rounds,omitempty"`
	// Room compares what statfs says with what fits; nil where the run has no such work.
	Room *Room `json:"room,omitempty"`
	// Numbers are published tables of figures, compared with ours; nil where the
	// study has none.
	Numbers *Numbers `json:"numbers,omitempty"`
	Choices []Choice `json:"choices,omitempty"`
	// Costs of each candidate over all phases; nil where none were measured.
	Costs *Costs `json:"costs,omitempty"`
	// Settling of a run that stops once its questions are settled.
	Settling *Settling `json:"settling,omitempty"`
	// Drift says which comparisons were adjusted for the raw work before each
	// trial.
	Drift *DriftUse `json:"drift,omitempty"`
	// Load of the machine meanwhile; nil where it was not observed, or changes no figure.
	Load *Load `json:"load,omitempty"`
	// Trends are the ratios used by claims about a whole series.
	Trends []Trend `json:"trends,omitempty"`
	// Cuts of the power in mid-write; nil where there were none.
	Cuts *Cuts `json:"cuts,omitempty"`
	// Wear of simulated or raw flash; nil on other storage.
	Wear     *Wear    `json:"wear,omitempty"`
	Trials   Trials   `json:"trials"`
	Warnings []string `json:"warnings"` // whole sentences, most serious first
	// Reach says what figures from this machine can and cannot show; empty when
	// they were measured on the machine itself.
	Reach string `json:"reach,omitempty"`
	// Study's title and source, for the head of the report.
	Title  string `json:"title"`
	Source string `json:"source"`
}

// Beside holds the inputs of a verdict besides the run's own figures.
type Beside struct {
	// Probe of the run's storage; nil: it was never probed.
	Probe *probe.Report
	// Daily is the number of bytes that the work writes a day, for the life of the
	// storage; 0: 10 GiB.
	Daily float64
}

// Candidate holds a candidate's results over the whole run.
type Candidate struct {
	Name     string               `json:"name"`
	Parsed   filesystem.Candidate `json:"-"` // as far as this build can parse it
	ReadOnly bool                 `json:"read_only"`
	// Imaged: its trials install the tree as an image, whether or not it could be
	// written; it takes part in the use "read-only".
	Imaged  bool            `json:"imaged,omitempty"`
	Done    int             `json:"done"`    // trials that count
	Outcome result.Outcome  `json:"outcome"` // Done if at least one trial counts
	Reason  string          `json:"reason,omitempty"`
	Hint    string          `json:"hint,omitempty"`
	Options []result.Option `json:"options,omitempty"`
	LeftOut []string        `json:"left_out,omitempty"` // "212 symbolic links: vfat cannot hold them"
	Checks  string          `json:"checks,omitempty"`   // findings of the check tool over all trials
}

// Interval is an estimate (geometric mean) with its 95 % interval. Low and High
// equal Value, and Single is set, when there is only one figure.
type Interval struct {
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
	Single bool    `json:"single,omitempty"`
}

// Column is one measure over all candidates.
type Column struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Cells []Cell `json:"cells"` // best first; candidates without a figure last
	// About says what the figure contains.
	About string `json:"about,omitempty"`
	// Uses in whose overall order the column counts.
	Uses []string `json:"uses,omitempty"`
	// RateUnit is the unit of the cells' rates: "B/s", or "/s" of whatever Per
	// counts; empty: there are none.
	RateUnit string `json:"rate_unit,omitempty"`
	Per      string `json:"per,omitempty"`
	// Additive: a figure of some round is 0 or below, so that candidates are compared
	// by differences; cells have no ratio and no grade.
	Additive bool `json:"additive,omitempty"`
	// Level: a larger figure is not worse; nothing is ranked or graded.
	Level bool `json:"level,omitempty"`
}

// Cell is one candidate's figure in a column.
type Cell struct {
	Candidate string   `json:"candidate"`
	Absent    string   `json:"absent,omitempty"` // why there is no figure
	Estimate  Interval `json:"estimate"`
	// Rate equivalent to the time, in the column's RateUnit; nil: none.
	Rate *Interval `json:"rate,omitempty"`
	// Ratio to the best of the column.
	Ratio Interval `json:"ratio"`
	// Difference from the best, in an additive column.
	Difference *Interval `json:"difference,omitempty"`
	// Possible ranks, after correction for multiple comparisons.
	RankLow  int `json:"rank_low"`
	RankHigh int `json:"rank_high"`
	// TiedWith lists candidates shown to be within the margin of this one.
	TiedWith []string `json:"tied_with,omitempty"`
	// Grade from Worst to Best; 0 without a figure, and in an additive column.
	Grade Grade `json:"grade"`
	// Waited is the share of its time for which it waited for other work of the machine, in the worst
	// round; 0: too little to mark the figure.
	Waited float64 `json:"waited,omitempty"`
}

// Grade presents the ratio to the best, and decides nothing.
type Grade int

// Grades in the source's words. Excellent is used for boot time only.
const (
	Worst Grade = iota + 1
	Bad
	Fair
	Average
	Good
	VeryGood
	Best
	Excellent
)

// String returns the grade in words.
func (g Grade) String() string {
	names := [...]string{"", "worst", "bad", "fair", "average", "good", "very good", "best", "excellent"}
	if g < 0 || int(g) >= len(names) {
		return ""
	}
	return names[g]
}

// Use is the answer for one use.
type Use struct {
	Name  string  `json:"name"` // "read-write", "read-only"
	Ranks []Place `json:"ranks"`
	// Answer is the recommendation in one sentence; Reasons are whole sentences.
	Answer    string   `json:"answer"`
	Settled   bool     `json:"settled"`
	Reasons   []string `json:"reasons"`
	Unsettled []string `json:"unsettled"` // each entry says how many more rounds would settle it
	// Needed is how many more rounds would settle all of them; 0: nothing is open, or no reasonable number would.
	Needed int `json:"rounds_needed,omitempty"`
	// Rule says how the overall order is computed.
	Rule string `json:"rule"`
}

// Place of a candidate in the overall order of a use.
type Place struct {
	Candidate string   `json:"candidate"`
	Score     Interval `json:"score"` // geometric mean of ratios to the best
	RankLow   int      `json:"rank_low"`
	RankHigh  int      `json:"rank_high"`
	TiedWith  []string `json:"tied_with,omitempty"`
}

// Claim is a published finding, checked.
type Claim struct {
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	Where   string  `json:"where"`
	Result  string  `json:"result"`  // "agrees", "shares", "disagrees", "undecided", "not tested"
	Figures string  `json:"figures"` // what was measured, or why it was not tested
	Tau     float64 `json:"tau,omitempty"`
	HasTau  bool    `json:"has_tau,omitempty"`
	// Elsewhere is the storage that the claim is about, where it is not the run's;
	// the claim is then not tested.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Contradicted is where the source contradicts itself; see study.Claim.
	Contradicted string `json:"contradicted,omitempty"`
	// Follows is what decides a decided claim on simulated storage, so that the
	// result says nothing about real storage; see study.Claim.
	Follows string `json:"follows,omitempty"`
	// DecidedBy is the command of the smallest run that can decide what this one
	// did not; empty: its scale can.
	DecidedBy string `json:"decided_by,omitempty"`
}

// Decided reports whether the claim was tested, and with a result.
func (c Claim) Decided() bool { return c.Result != Undecided && c.Result != NotTested }

// Results of a claim.
const (
	Agrees = "agrees"
	// Shares: the candidate that is said to be best or worst shares this place with
	// others that are equal within the margin.
	Shares    = "shares"
	Disagrees = "disagrees"
	Undecided = "undecided"
	NotTested = "not tested"
)

// Published is a published table, compared with ours.
type Published struct {
	Name    string         `json:"name"`
	Source  string         `json:"source"`
	Columns []string       `json:"columns"` // keys
	Names   []string       `json:"names"`   // printed names of the columns
	Rows    []PublishedRow `json:"rows"`
	// Taus per column; HasTau is false where too few rows have both.
	Taus []Tau `json:"taus"`
}

// PublishedRow holds their grade and ours per column.
type PublishedRow struct {
	Label     string   `json:"label"`
	Candidate string   `json:"candidate"`
	Theirs    []string `json:"theirs"`
	Ours      []string `json:"ours"`
}

// Tau is Kendall's tau-b of one column over N rows.
type Tau struct {
	Has   bool    `json:"has"`
	Value float64 `json:"value"`
	N     int     `json:"n"`
}

// Phase holds the costs of one phase for every candidate.
type Phase struct {
	Name  string      `json:"name"`
	Rows  []PhaseCost `json:"rows"`
	Bytes bool        `json:"bytes"` // the phase moves data: rates make sense
}

// PhaseCost is what one candidate's phase cost, each an estimate over trials.
// Absent figures say why.
type PhaseCost struct {
	Candidate string            `json:"candidate"`
	Figures   map[string]Figure `json:"figures"` // by metric
}

// Figure is an estimate or the reason why there is none. Figures that may be
// zero (flushes) are arithmetic means without an interval.
type Figure struct {
	Estimate Interval `json:"estimate"`
	Unit     string   `json:"unit"`
	Absent   string   `json:"absent,omitempty"`
}

// Trials counts what happened.
type Trials struct {
	Planned     int `json:"planned"`
	Done        int `json:"done"`
	Subject     int `json:"subject_failed"`
	Lab         int `json:"lab_failed"`  // after the second try
	Retried     int `json:"retried"`     // lab failures that a fresh guest cured
	Unsupported int `json:"unsupported"` // candidates, not trials
	Refused     int `json:"refused"`
	// Points are levels of an axis, or faults of the medium, at which a candidate
	// could not be made: a result, shown with the others.
	Points int `json:"points,omitempty"`
	// Overhead is the share of active wall time outside phases, 0..1.
	Overhead float64   `json:"overhead"`
	Active   float64   `json:"active"` // s
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one trial whose outcome is not Done.
type Failure struct {
	Candidate string         `json:"candidate"`
	Variant   string         `json:"variant,omitempty"` // level of a factor
	Round     int            `json:"round"`
	Attempt   int            `json:"attempt"`
	Outcome   result.Outcome `json:"outcome"`
	Phase     string         `json:"phase"`
	Reason    string         `json:"reason"`
	Hint      string         `json:"hint,omitempty"`
	Console   []string       `json:"console,omitempty"`
}
