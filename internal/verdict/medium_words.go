package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/units"
)

// Keeps: every file was whole in every trial.
func (c MediumCell) Keeps() bool {
	return c.Absent == "" && slices.Contains([]string{DataCorrected, DataScrubbed, DataWhole}, c.Class)
}

// Counts says what was counted, the most in one trial; empty where nothing was
// to count.
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

// AllWhole says how many files are whole where all are.
func (c MediumCell) AllWhole() string {
	if c.Files == 0 {
		return ""
	}
	return "all of " + units.Count(c.Files, "file") + " whole"
}

// Often says in how many of the trials the class was found.
func (c MediumCell) Often() string { return fmt.Sprintf("%d of %s", c.In, units.Count(c.Of, "trial")) }

// Rest says what became of the other trials; empty where there are none.
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
