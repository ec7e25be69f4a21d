// Package study holds the published comparisons: what they ran, what they
// published, and what they claimed. A study is data: candidates, scenarios,
// data sets, tables and claims, one file per study, one explicit list (all.go).
package study

import "whichfs/internal/plan/scenario"

// Study is one published comparison.
type Study struct {
	Name   string // "bootlin-2023"
	Title  string
	Source string // author, title, venue, year
	Scales map[string]Scale
	// Storages are the kinds of storage that it was made on, as the lab has
	// them. More than one: a run of the study is a series, a run on each.
	Storages []Storage
	// Untimed studies take no times: their figures are counts of what became of
	// something, so that trials may share the processors of a host.
	Untimed bool
	// Scenarios by the use that they are for. A read-only filesystem gets
	// "read-only", the others "read-write".
	Scenario func(readOnly bool, s Scale) scenario.Scenario
	// Factors are varied besides the candidates, on this storage; nil: none.
	Factors func(s Scale, on Storage) []scenario.Factor
	Columns []Column
	Tables  []Table   // of grades
	Numbers []Numbers // of figures
	Choices []Choice
	Claims  []Claim
}

// Storage is a kind of storage that a study was made on.
type Storage struct {
	Key   string // "sdxc-64g", unlike any other of the study
	Label string // "64 GB SDXC, class 10"
	// Specs are what stands for it in the lab, by scale: "sim:sd-basic,1G".
	Specs map[string]string
	// EraseBlock in bytes as published; 0: not published.
	EraseBlock int64
	// File is the size of the one large file in bytes, by scale, where this
	// storage needs another than the scale has: one that lies in more segments
	// than the storage keeps open.
	File map[string]int64
	// Candidates by scale, where this storage has others than the scale has.
	Candidates map[string][]string
	// Rounds by scale, where this storage has others than the scale has.
	Rounds map[string]int
	// Clock that figures on this storage are taken with in the lab unless the
	// user names one, result.ClockWall or result.ClockInstructions; empty: wall.
	Clock string
}

// Scale is a size of the study: "quick" or "full". Sizes that a study has no
// use for are 0.
type Scale struct {
	// On is the key of the storage that a scale was fitted to (Study.Fit); empty:
	// to none of the study's own.
	On         string
	Candidates []string
	Rounds     int
	Data       []DataSet
	RAM        string  // default storage with the clock that counts instructions: "ram:512M"
	StepLimit  float64 // s, after which a step is given up
	// Memory of the guest in bytes, where data must not fit into its caches; 0:
	// as much as it needs.
	Memory int64
	// Boots from the filesystem after each trial; 0: none.
	Boots int

	Copies int   // of the tree and of the stream
	File   int64 // B, of the one large file
	Volume int64 // B, of a matrix of requests
	Files  int   // empty files
	Dirs   int   // that they are in
	Seeks  int

	// Of cases of faults: how many iterations each has, and the most crash states
	// of all scripts together.
	Cuts, Corruptions, Rots, States int
}

// DataSet is a data set as a scale has it: a tree by its name in the library
// of data sets, or a stream of incompressible bytes by its size.
type DataSet struct {
	Name   string // as steps refer to it: "tree"
	Set    string // "debian-armhf-part"; empty: a stream
	Stream int64  // B
}

