// Package study holds the published comparisons: their work, their figures and
// their claims. A study is data: candidates, scenarios, data sets, tables and
// claims, one file per study, one explicit list (all.go).
package study

import (
	"cmp"
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
)

// Study is one published comparison.
type Study struct {
	Name   string // "bootlin-2023"
	Title  string
	Source string // author, title, venue, year
	// Work is what a study of times measures, in a few words.
	Work string
	// Board is the processor of the study's machine, by its name in whichfs list processors: larger
	// scales with the virtual clock are charged for it unless another is asked for. Empty: it is none
	// of those.
	Board string
	// Processors is how many the study's machine had, threads of one core counted once; 0: it is not
	// published.
	Processors int
	Scales     map[string]Scale
	// Storages are the kinds of storage of the study, as the lab provides them.
	// With more than one, a run of the study is a series, with a run on each.
	Storages []Storage
	// Untimed studies measure no times: their figures are counts of outcomes, so
	// that trials may share the processors of a host.
	Untimed bool
	// Changed says what a run changes of the work that the user gave it.
	Changed []string
	// Scenarios by use. A read-only filesystem gets "read-only", the others
	// "read-write".
	Scenario func(readOnly bool, s Scale) scenario.Scenario
	// Factors returns the factors varied on this storage in addition to the
	// candidates; nil: none.
	Factors func(s Scale, on Storage) []scenario.Factor
	Columns []Column
	Tables  []Table   // of grades
	Numbers []Numbers // of figures
	Choices []Choice
	Claims  []Claim
	// Cards are what the source says of its bare storage: named STUDY/KEY, with its clock
	// probe.Published, its findings with their place as evidence, and its curves.
	Cards []probe.Report
}

// Storage is a kind of storage of a study.
type Storage struct {
	Key   string // "sdxc-64g", unlike any other of the study
	Label string // "64 GB SDXC, class 10"
	// Specs are the lab's substitutes for it, by scale: "sim:sd-basic,1G".
	Specs map[string]string
	// EraseBlock in bytes as published; 0: not published.
	EraseBlock int64
	// Amount of work by scale, where this storage has a different one than the
	// scale: a file in more segments than the storage keeps open.
	Amount map[string]any
	// Candidates by scale, where this storage has different ones than the scale.
	Candidates map[string][]string
	// Memory of the guest by scale in bytes, where the machine with this storage had another than the
	// scale says.
	Memory map[string]int64
	// Rounds by scale, where this storage has a different number than the scale.
	Rounds map[string]int
	// At is the smallest scale whose series includes it, "claims" or "full"; empty:
	// every one.
	At string
	// Clock is the default clock on this storage in the lab, result.ClockWall or
	// result.ClockInstructions; empty: wall. With result.ClockVirtual, a series on
	// any other clock leaves the storage out, and what counts on it are counts: no
	// processor is charged unless one is asked for.
	Clock string
}

// Scale is a size of the study: "quick" or "full".
type Scale struct {
	// On is the key of the storage to which the scale was fitted (Study.Fit);
	// empty: none of the study's own.
	On         string
	Candidates []string
	Rounds     int
	// ByWall is what the lab has of it by wall clock, so that a quick run takes ten minutes.
	ByWall    Less
	Data      []DataSet
	RAM       string  // default storage with the clock that counts instructions: "ram:512M"
	StepLimit float64 // s, the timeout of a step
	// Memory of the guest in bytes, above quick scale that of the study's machine, or where data must not
	// fit into its caches. A guest has more if it needs more. 0: as much as it needs, and caches for the
	// data.
	Memory int64
	// Boots from the filesystem after each trial; 0: none.
	Boots int
	// Amount of work: sizes and numbers, in a type of the study's own, which its
	// Scenario and Factors know; nil: the work has one amount.
	Amount any
}

