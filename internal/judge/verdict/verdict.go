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
	Run        result.Run  `json:"run"`
	Candidates []Candidate `json:"candidates"` // in plan order
	Columns    []Column    `json:"columns"`    // the big picture and the observations table
	Extra      []Column    `json:"extra"`      // measures that the published table has no column for
	Uses       []Use       `json:"uses"`       // read-write, read-only: best first
	Claims     []Claim     `json:"claims"`
	Tables     []Published `json:"published"`
	Phases     []Phase     `json:"phases"` // per-phase costs
	// Effects of what was varied besides the candidates.
	Effects []Factor `json:"effects,omitempty"`
	// Curves are what grows along an axis: of factors whose levels are points.
	Curves []Curve `json:"curves,omitempty"`
	// Medium is what faults of the medium did; nil where none were tried.
	Medium *Medium `json:"medium,omitempty"`
	// Reliability is what survived faults; nil where the run has no case.
	Reliability *Reliability `json:"reliability,omitempty"`
	// Numbers are published tables of figures beside ours; nil where the study
	// has none.
	Numbers *Numbers `json:"numbers,omitempty"`
	Choices []Choice `json:"choices,omitempty"`
	// Costs of each candidate over all phases; nil where none were taken.
	Costs *Costs `json:"costs,omitempty"`
	// Settling of a run that was to stop when it knew enough.
	Settling *Settling `json:"settling,omitempty"`
	// Drift says what was compared by the raw work before each trial.
	Drift *DriftUse `json:"drift,omitempty"`
	// Trends are the ratios that claims about a whole series are made of.
	Trends []Trend `json:"trends,omitempty"`
	// Cuts of the power in mid-write; nil where there were none.
	Cuts *Cuts `json:"cuts,omitempty"`
	// Wear of simulated flash; nil where the storage was no such thing.
	Wear     *Wear    `json:"wear,omitempty"`
	Trials   Trials   `json:"trials"`
	Warnings []string `json:"warnings"` // whole sentences, most serious first
	// Reach says in one sentence what figures from this machine can and cannot
	// show; empty when the figures are of the machine itself.
	Reach string `json:"reach,omitempty"`
	// Study's title and source, for the head of the report.
	Title  string `json:"title"`
	Source string `json:"source"`
}

// Beside is what a verdict draws on besides the run's own figures.
type Beside struct {
	// Probe of the run's storage; nil: it was never probed.
	Probe *probe.Report
	// Daily is how many bytes of the work are written a day, for the life of
	// the storage; 0: 10 GiB.
	Daily float64
}

// Candidate as it fared over the whole run.
type Candidate struct {
	Name     string               `json:"name"`
	Parsed   filesystem.Candidate `json:"-"` // as far as this build knows it
	ReadOnly bool                 `json:"read_only"`
	// Imaged: its trials bring the tree as an image, whether or not it could be
	// written; it takes part in the use "read-only".
	Imaged  bool            `json:"imaged,omitempty"`
	Done    int             `json:"done"`    // trials that count
	Outcome result.Outcome  `json:"outcome"` // Done if at least one trial counts
	Reason  string          `json:"reason,omitempty"`
	Hint    string          `json:"hint,omitempty"`
	Options []result.Option `json:"options,omitempty"`
	LeftOut []string        `json:"left_out,omitempty"` // "212 symbolic links: vfat cannot hold them"
	Checks  string          `json:"checks,omitempty"`   // what the check tool said, over all trials
}

// Interval is an estimate (geometric mean) with its 95 % interval. Low and
// High are equal to Value, and Single is set, when there is one figure only.
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
	// Uses that the column counts for in the overall order.
	Uses []string `json:"uses,omitempty"`
	// RateUnit is what the cells' rates are in: "B/s", or "/s" of what Per
	// counts; empty: there are none.
	RateUnit string `json:"rate_unit,omitempty"`
	Per      string `json:"per,omitempty"`
	// Level: more is not worse, nothing is ranked or graded.
	Level bool `json:"level,omitempty"`
}

// Cell is one candidate's figure in a column.
type Cell struct {
	Candidate string   `json:"candidate"`
	Absent    string   `json:"absent,omitempty"` // why there is no figure
	Estimate  Interval `json:"estimate"`
	// Rate that the time amounts to, in the column's RateUnit; nil: none.
	Rate *Interval `json:"rate,omitempty"`
	// Ratio to the best of the column.
	Ratio Interval `json:"ratio"`
	// Ranks it could have, after correction for multiple comparisons.
	RankLow  int `json:"rank_low"`
	RankHigh int `json:"rank_high"`
	// TiedWith lists candidates shown to be within the margin of this one.
	TiedWith []string `json:"tied_with,omitempty"`
	// Grade from Worst to Best; 0 without a figure.
	Grade Grade `json:"grade"`
}

// Grade is a presentation of the ratio to the best, never a basis of decision.
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
	// Answer is the recommendation in one sentence, Reasons whole sentences.
	Answer    string   `json:"answer"`
	Settled   bool     `json:"settled"`
	Reasons   []string `json:"reasons"`
	Unsettled []string `json:"unsettled"` // each says how many more rounds would settle it
	// Rule says how the overall order is made.
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
	Result  string  `json:"result"`  // "agrees", "disagrees", "undecided", "not tested"
	Figures string  `json:"figures"` // what was measured, or why not tested
	Tau     float64 `json:"tau,omitempty"`
	HasTau  bool    `json:"has_tau,omitempty"`
	// Elsewhere is the storage that the claim is about, where that is not the
	// run's; it is not tested then.
	Elsewhere string `json:"elsewhere,omitempty"`
}

// Results of a claim.
const (
	Agrees    = "agrees"
	Disagrees = "disagrees"
	Undecided = "undecided"
	NotTested = "not tested"
)

// Published is a published table beside ours.
type Published struct {
	Name    string         `json:"name"`
	Source  string         `json:"source"`
	Columns []string       `json:"columns"` // keys
	Names   []string       `json:"names"`   // printed names of the columns
	Rows    []PublishedRow `json:"rows"`
	// Taus per column; HasTau false where too few rows have both.
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
// zero (flushes) are arithmetic means without interval.
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
	Retried     int `json:"retried"`     // lab failures that a fresh guest mended
	Unsupported int `json:"unsupported"` // candidates, not trials
	Refused     int `json:"refused"`
	// Points are levels of an axis or faults of the medium with which a candidate
	// could not be made: a result, told where the others are.
	Points int `json:"points,omitempty"`
	// Overhead is the share of active wall time outside phases, 0..1.
	Overhead float64   `json:"overhead"`
	Active   float64   `json:"active"` // s
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one trial that did not end as Done.
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
