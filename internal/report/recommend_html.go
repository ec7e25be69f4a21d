package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"whichfs/internal/harmless"
	"whichfs/internal/recommend"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

//go:embed recommend.gohtml
var recommendTemplate string

//go:embed recommend.css
var recommendStyle string

var recommendPage = template.Must(template.New("recommend").Funcs(template.FuncMap{
	"join":        func(list []string) string { return strings.Join(list, ", ") },
	"places":      places,
	"ratio":       ratio,
	"share":       units.Share,
	"estimate":    estimate,
	"weight":      weightText,
	"probability": recommend.Probability,
	"words":       strings.Fields,
	"profilekey":  func() string { return profileKey },
	"aboutfaults": func() string { return aboutEvidence },
}).Parse(recommendTemplate))

// recommendData is what the template sees.
type recommendData struct {
	recommend.Answer
	Style  template.CSS
	Title  string
	Facts  [][2]string
	Rows   []profileRow
	Orders []recommendOrder
}

type profileRow struct{ ID, Name, Best, Sure, Next, Out string }

type recommendOrder struct {
	recommend.Order
	ID, Title, About string
	// Fold hides the details of one of many orders until they are asked for.
	Fold    bool
	Bars    []recommendBar
	Meet    []recommend.Absent
	Lacking []reason
	Rulings []ruling
}

type recommendBar struct {
	recommend.Place
	Bar template.CSS
}

// RecommendHTML writes a recommendation as a page: one file without scripts.
func RecommendHTML(w io.Writer, a recommend.Answer) error {
	a = harmless.Copy(a, 0)
	d := recommendData{Answer: a, Style: template.CSS(pageStyle + recommendStyle), Title: recommendTitle(a)} //nolint:gosec // our own files
	facts := recommendFacts(a)
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			d.Facts = append(d.Facts, [2]string{facts[i], facts[i+1]})
		}
	}
	for i, o := range a.Orders {
		d.Orders = append(d.Orders, recommendOrderOf(o, "order-"+letter(i), orderTitle(o), ""))
	}
	for _, p := range a.Profiles {
		id := "profile-" + slug(p.Name)
		best, next := profileBest(p.Order)
		d.Rows = append(d.Rows, profileRow{id, p.Name, best, sureOf(p.Order), next, ruledOut(p.Order)})
		about := p.About + ". Weights: " + weightsText(p.Weights) + "."
		if needs := needsText(p.Needs); needs != "" {
			about += " Needs: " + needs + "."
		}
		o := recommendOrderOf(p.Order, id, p.Name, strings.ToUpper(about[:1])+about[1:])
		o.Fold = true
		d.Orders = append(d.Orders, o)
	}
	return recommendPage.Execute(w, d)
}

func recommendOrderOf(o recommend.Order, id, title, about string) recommendOrder {
	out := recommendOrder{Order: o, ID: id, Title: title, About: about, Rulings: rulings(o)}
	var col verdict.Column
	for _, p := range o.Places {
		col.Cells = append(col.Cells, verdict.Cell{Estimate: p.Score})
	}
	top := scaleOf(col)
	for _, p := range o.Places {
		out.Bars = append(out.Bars, recommendBar{p, barStyle(p.Score, top)})
	}
	if !o.Measured || len(o.Counted) == 0 {
		out.Meet = o.Without
	} else {
		out.Lacking = groupAbsent(o.Without)
	}
	return out
}