// Less is a part of a scale.
type Less struct {
	Storages  int  // of the study's, the first ones; 0: all
	Rounds    int  // 0: all
	Once      bool // the levels of factors take part in the first round only
	NoFactors bool
	NoBoots   bool
	// Amount of work in place of the scale's, and what that leaves out; nil: the scale's.
	Amount any
	Lacks  []string
}

// Short is the scale with the work that the lab has by wall clock.
func (s Scale) Short() Scale {
	if s.ByWall.Amount != nil {
		s.Amount = s.ByWall.Amount
	}
	if s.ByWall.NoBoots {
		s.Boots = 0
	}
	return s
}

// DataSet is a data set of a scale: a tree by its name in the library of data
// sets, or a stream of incompressible bytes by its size.
type DataSet struct {
	Name   string // as steps refer to it: "tree"
	Set    string // "debian-armhf-part"; empty: a stream
	Stream int64  // B
	// Same: a tree of the user's own, which replaces the first one, replaces this one, too.
	Same bool
}

// Column is one column of the observations table, and its figures. Smaller is
// better in every column.
type Column struct {
	Name string // "Boot time"
	Key  string // "boot"
	Unit string // "s", "B"
	// Terms are added up; a candidate that lacks one has no value in the column.
	Terms []Term
	// Over are the measurements by whose sum that of Terms is divided: a share of
	// time. None: it is not divided.
	Over []Term
	// Optional are phases of Terms that a candidate may lack (a layer that it does
	// not use): an absent one adds nothing.
	Optional []string
	// Uses in whose overall order the column counts: "read-write", "read-only".
	// None: it is shown but not counted.
	Uses []string
	// About says in one sentence what the figure contains.
	About string
	// Extra columns are ours: the published table lacks them.
	Extra bool
	// Per is the metric of the first term's phase for which the time is also shown
	// as a rate: result.DataBytes, result.DataFiles, result.Ops. Empty: only the
	// time.
	Per string
	// Level marks figures where more is not worse (a share of full space): they
	// are shown but never ranked.
	Level bool
}

// Term is one measurement: phase and metric.
type Term struct{ Phase, Metric string }

// Table is a published table: a row per filesystem, a column per measure.
type Table struct {
	Name, Source string
	// Rows map the published rows to the candidates that represent them.
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
	// Unit of the cells as published: "kB/s", "MiB/s", "/s", "s", "ms", "MB", "%",
	// "1". Rates are computed from the column's Per.
	Unit string
	// Storage is the key of the storage of the measurement; empty: any.
	Storage string
	// Noise is the share within which the source itself calls figures equal; such
	// figures have no order. 0: every difference counts.
	Noise float64
	// Grows says that the figures grow with the amount of data, so that at scales
	// other than "full" only their order can be compared. Times of columns with a
	// Per always grow.
	Grows bool
	// Card says that the figures depend on the storage and not on the processor,
	// so that they show how well the simulated storage represents the real one.
	Card  bool
	Cells []Published
}

// Published is one published figure. Text, if not empty, is the source's text
// in place of a figure ("about 20000"), and Value is then meaningless.
type Published struct {
	Candidate string
	Variant   string // level of a factor; "" is the reference
	Value     float64
	Text      string
	// Label is the row's name in the source, if it is not the candidate.
	Label string
}

// Choice is a published table of choices: which candidate is best, second,
// third and worst, per storage and data.
type Choice struct {
	Name   string // "large files"
	Source string
	// Columns whose product of ratios decides the choice.
	Columns []string
	// Among are the candidates to choose from; empty: all that have the figures.
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
	// Where it is in the source.
	Where string
	// Storage is the key of the one storage of the claim; empty: any.
	Storage string
	Check   Check
	// Contradicted is the sentence or figure of the source that the source itself
	// contradicts, with the figure that does: a finding about the source, which is
	// reported beside the verdict. Empty: the source is at one with itself.
	Contradicted string
	// Follows names the parameter of a simulated storage that decides the claim
	// there, so that agreeing says nothing about real cards: "the mapping scheme of
	// the model". Empty: no parameter does.
	Follows string
	// At names the smallest scale at which the claim can be decided, "claims" or
	// "full"; empty: at every one.
	At string
}

