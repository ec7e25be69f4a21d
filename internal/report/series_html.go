package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"whichfs/internal/verdict"
)

//go:embed series.gohtml
var seriesTemplate string

var seriesPage = template.Must(template.Must(template.New("series").Funcs(pageFuncs).Parse(beyondTemplate)).Parse(seriesTemplate))

// seriesData is what the template of a series sees.
type seriesData struct {
	verdict.SeriesVerdict
	Style       template.CSS
	Version     string
	Facts       [][2]string
	Parts       []seriesPart
	Heads       []string
	Lines       [][]string
	AboutLines  string
	Chosen      []pageChoice
	PlainClaims []verdict.Claim
}

// seriesPart is one run of the series on the page.
type seriesPart struct {
	verdict.SeriesStorage
	ID      string
	Run     string
	Command string
	Places  []pageUse
	Figures []pageNumbers
	Notes   []string
}

// SeriesHTML writes the same as one page that works offline and without
// scripts. The error is that of w.
func SeriesHTML(w io.Writer, v verdict.SeriesVerdict) error {
	v = cleanedSeries(v)
	d := seriesData{
		SeriesVerdict: v, Style: template.CSS(pageStyle), Heads: likenessHeads, AboutLines: aboutLikeness, PlainClaims: plainClaims(v),
	}
	if d.Title == "" {
		d.Title = v.Study
	}
	facts := seriesFacts(v)
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			d.Facts = append(d.Facts, [2]string{facts[i], facts[i+1]})
		}
	}
	for i, s := range v.Storages {
		part := seriesPart{SeriesStorage: s, ID: fmt.Sprintf("storage-%d", i+1), Run: s.Verdict.Run.ID}
		part.Command = "whichfs report " + part.Run + " --html page.html"
		for _, u := range s.Verdict.Uses {
			part.Places = append(part.Places, useOf(u))
		}
		part.Figures, part.Notes = numbersFor(s.Verdict.Numbers, part.ID+"-figures")
		d.Parts = append(d.Parts, part)
		d.Version = s.Verdict.Run.Version
	}
	for _, t := range v.Numbers.Tables {
		d.Lines = append(d.Lines, likenessRow(v, t))
	}
	for i, c := range v.Choices {
		d.Chosen = append(d.Chosen, pageChoice{Name: c.Name, Source: c.Source, ID: fmt.Sprintf("choice-%d", i+1),
			Heads: choicePlaces, Rows: choiceRows(c.Rows), Same: c.Same, Of: c.Of})
	}
	return seriesPage.Execute(w, d)
}