// Column is one column of the observations table: which figures make it, and
// how. Smaller is better in every column.
type Column struct {
	Name string // "Boot time"
	Key  string // "boot"
	Unit string // "s", "B"
	// Terms are added up; a candidate that lacks one has no value here.
	Terms []Term
	// Optional are phases of Terms that a candidate may do without (a layer that
	// it does not have): where one is absent it adds nothing.
	Optional []string
	// Uses that the column counts for in the overall order: "read-write",
	// "read-only". None: it is shown and not counted.
	Uses []string
	// About says in one sentence what the figure contains.
	About string
	// Extra columns are ours: the published table has no such column.
	Extra bool
	// Per is the metric of the first term's phase that the time is also shown
	// as a rate of: result.DataBytes, result.DataFiles, result.Ops. Empty: the
	// time alone.
	Per string
	// Level marks figures where more is not worse (a share of full space): they
	// are shown and never ranked.
	Level bool
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

// Numbers is a published table of figures, cell by cell.
type Numbers struct {
	Key    string // "sdxc-64g/block-write", unlike any other of the study
	Name   string // "Sequential output, block"
	Source string
	// Column of the study that measures the same.
	Column string
	// Unit of the cells as published: "kB/s", "MiB/s", "/s", "s", "ms", "MB",
	// "%", "1". Rates are made of the column's Per.
	Unit string
	// Storage is the key of the storage that it was measured on; empty: any.
	Storage string
	// Noise is the share within which the source itself calls figures equal:
	// they then have no order among each other. 0: every difference counts.
	Noise float64
	// Grows says that the figures grow with the amount of data, so that at
	// another scale than "full" only their order can be compared. Times of
	// columns with a Per do so anyway.
	Grows bool
	// Card says that the storage decides the figures, and not the processor:
	// how well the simulated storage stands for the real one shows here.
	Card  bool
	Cells []Published
}

// Published is one published figure. Text, if not empty, is what stands in the
// source in place of a figure ("about 20000"), and Value means nothing then.
type Published struct {
	Candidate string
	Variant   string // level of a factor; "" is the reference
	Value     float64
	Text      string
	// Label is the row's name in the source where it is not the candidate.
	Label string
}

// Choice is a published table of choices: which candidate is best, second,
// third and worst, per storage and data.
type Choice struct {
	Name   string // "large files"
	Source string
	// Columns whose product of ratios decides: the choice is the overall order.
	Columns []string
	// Among are the candidates that could be chosen; empty: all that have the
	// figures.
	Among []string
	Rows  []ChoiceRow
}

// ChoiceRow holds the published places: best, second, third, worst.
type ChoiceRow struct {
	Storage string
	Places  [4]string // candidates
}

// Claim is one published finding in a form that can be checked.
type Claim struct {
	ID   string
	Text string // in our words
	// Where it stands in the source.
	Where string
	// Storage is the key of the one storage that the claim is about; empty: of
	// any.
	Storage string
	Check   Check
}

// Check is how a claim is tested, one of the types below. A verdict knows how to
// carry each out.
type Check interface {
	// Columns are the keys of the study's columns that the claim is about.
	Columns() []string
}

// Untested is why a claim cannot be tested yet.
type Untested string

// The columns of each check. Findings, published tables and faults are about
// none.
func (Untested) Columns() []string       { return nil }
func (k OrderCheck) Columns() []string   { return []string{k.Column} }
func (k BestCheck) Columns() []string    { return []string{k.Column, k.Times} }
func (k RatioCheck) Columns() []string   { return []string{k.Column} }
func (k EffectCheck) Columns() []string  { return []string{k.Column} }
func (k ValueCheck) Columns() []string   { return []string{k.Column} }
func (k CurveCheck) Columns() []string   { return []string{k.Column} }
func (k TrendCheck) Columns() []string   { return []string{k.Column} }
func (k ColumnsCheck) Columns() []string { return []string{k.Column, k.Over} }
func (NumbersCheck) Columns() []string   { return nil }
func (FindingCheck) Columns() []string   { return nil }
func (MediumCheck) Columns() []string    { return nil }
func (FaultCheck) Columns() []string     { return nil }

// FaultCheck claims that of the iterations of Cases (phases; several are taken
// together) a share within [Low, High] ended in one of Outcomes (keys of package
// fault), of every one of Candidates. With Any it is enough that one iteration
// of any of them did.
type FaultCheck struct {
	Candidates []string
	Cases      []string
	Outcomes   []string
	Low, High  float64
	Any        bool
	// Metric, if not empty, is counted in place of outcomes: fault.CheckDirty …
	Metric string
}

// MediumCheck claims that Candidate keeps all of its files whole under a fault
// of the medium, a level by its name; or with Loses that it does not.
type MediumCheck struct {
	Candidate, Level string
	Loses            bool
}

// TrendCheck claims that the ratio value(A)/value(B) in Column grows, or with
// Falls falls, from each storage of Over (keys; empty: all of the study in
// their order) to the next.
type TrendCheck struct {
	Column, A, B string
	Over         []string
	Falls        bool
}

// CurveCheck claims that Column of Candidate at the largest point of Axis (that
// of a factor) is between Low and High times that at the smallest. Candidate
// empty: of every candidate that has both. High 0 means no upper limit.
type CurveCheck struct {
	Axis, Column string
	Candidate    string
	Low, High    float64
}

// NumbersCheck compares the figures of a published table, by its key, with the
// measured ones: as an order (Kendall's tau-b), and as ratios.
type NumbersCheck struct{ Table string }

// EffectCheck claims that a level of a factor (its name) changes Column, over
// all candidates that it was varied for, to a ratio within [Low, High] of the
// reference. High 0 means no upper limit.
type EffectCheck struct {
	Column    string
	Variant   string
	Low, High float64
	// Candidates restricts it; empty: all.
	Candidates []string
}

// ValueCheck claims that Column of Candidate lies within [Low, High], in the
// column's unit.
type ValueCheck struct {
	Column    string
	Candidate string
	Low, High float64
}

// ColumnsCheck claims that Column is between Low and High times Over, of every
// one of Candidates (empty: all). Where both columns have a Per, they are
// compared for the same amount. High 0 means no upper limit.
type ColumnsCheck struct {
	Column, Over string
	Low, High    float64
	Candidates   []string
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