// scales by the amount of work, and what selects each in a command.
var scales = []struct{ name, flag string }{{"quick", "--quick"}, {"claims", "--claims all"}, {"full", "--full"}}

// DecidedBy is the command that runs the study at the smallest scale at which
// the claim can be decided; empty where that is not above the given one.
func (s Study) DecidedBy(c Claim, scale string) string {
	for _, one := range slices.Backward(scales) {
		switch one.name {
		case scale:
			return ""
		case c.At:
			return "whichfs run " + s.Name + " " + one.flag
		}
	}
	return ""
}

// Probed reports whether a claim on a storage of the study, by its key, is about
// the bare storage, as a probe shows it.
func (s Study) Probed(storage string) bool {
	return slices.ContainsFunc(s.Claims, func(c Claim) bool { return (c.Storage == "" || c.Storage == storage) && probed(c.Check) })
}

func probed(c Check) bool {
	switch k := c.(type) {
	case FindingCheck, SweepCheck:
		return true
	case EveryCheck:
		return slices.ContainsFunc(k, probed)
	}
	return false
}

// Check is how a claim is tested: one of the types below, which package verdict
// implements.
type Check interface {
	// Columns returns the keys of the study's columns of the claim.
	Columns() []string
}

// Untested is the reason why a claim cannot be tested yet.
type Untested string

// The columns of each check. Findings, published tables and faults have none.
func (Untested) Columns() []string       { return nil }
func (k OrderCheck) Columns() []string   { return []string{k.Measured()} }
func (k BestCheck) Columns() []string    { return []string{k.Column, k.Times} }
func (k RatioCheck) Columns() []string   { return []string{k.Column} }
func (k EffectCheck) Columns() []string  { return []string{k.Column} }
func (k ValueCheck) Columns() []string   { return []string{k.Column} }
func (k CurveCheck) Columns() []string   { return []string{k.Column} }
func (k TrendCheck) Columns() []string   { return []string{k.Column} }
func (k ColumnsCheck) Columns() []string { return []string{k.Column, k.Over} }
func (k SpreadCheck) Columns() []string  { return []string{k.Column} }
func (k NoiseCheck) Columns() []string   { return k.Of }
func (k AcrossCheck) Columns() []string  { return []string{k.Column} }
func (k ChoiceCheck) Columns() []string  { return k.Of }
func (k SeveralCheck) Columns() []string { return k.Of }
func (KernelsCheck) Columns() []string   { return nil }
func (NumbersCheck) Columns() []string   { return nil }
func (FindingCheck) Columns() []string   { return nil }
func (MediumCheck) Columns() []string    { return nil }
func (FaultCheck) Columns() []string     { return nil }
func (FaultBest) Columns() []string      { return nil }
func (FaultTime) Columns() []string      { return nil }

// SpreadCheck claims that the largest figure of Column, over Candidates (empty:
// all), is between Low and High times the smallest. High 0 means no upper limit.
type SpreadCheck struct {
	Column     string
	Candidates []string
	Low, High  float64
}

// NoiseCheck claims that the figures of one candidate differ between rounds: the
// standard deviation of their logarithms, pooled over Candidates (empty: all)
// and the columns Of, lies within [Low, High]; or, with Than, that it is between
// Low and High times that of the candidates in Than. High 0 means no upper limit.
type NoiseCheck struct {
	Of         []string
	Candidates []string
	Than       []string
	Low, High  float64
}

// AcrossCheck claims that Column on storage On (a key) is between Low and High
// times that on every storage of Over, for each of Candidates (empty: all) and,
// where the column has a Per, for the same amount of work. High 0 means no upper
// limit.
type AcrossCheck struct {
	Column, On string
	Over       []string
	Candidates []string
	Low, High  float64
}

