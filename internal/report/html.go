package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

//go:embed page.gohtml
var pageTemplate string

//go:embed page.css
var pageStyle string

// beyondTemplate has the sections that the page of a series shares.
//
//go:embed beyond.gohtml
var beyondTemplate string

// curvesTemplate has what factors that are no options are shown as.
//
//go:embed curves.gohtml
var curvesTemplate string

// The page is one file without scripts: it opens offline and from a mail
// attachment. Bars are drawn by the style sheet from shares that are worked
// out here; their figures always stand beside them.
var page = parsed(template.New("page").Funcs(pageFuncs), beyondTemplate, curvesTemplate, reliabilityTemplate, pageTemplate)

// parsed adds texts to a template, the last of which is its own.
func parsed(t *template.Template, texts ...string) *template.Template {
	for _, text := range texts {
		t = template.Must(t.Parse(text))
	}
	return t
}

var pageFuncs = template.FuncMap{
	"join":         func(list []string) string { return strings.Join(list, ", ") },
	"letter":       letter,
	"places":       places,
	"ratio":        ratio,
	"times":        units.Ratio,
	"share":        units.Share,
	"value":        units.Value,
	"estimate":     estimate,
	"mark":         claimMark,
	"tally":        tally,
	"tau":          tauText,
	"shorten":      shorten,
	"outcome":      outcomeText,
	"failures":     failures,
	"named":        named,
	"count":        trialCount,
	"plural":       units.Count,
	"slug":         slug,
	"settled":      settledLine,
	"source":       commonSource,
	"question":     questionLine,
	"dropped":      dropped,
	"wordclass":    func(grade string) string { return "g-" + slug(grade) },
	"sentence":     sentence,
	"aboutEffects": func() string { return aboutEffects },
	"aboutChoices": func() string { return aboutChoices },
}

// maxTrials is how many trials the page lists one by one; the CSV has all.
const maxTrials = 400

// pageData is what the template sees: the verdict, and where things stand.
type pageData struct {
	verdict.Verdict
	Style        template.CSS
	Facts        [][2]string
	Columns      []pageColumn
	Extra        []pageColumn
	Observations pageGrid
	Phases       []pagePhase
	Places       []pageUse
	FurtherWhich string
	Axes         []pageAxis
	Faults       pageMedium
	Survival     *pageSurvival
	Factors      []pageFactor
	Figures      []pageNumbers // published ones beside ours
	FigureNotes  []string
	Chosen       []pageChoice
	Costing      []pageCosting
	CostNotes    []string
	WearRows     []pageWear
	WearNotes    []string
	CutRows      []pageWear
	CutNotes     []string
	Without      []verdict.Candidate
	Conditions   []pageGroup
	Method       [][2]string
	Log          []result.Trial
	LogCut       int // trials that are not listed
}

type pageUse struct {
	verdict.Use
	Rows []pagePlace
}

type pagePlace struct {
	verdict.Place
	Bar template.CSS
}

type pageColumn struct {
	verdict.Column
	ID     string
	Rows   []pageBar
	Ties   [][]string
	Absent []reason
}

type pageBar struct {
	verdict.Cell
	Figure  string
	Rate    string // what a time amounts to; empty: nothing
	Bar     template.CSS
	Whisker bool // the estimate has an interval of some width
}

type pageGrid struct {
	Heads []string
	Rows  []pageRow
	Notes []string
}

type pageRow struct {
	Name     string
	ReadOnly bool
	Cells    []pageCell
}

type pageCell struct {
	Head, Grade, Figure, Rate, Note string
}

type pageGroup struct {
	Name string
	List []result.Condition
}

