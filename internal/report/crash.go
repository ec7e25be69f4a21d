package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"whichfs/internal/fault/finding"
	"whichfs/internal/harmless"
	"whichfs/internal/units"
)

// Crash is what an exploration of crash states came to.
type Crash struct {
	Format   int       `json:"format"` // 1
	Version  string    `json:"version"`
	Machine  string    `json:"machine"`
	Kernel   string    `json:"kernel"`
	Emulated bool      `json:"emulated,omitempty"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Seed     uint64    `json:"seed"`
	// Asked says in words what was asked for: how many states, which scripts.
	Asked string `json:"asked"`
	// Given is the file of a log that others recorded, if it was one.
	Given      string           `json:"given,omitempty"`
	Candidates []CrashCandidate `json:"candidates"`
	// Partial says why the exploration ended early, if it did.
	Partial  string   `json:"partial,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// CrashCandidate is what became of one candidate.
type CrashCandidate struct {
	Candidate string `json:"candidate"`
	// Failed says why not all of it could be looked at; what was looked at stands
	// in Scripts.
	Failed string `json:"failed,omitempty"`
	// Source of the promises that it was held to, beyond POSIX.
	Source string `json:"source,omitempty"`
	// Unknown: nobody knows what was done, nor what was promised of it.
	Unknown bool `json:"unknown_script,omitempty"`
	// Loose are the names of scripts that rely on more than anybody promised.
	Loose    []string        `json:"careless_scripts,omitempty"`
	Scripts  []finding.Tally `json:"scripts"`
	Findings []CrashFinding  `json:"findings,omitempty"`
	// Looking is how long states were looked at, in seconds of wall time; less than
	// the stages of the scripts come to where several guests looked at the same
	// time. 0: the sum of those.
	Looking float64 `json:"looking_seconds,omitempty"`
}

// CrashFinding is a finding and the file that it was kept in.
type CrashFinding struct {
	finding.Finding
	File string `json:"file,omitempty"`
	// Excused: see finding.Finding.Excused.
	Excused bool `json:"excused,omitempty"`
}

// Broken are the findings in which something was lost that was promised, worst
// first.
func (c CrashCandidate) Broken() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return !f.Excused && !f.Mended() })
}

// Mended are those in which all that was promised could be had in the end, and
// not without complaints or repair.
func (c CrashCandidate) Mended() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return !f.Excused && f.Mended() })
}

// Careless are those in which all that was lost is what a program took for
// granted and nobody had promised.
func (c CrashCandidate) Careless() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return f.Excused })
}

func (c CrashCandidate) some(want func(CrashFinding) bool) []CrashFinding {
	var out []CrashFinding
	for _, f := range c.Findings {
		if want(f) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b CrashFinding) int { return cmp.Compare(b.Outcome, a.Outcome) })
	return out
}

// Found reports whether any promise was broken.
func (c Crash) Found() bool {
	return slices.ContainsFunc(c.Candidates, func(c CrashCandidate) bool { return len(c.Broken()) > 0 })
}

// Looked is how many states were looked at, of all candidates.
func (c Crash) Looked() int64 {
	n := int64(0)
	for _, one := range c.Candidates {
		n += one.total().States
	}
	return n
}

// total adds the scripts of a candidate up.
func (c CrashCandidate) total() finding.Tally {
	var sum finding.Tally
	for _, t := range c.Scripts {
		sum.Add(t)
	}
	return sum
}

// loose reports whether a script relies on more than anybody promised: what it
// takes for granted stands among its promises, and does not count.
func (c CrashCandidate) loose(t finding.Tally) bool { return slices.Contains(c.Loose, t.Script) }

// promised are the single promises that were looked at, without those that
// careless scripts alone take for granted.
func (c CrashCandidate) promised() int64 {
	n := int64(0)
	for _, t := range c.Scripts {
		if !c.loose(t) {
			n += t.Promises
		}
	}
	return n
}

// CrashJSON writes an exploration for programs.
func CrashJSON(w io.Writer, c Crash) error {
	c.Format = 1
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

func cleanedCrash(c Crash) Crash { return harmless.Copy(c, 0) }

// crashFacts are the names and values that open the report.
func crashFacts(c Crash) []string {
	began := ""
	if !c.Started.IsZero() {
		began = c.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	machine := c.Machine
	if c.Emulated {
		machine += ", emulated processor"
	}
	return []string{
		"machine", machine,
		"kernel", c.Kernel,
		"log", c.Given,
		"asked for", c.Asked,
		"seed", fmt.Sprint(c.Seed),
		"began", began,
		"took", units.Value(c.Seconds, "s"),
	}
}
