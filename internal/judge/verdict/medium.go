package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Medium shows how each candidate handled faults of the medium: a row for each
// candidate, a column for each fault, and the medium without faults as the
// control.
type Medium struct {
	Levels []MediumLevel `json:"levels"` // the control first
	Rows   []MediumRow   `json:"rows"`   // in plan order
	About  string        `json:"about"`
}

// MediumLevel is one state of the medium.
type MediumLevel struct {
	Name    string `json:"name"`
	Control bool   `json:"control,omitempty"`
}

// MediumRow is one candidate, a cell for each level.
type MediumRow struct {
	Candidate string       `json:"candidate"`
	Cells     []MediumCell `json:"cells"`
}

// MediumCell is the worst that happened to the data in any trial, how often,
// and what was counted: the maximum of each count over the trials.
type MediumCell struct {
	// Class is one of MediumClasses; empty with Absent.
	Class  string `json:"class,omitempty"`
	Absent string `json:"absent,omitempty"`
	In     int    `json:"in"` // trials that ended in this class
	Of     int    `json:"of"` // trials
	// Reason is what ended the first trial of this class, with its phase.
	Reason string `json:"reason,omitempty"`
	// Others are the better classes in which other trials ended.
	Others []MediumOther `json:"others,omitempty"`

	Files       int `json:"files"` // compared
	Wrong       int `json:"wrong"`
	Missing     int `json:"missing"`
	Unreadable  int `json:"unreadable"`
	Corrected   int `json:"corrected"`   // bits
	Uncorrected int `json:"uncorrected"` // reads
	Scrubbed    int `json:"scrubbed"`    // blocks
	Bad         int `json:"bad"`         // blocks
}

// MediumOther is a class in which some trials ended.
type MediumOther struct {
	Class string `json:"class"`
	In    int    `json:"in"`
}

// Classes of what happens to data on a faulty medium.
const (
	DataLost        = "lost"           // cannot be made or mounted
	DataWrong       = "silently wrong" // other bytes came back without an error
	DataMissing     = "files lost"
	DataUnreadable  = "read errors"
	DataStopped     = "stopped"      // later work failed
	DataReadOnly    = "read-only"    // the filesystem made itself read-only
	DataNotCompared = "not compared" // the files were not compared
	DataCorrected   = "corrected"    // bits were corrected, nothing lost
	DataScrubbed    = "scrubbed"     // corrected and moved to another block
	DataWhole       = "whole"        // no effect
)

// MediumClasses are all of them, worst first.
var MediumClasses = []string{DataLost, DataWrong, DataMissing, DataUnreadable, DataStopped, DataReadOnly, DataNotCompared, DataCorrected, DataScrubbed, DataWhole}

const aboutMedium = "The worst that happened to the data in any trial, in how many trials, and the largest count in any one. " +
	"Worst first: lost (cannot be made or mounted), silently wrong (other bytes without an error), files lost, read errors, stopped (later work failed), read-only (the filesystem made itself so), " +
	"corrected (bits were corrected and nothing is lost), scrubbed (corrected and moved to another block), whole (no effect was seen)."

