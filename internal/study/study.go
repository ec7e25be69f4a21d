// Package study holds the published comparisons: what they ran, what they
// published, and what they claimed. A study is data: candidates, scenarios,
// data sets, tables and claims, one file per study, one explicit list (all.go).
package study

import "whichfs/internal/scenario"

// Study is one published comparison.
type Study struct {
	Name   string // "bootlin-2023"
	Title  string
	Source string // author, title, venue, year
	Scales map[string]Scale
	// Scenarios by the use that they are for. A read-only filesystem gets
	// "read-only", the others "read-write".
	Scenario func(readOnly bool, s Scale) scenario.Scenario
	Columns  []Column
	Tables   []Table
	Claims   []Claim
}

// Scale is a size of the study: "quick" or "full".
type Scale struct {
	Candidates []string
	Rounds     int
	Copies     int     // of the tree and of the stream
	Stream     int64   // B, size of one stream
	Tree       string  // name of the tree data set: "debian-armhf-part"
	Storage    string  // default storage in the lab: "sim:sd-basic,1G"
	RAM        string  // default storage with the clock that counts instructions: "ram:512M"
	StepLimit  float64 // s, after which a step is given up
}

// Column is one column of the observations table: which figures make it, and
// how. Smaller is better in every column.
type Column struct {
	Name string // "Boot time"
	Key  string // "boot"
	Unit string // "s", "B"
	// Terms are added up; a candidate that lacks one has no value here.
	Terms []Term
	// Uses that the column counts for in the overall order: "read-write",
	// "read-only". None: it is shown and not counted.
	Uses []string
	// About says in one sentence what the figure contains.
	About string
	// Extra columns are ours: the published table has no such column.
	Extra bool
}

// Term is one measurement: phase and metric.
type Term struct{ Phase, Metric string }

// Table is a published table: a row per filesystem, a column per measure.
type Table struct {
	Name, Source string
	// Rows map the published row to the candidate that stands for it.
	Rows []Row
	// Scale orders the grades, worst first.
	Scale   []string
	Columns []string // keys of study columns, in published order
}

// Row holds the published grade per column; "" where the table is empty.
type Row struct {
	Label     string
	Candidate string
	Grades    []string
}

// Claim is one published finding in a form that can be checked.
type Claim struct {
	ID   string
	Text string // in our words
	// Where it stands in the source.
	Where string
	Check Check
}

// Check is how a claim is tested; exactly one field is set.
type Check struct {
	// Order: the published column as rank correlation.
	Order *OrderCheck
	// Best: Candidate has the smallest value of Column among Among (empty: all
	// candidates of the table).
	Best *BestCheck
	// Ratio: value(A)/value(B) in Column lies within [Low, High].
	Ratio *RatioCheck
	// Finding: a probe of the bare storage found this.
	Finding *FindingCheck
	// Untested: why the claim cannot be tested yet.
	Untested string
}

// OrderCheck compares the grades of a column with the measured order.
type OrderCheck struct{ Column string }

// BestCheck claims the best, or with Worst the worst, place.
type BestCheck struct {
	Column    string
	Candidate string
	Among     []string
	Worst     bool
	// Times names a second column: the claim is about the product of the two
	// (a compromise between them). Empty: Column alone.
	Times string
}

// RatioCheck claims a ratio between two candidates, or the extremes over
// several B (every one must satisfy it). High 0 means no upper limit.
type RatioCheck struct {
	Column    string
	A         string
	B         []string
	Low, High float64
}

// FindingCheck claims that a finding of a probe (its Key) lies within [Low,
// High], in its base unit, or that its text begins with Text. High 0 means no
// upper limit, unless Zero says that nothing but 0 will do.
type FindingCheck struct {
	Key       string
	Low, High float64
	Zero      bool
	Text      string
	// Of is the key of a finding that the value is divided by; "": none.
	Of string
}