func writeHTML(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	v = cleaned(v)
	d := pageData{
		Verdict:      v,
		Style:        template.CSS(pageStyle),
		Observations: gridOf(v),
		Phases:       phasesFor(v),
		Conditions:   groups(v.Run.Conditions),
		Method:       method(v),
	}
	d.CutRows, d.CutNotes = cutRows(v)
	d.WearRows, d.WearNotes = wearRows(v)
	d.FurtherWhich = furtherWhich(v)
	d.Factors = factorsFor(v)
	d.Faults = mediumFor(v.Medium)
	if d.Survival = survivalOf(v); d.Survival != nil {
		d.Style += template.CSS(reliabilityStyle)
	}
	var err error
	if d.Axes, err = axesFor(v); err != nil {
		return err
	}
	d.Figures, d.FigureNotes = numbersFor(v.Numbers, "figures")
	d.Chosen = choicesFor(v.Choices)
	d.Costing, d.CostNotes = costsFor(v.Costs)
	if d.Title == "" {
		d.Title = v.Run.Study
	}
	facts := headFacts(v)
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			d.Facts = append(d.Facts, [2]string{facts[i], facts[i+1]})
		}
	}
	for i, col := range ranked(v) {
		d.Columns = append(d.Columns, columnOf(v, col, fmt.Sprintf("column-%d", i+1)))
	}
	for i, col := range further(v) {
		if c := columnOf(v, col, fmt.Sprintf("extra-%d", i+1)); len(c.Rows) > 0 {
			d.Extra = append(d.Extra, c)
		}
	}
	for _, u := range v.Uses {
		d.Places = append(d.Places, useOf(u))
	}
	for _, c := range v.Candidates {
		if c.Outcome != result.Done && c.Outcome != "" {
			d.Without = append(d.Without, c)
		}
	}
	for _, t := range trials {
		if t.Attempt == 0 {
			continue
		}
		if len(d.Log) == maxTrials {
			d.LogCut++
			continue
		}
		t.Candidate, t.Variant, t.Phase, t.Reason = clean(t.Candidate), clean(t.Variant), clean(t.Phase), clean(t.Reason)
		d.Log = append(d.Log, t)
	}
	return page.Execute(w, d)
}

func columnOf(v verdict.Verdict, col verdict.Column, id string) pageColumn {
	out := pageColumn{Column: col, ID: id, Absent: absentees(v, col)}
	top := scaleOf(col)
	var names []string
	for _, c := range col.Cells {
		if c.Absent != "" {
			continue
		}
		names = append(names, c.Candidate)
		out.Rows = append(out.Rows, pageBar{
			Cell:    c,
			Figure:  estimate(c.Estimate, col.Unit),
			Rate:    rateText(col, c),
			Bar:     barStyle(c.Estimate, top),
			Whisker: !c.Estimate.Single && c.Estimate.Low < c.Estimate.High,
		})
	}
	out.Ties = ties(names, func(n string) []string { return cellOf(col, n).TiedWith })
	return out
}

// barStyle gives the style sheet the share that a bar takes (--v) and where
// the whisker of its interval begins and ends (--l, --h). All of it is made of
// our own numbers, which is why it may be marked as safe.
func barStyle(iv verdict.Interval, top float64) template.CSS {
	low, high := iv.Low, iv.High
	if iv.Single || low >= high {
		low, high = iv.Value, iv.Value
	}
	at := func(x float64) float64 { return 100 * part(x, top) }
	return template.CSS(fmt.Sprintf("--v:%.3f%%;--l:%.3f%%;--h:%.3f%%", at(iv.Value), at(low), at(high)))
}

// useOf draws the scores of a use as bars, like a column.
func useOf(u verdict.Use) pageUse {
	out := pageUse{Use: u}
	var col verdict.Column
	for _, p := range u.Ranks {
		col.Cells = append(col.Cells, verdict.Cell{Estimate: p.Score})
	}
	top := scaleOf(col)
	for _, p := range u.Ranks {
		out.Rows = append(out.Rows, pagePlace{p, barStyle(p.Score, top)})
	}
	return out
}

func gridOf(v verdict.Verdict) pageGrid {
	g := pageGrid{}
	n := &notes{}
	for _, col := range ranked(v) {
		g.Heads = append(g.Heads, col.Name)
	}
	for _, name := range measured(v) {
		row := pageRow{Name: name, ReadOnly: candidateOf(v, name).ReadOnly}
		for _, col := range ranked(v) {
			c := cellOf(col, name)
			cell := pageCell{Head: col.Name}
			if c.Absent != "" {
				cell.Note = n.mark(c.Absent)
			} else {
				cell.Grade = c.Grade.String()
				cell.Figure, cell.Rate = estimate(c.Estimate, col.Unit), rateText(col, c)
			}
			row.Cells = append(row.Cells, cell)
		}
		g.Rows = append(g.Rows, row)
	}
	g.Notes = n.texts
	return g
}

func groups(conditions []result.Condition) []pageGroup {
	var out []pageGroup
	for _, c := range conditions {
		i := slices.IndexFunc(out, func(g pageGroup) bool { return g.Name == c.Group })
		if i < 0 {
			out = append(out, pageGroup{Name: c.Group})
			i = len(out) - 1
		}
		out[i].List = append(out[i].List, c)
	}
	return out
}

// named is a candidate's name that may be broken where its parts meet.
func named(name string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(name))) //nolint:gosec // escaped before anything is added
}

var breaks = strings.NewReplacer("@", "@<wbr>", "&#43;", "&#43;<wbr>")

// slug makes a word for a class or an address: lower-case letters, digits and
// hyphens.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s), "-")
}
