package report

import (
	"io"
	"slices"

	"whichfs/internal/verdict"
)

// SeriesFormat is one way to write what the runs of a series say together.
type SeriesFormat struct {
	Name  string // of the format that it takes the place of
	Write func(w io.Writer, v verdict.SeriesVerdict) error
}

// SeriesFormats lists the formats that have a form for a whole series; the
// others are written run by run.
var SeriesFormats = []SeriesFormat{{"html", SeriesHTML}, {"json", SeriesJSON}}

// ForSeries reports whether a format, by its name, has a form for a series.
func ForSeries(name string) bool {
	return slices.ContainsFunc(SeriesFormats, func(f SeriesFormat) bool { return f.Name == name })
}
