// Package report renders a verdict: for a terminal, as a page, and in the
// formats that other programs read. One file per format. Reports print what
// the verdict holds and compute no statistics of their own; what they work out
// is where things stand on the page.
//
// Everything that comes from outside (names of candidates, messages of
// kernels and tools) is taken to be hostile: control characters never reach a
// terminal and markup never reaches a page.
package report

import (
	"io"

	"whichfs/internal/result"
	"whichfs/internal/verdict"
)

// Format is one way to write a report.
type Format struct {
	Name      string // as the user writes it: --html
	Extension string // of the file, without the dot
	Help      string // one line
	// Write renders v to w. Formats that show single measurements take them
	// from trials; the others accept nil. The error is that of w.
	Write func(w io.Writer, v verdict.Verdict, trials []result.Trial) error
}

// All lists the formats in the order that help texts show them.
var All = []Format{
	{"text", "txt", "the full report as plain text, 100 columns wide", writeText},
	{"summary", "txt", "the answer in a few lines", writeSummary},
	{"html", "html", "one self-contained page: works offline, on a phone, in print", writeHTML},
	{"json", "json", "everything: the verdict and every measurement", writeJSON},
	{"csv", "csv", "one row per measurement", writeCSV},
	{"junit", "xml", "JUnit XML for continuous integration: trials and claims", writeJUnit},
	{"gobench", "bench", "Go benchmark format, as benchstat reads it", writeGoBench},
	{"bonnie", "csv", "Bonnie++'s CSV (format 1.98), as bon_csv2html reads it", writeBonnie},
}

// ByName finds a format.
func ByName(name string) (Format, bool) {
	for _, f := range All {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