// ChoiceCheck claims the best, or with Worst the worst, place in the product of
// the columns Of.
type ChoiceCheck struct {
	Of        []string
	Candidate string
	Among     []string
	Worst     bool
}

// SeveralCheck claims that A takes at most High times as long as B in at least
// Least of the columns Of.
type SeveralCheck struct {
	Of    []string
	A, B  string
	High  float64
	Least int
}

// KernelsCheck claims that boots under the newest kernel of a run take between
// Low and High times as long as under the oldest, for each of Candidates; with
// Base, in relation to that candidate's. High 0 means no upper limit.
type KernelsCheck struct {
	Candidates []string
	Base       string
	Low, High  float64
}

// FaultBest claims that, of Among, Candidate has the smallest share of the
// iterations of Cases that ended in one of Outcomes or count in Metric, or with
// Most the largest.
type FaultBest struct {
	Candidate       string
	Among           []string
	Cases, Outcomes []string
	Metric          string
	Most            bool
}

// FaultTime claims that mounts of Candidate after the faults of Cases take
// between Low and High seconds: their mean, or with Longest the longest. High 0
// means no upper limit.
type FaultTime struct {
	Candidate string
	Cases     []string
	Low, High float64
	Longest   bool
}

// FaultCheck claims that, for every one of Candidates, a share within [Low,
// High] of the iterations of Cases (phases; several are added up) ended in one
// of Outcomes (keys of package fault). With Any, one such iteration of any
// candidate is enough.
type FaultCheck struct {
	Candidates []string
	Cases      []string
	Outcomes   []string
	Low, High  float64
	Any        bool
	// Metric, if not empty, is counted as well as outcomes: fault.CheckDirty …
	Metric string
}

// MediumCheck claims that Candidate keeps all of its files whole under a fault
// of the medium, named by its level; or, with Loses, that it does not.
type MediumCheck struct {
	Candidate, Level string
	Loses            bool
}

// TrendCheck claims that the ratio value(A)/value(B) in Column grows, or with
// Falls decreases, from each storage of Over (keys; empty: all of the study in
// their order) to the next.
type TrendCheck struct {
	Column, A, B string
	Over         []string
	Falls        bool
}

// CurveCheck claims that Column of Candidate at the largest point of Axis (of a
// factor) is between Low and High times that at the smallest. Candidate empty:
// every candidate that has both. High 0 means no upper limit. OfAxis: Low and
// High are shares of the axis's own growth, 1 being proportional.
type CurveCheck struct {
	Axis, Column string
	Candidate    string
	Low, High    float64
	OfAxis       bool
}

// NumbersCheck compares the figures of a published table, by its key, with the
// measured ones: as an order (Kendall's tau-b), and as ratios.
type NumbersCheck struct{ Table string }

// EffectCheck claims that a level of a factor (its name) changes Column, over
// all candidates for which it was varied, to a ratio within [Low, High] of the
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

// ColumnsCheck claims that Column is between Low and High times Over, for every
// one of Candidates (empty: all). If both columns have a Per, they are compared
// for the same amount of work. High 0 means no upper limit.
type ColumnsCheck struct {
	Column, Over string
	Low, High    float64
	Candidates   []string
}

// OrderCheck compares the grades of a column with the measured order.
type OrderCheck struct {
	Column string
	// By is the column with the measured order; empty: Column.
	By string
}

// Measured is the column with the measured order.
func (k OrderCheck) Measured() string { return cmp.Or(k.By, k.Column) }

// BestCheck claims the best, or with Worst the worst, place.
type BestCheck struct {
	Column    string
	Candidate string
	Among     []string
	Worst     bool
	// Times names a second column: the claim is about the product of the two (a
	// compromise between them). Empty: only Column.
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
// upper limit, unless Zero says that only 0 agrees.
type FindingCheck struct {
	Key       string
	Low, High float64
	Zero      bool
	Text      string
	// Of is the key of a finding by which the value is divided; "": none.
	Of string
}
