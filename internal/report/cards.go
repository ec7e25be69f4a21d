package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/probe"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// CardsDoc is a comparison of probes. The error is one of drawing.
func CardsDoc(c contrast.Cards) (doc.Doc, error) {
	d := doc.Doc{
		Title: "What is inside, side by side", Window: "Inside " + strings.Join(cardNames(c), ", "), Kicker: "whichfs compare", Warnings: append(c.Warnings, cardWarnings(c)...),
		Foot: "whichfs compare. Intervals are the extremes of a probe's repetitions, and those of a ratio are from the extremes of both. Differences below " + units.Share(c.Margin) + " are the same.",
	}
	answer := doc.Section{ID: "answer", Title: "Fastest in blocks of 4 KiB", Nav: "Fastest"}
	for _, text := range c.Answer {
		answer.Body = append(answer.Body, doc.Para{Role: doc.Answer, Text: text})
	}
	curves, err := cardCurves(c)
	if err != nil {
		return d, err
	}
	d.Sections = compact(answer, cardFindings(c), cardList(c), curves)
	return d, nil
}

func cardNames(c contrast.Cards) []string {
	var names []string
	for _, one := range c.Cards {
		names = append(names, one.Name)
	}
	return names
}

// cardWarnings are those of the probes, each once.
func cardWarnings(c contrast.Cards) []string {
	var groups doc.Groups
	for _, one := range c.Cards {
		for _, text := range append([]string{probeReach(one.Probe)}, one.Probe.Warnings...) {
			if text != "" {
				groups.Add(text, one.Name)
			}
		}
	}
	var out []string
	for _, g := range groups {
		out = append(out, units.List(g.Names, mostNamed)+": "+g.Text)
	}
	return out
}

// cardFindings has the findings side by side.
func cardFindings(c contrast.Cards) doc.Section {
	t := doc.Table{Style: doc.Scroll, Name: "Findings, side by side", Columns: append([]doc.Column{{Head: "Finding"}}, doc.Heads(doc.Words, true, cardNames(c)...)...)}
	for _, f := range c.Findings {
		row := doc.Texts(f.Name)
		if f.Differs {
			row = doc.Texts(f.Name + " ◆")
		}
		for _, one := range f.Values {
			cell := doc.Cell{Text: FindingValue(one)}
			switch {
			case one.Undetermined == contrast.NotPublished:
				cell = doc.Cell{Text: one.Undetermined, Tone: doc.Muted}
			case !one.Known():
				cell.Tone, cell.Foot = doc.Muted, one.Undetermined
			case f.Differs:
				cell.Tone = doc.Strong
			}
			if one.Sureness() == "unsure" && one.Confidence > 0 { // a publication states none
				cell.Text += ", unsure"
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return doc.Section{ID: "findings", Title: "Findings", Body: []doc.Block{t, doc.Para{Role: doc.Small,
		Text: "◆ differs: in a geometry at all, in the size of a cache or area by more than a quarter, in a measured figure by more than " + units.Share(c.Margin) + "."}}}
}

// cardList says what was probed, and where the figures are from.
func cardList(c contrast.Cards) doc.Section {
	t := doc.Table{Columns: []doc.Column{{Head: "No."}, {Head: "Storage", Kind: doc.Names}, {Head: "Identity", Flex: true}, {Head: "Size"}, {Head: "From", Flex: true}, {Head: "Wrote"}}}
	for i, one := range c.Cards {
		r := one.Probe
		size, from, wrote := units.Size(r.Size), first(r.Machine, "a file"), "no"
		switch {
		case r.Clock == probe.Published:
			size, from, wrote = "–", one.Source, "–"
		case one.ID != "":
			from = "probe " + one.ID + ", " + from
		}
		if r.Wrote {
			wrote = "yes"
		}
		t.Rows = append(t.Rows, doc.Texts(strconv.Itoa(i+1), r.Storage, r.Identity, size, from, wrote))
	}
	return doc.Section{ID: "cards", Title: "What is compared", Nav: "Storages", Body: []doc.Block{t}}
}

// cardCurves has a chart with a line for each card; a terminal gets the figures.
func cardCurves(c contrast.Cards) (doc.Section, error) {
	s := doc.Section{ID: "curves", Title: "Curves"}
	names := cardNames(c)
	parts := doc.Parts{}
	for _, curve := range c.Curves {
		drawing, err := linesSVG(numbered(curve), names, "storage")
		if err != nil {
			return s, err
		}
		chart := doc.Chart{SVG: drawing}
		table := pointTable(curve)
		if slices.ContainsFunc(curve.Lines, func(l probe.Line) bool { return len(l.Points) > mostRows }) {
			for _, l := range curve.Lines {
				chart.Text = append(chart.Text, doc.Items{List: []doc.Item{{Lead: l.Name}}}, lineStrip(curve, l))
			}
		} else {
			chart.Text = []doc.Block{table}
		}
		legend := doc.Table{Style: doc.Legend, In: doc.Page, Columns: []doc.Column{{Head: "Line"}, {Head: "No."}, {Head: "Storage", Kind: doc.Names}}}
		for _, l := range curve.Lines {
			number := slices.Index(names, l.Name)
			sample, err := lineSample(number)
			if err != nil {
				return s, err
			}
			legend.Rows = append(legend.Rows, doc.Row{Cells: []doc.Cell{{Sample: sample}, doc.T(strconv.Itoa(number + 1)), doc.T(l.Name)}})
		}
		parts.List = append(parts.List, doc.Part{ID: curveID(curve.Key), Title: curve.Title, Body: []doc.Block{chart, legend,
			doc.Fold{In: doc.Page, Summary: "Figures", Small: units.Count(len(table.Rows), "row"), Body: []doc.Block{table}}}})
	}
	if len(parts.List) > 0 {
		s.Body = []doc.Block{doc.Para{In: doc.Page, Text: "Each storage has one line, with the same number in every chart; the numbers are at the ends of the lines. Points are medians of repetitions."}, parts}
	}
	return s, nil
}

// numbered is a curve of probes in the form of a run's, whose lines are numbered.
func numbered(c probe.Curve) verdict.Curve {
	out := verdict.Curve{Axis: c.XName, AxisUnit: c.XUnit, Name: c.Title, Unit: c.YUnit}
	for _, l := range c.Lines {
		line := verdict.CurveLine{Candidate: l.Name}
		for _, q := range l.Points {
			line.Points = append(line.Points, verdict.CurvePoint{Value: q.X, Estimate: verdict.Interval{Value: q.Y, Low: q.Low, High: q.High, N: q.N, Single: q.N < 2}})
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// CardsJSON writes a comparison of probes for programs.
func CardsJSON(w io.Writer, c contrast.Cards) error {
	return writeObject(w, "whichfs-compare-probes", "cards", c)
}

// CardsCSV writes one row per finding and card.
func CardsCSV(w io.Writer, c contrast.Cards) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write([]string{"finding", "unit", "differs", "storage", "probe", "value", "text", "confidence", "undetermined"}); err != nil {
		return err
	}
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, f := range c.Findings {
		for i, one := range f.Values {
			row := []string{f.Key, one.Unit, fmt.Sprint(f.Differs), c.Cards[i].Name, c.Cards[i].ID, "", one.Text, figure(one.Confidence), one.Undetermined}
			if one.Known() {
				row[5] = figure(one.Value)
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