// medium collects the effects of faults of the medium; nil where none were
// tried.
func (f *figures) medium() *Medium {
	m := &Medium{About: aboutMedium}
	control := ""
	var names []string
	for _, factor := range f.plan.Factors {
		if !factor.Medium {
			continue
		}
		if control == "" {
			control = factor.Reference
		}
		for _, l := range factor.Levels {
			m.Levels = append(m.Levels, MediumLevel{Name: l.Name})
		}
		for _, s := range f.subjects {
			if varied(factor, s) && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	if len(m.Levels) == 0 {
		return nil
	}
	m.Levels = append([]MediumLevel{{Name: control, Control: true}}, m.Levels...)
	for _, s := range f.subjects {
		if !slices.Contains(names, s.Name) {
			continue
		}
		row := MediumRow{Candidate: s.Name}
		for _, l := range m.Levels {
			variant := l.Name
			if l.Control {
				variant = ""
			}
			row.Cells = append(row.Cells, f.mediumCell(s.Name, variant))
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func (f *figures) mediumCell(name, variant string) MediumCell {
	s := f.known(name, variant)
	if s == nil {
		return MediumCell{Absent: "not tried"}
	}
	var cell MediumCell
	in := map[string]int{}
	reasons := map[string]string{}
	for _, t := range perRound(s.trials) {
		switch t.Outcome {
		case result.Done, result.SubjectFailed, result.Refused:
		case result.Unsupported, result.LabFailed:
			cell.Absent = outcomeReason(t)
			continue
		default:
			continue // never concluded
		}
		class, reason := cell.add(s, t)
		cell.Of++
		in[class]++
		if reasons[class] == "" {
			reasons[class] = reason
		}
	}
	if cell.Of == 0 {
		if cell.Absent == "" {
			cell.Absent = s.Reason
		}
		return cell
	}
	cell.Absent = ""
	for _, class := range MediumClasses {
		switch {
		case in[class] == 0:
		case cell.Class == "":
			cell.Class, cell.In, cell.Reason = class, in[class], reasons[class]
		default:
			cell.Others = append(cell.Others, MediumOther{class, in[class]})
		}
	}
	return cell
}

// perRound returns the trials by which each round is judged: the one that counts, or the last if none was
// completed.
func perRound(trials []result.Trial) []result.Trial {
	of := map[int]result.Trial{}
	for _, t := range trials {
		if last, there := of[t.Round]; !there || t.Attempt >= last.Attempt {
			of[t.Round] = t
		}
	}
	for _, t := range result.Counted(trials) {
		of[t.Round] = t
	}
	var out []result.Trial
	for _, r := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[r])
	}
	return out
}

func outcomeReason(t result.Trial) string {
	if t.Phase != "" {
		return t.Phase + ": " + t.Reason
	}
	return t.Reason
}

// add counts a trial and returns what happened to its data, and why.
func (c *MediumCell) add(s *subject, t result.Trial) (class, reason string) {
	sum, most := map[string]float64{}, map[string]float64{}
	absent := ""
	for _, m := range t.Measurements {
		switch {
		case m.Absent == "":
			sum[m.Metric] += m.Value
			most[m.Metric] = max(most[m.Metric], m.Value)
		case m.Metric == result.FilesWhole:
			absent = m.Absent
		}
	}
	count := func(to *int, v float64) bool {
		*to = max(*to, int(v+0.5))
		return v > 0
	}
	_, compared := most[result.FilesWhole]
	if compared {
		count(&c.Files, most[result.FilesWhole]+most[result.FilesWrong]+most[result.FilesUnreadable]+most[result.FilesMissing])
	}
	count(&c.Bad, most[result.FlashBad])
	wrong, missing, unreadable := count(&c.Wrong, most[result.FilesWrong]), count(&c.Missing, most[result.FilesMissing]), count(&c.Unreadable, most[result.FilesUnreadable])
	uncorrected := count(&c.Uncorrected, sum[result.ECCFailed])
	corrected, scrubbed := count(&c.Corrected, sum[result.ECCCorrected]), count(&c.Scrubbed, sum[result.UBIScrubbed])

	ended, why := "", ""
	if t.Outcome != result.Done {
		ended, why = endedAs(t, s.work), outcomeReason(t)
	}
	switch {
	case ended == DataLost:
		return DataLost, why
	case wrong:
		return DataWrong, why
	case missing:
		return DataMissing, why
	case unreadable, uncorrected, ended == DataUnreadable:
		return DataUnreadable, why
	case ended != "":
		return ended, why
	case most[result.MountReadOnly] > 0 && !s.ReadOnly:
		return DataReadOnly, ""
	case !compared:
		return DataNotCompared, absent
	case scrubbed:
		return DataScrubbed, ""
	case corrected:
		return DataCorrected, ""
	}
	return DataWhole, ""
}

// endedAs is the class of a trial that ended early.
func endedAs(t result.Trial, work map[string]scenario.Kind) string {
	kind, known := work[t.Phase]
	switch {
	case !known:
		return DataStopped
	case kind.Reads:
		return DataUnreadable
	case !kind.Uses:
		return DataLost
	case strings.Contains(strings.ToLower(t.Reason), "read-only"):
		return DataReadOnly
	}
	return DataStopped
}

// Keeps reports whether every file was whole in every trial.
func (c MediumCell) Keeps() bool {
	return c.Absent == "" && slices.Contains([]string{DataCorrected, DataScrubbed, DataWhole}, c.Class)
}

// Counts lists the maxima of the counts over the trials; empty where there was
// nothing to count.
func (c MediumCell) Counts() string {
	var parts []string
	files := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s %s", n, units.Count(c.Files, "file"), what))
		}
	}
	add := func(n int, thing, what string) {
		if n > 0 {
			parts = append(parts, strings.TrimSpace(units.Count(n, thing)+" "+what))
		}
	}
	files(c.Wrong, "wrong")
	files(c.Missing, "missing")
	files(c.Unreadable, "unreadable")
	if all := c.AllWhole(); len(parts) == 0 && c.Keeps() && all != "" {
		parts = append(parts, all)
	}
	add(c.Uncorrected, "read", "beyond ECC")
	add(c.Corrected, "bit", "corrected")
	add(c.Scrubbed, "block", "scrubbed")
	add(c.Bad, "bad block", "")
	return strings.Join(parts, ", ")
}

// AllWhole gives the number of whole files where all are whole.
func (c MediumCell) AllWhole() string {
	if c.Files == 0 {
		return ""
	}
	return "all of " + units.Count(c.Files, "file") + " whole"
}

// Often gives the number of trials that ended in the class.
func (c MediumCell) Often() string { return fmt.Sprintf("%d of %s", c.In, units.Count(c.Of, "trial")) }

// Rest gives the classes of the other trials; empty where there are none.
func (c MediumCell) Rest() string {
	var parts []string
	for _, o := range c.Others {
		parts = append(parts, fmt.Sprintf("%d %s", o.In, o.Class))
	}
	return strings.Join(parts, ", ")
}

// Summary is a cell in one line.
func (c MediumCell) Summary() string {
	if c.Absent != "" {
		return c.Absent
	}
	text := c.Class + " in " + c.Often()
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if counts := c.Counts(); counts != "" {
		text += ": " + counts
	}
	if rest := c.Rest(); rest != "" {
		text += "; the others " + rest
	}
	return text
}
