package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// figureColumn is a figure that each row of a table has, or lacks for a reason.
type figureColumn[R any] struct {
	head  string
	of    func(R) verdict.Figure
	print func(verdict.Figure) string
}

// figureTable has a row for each candidate.
func figureTable[R any](rows []R, name func(R) doc.Cell, columns []figureColumn[R]) doc.Table {
	t := doc.Table{Columns: []doc.Column{{Head: "Candidate", Kind: doc.Names}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{name(r)}})
	}
	for _, c := range columns {
		t.Columns = append(t.Columns, doc.Column{Head: c.head, Kind: doc.Figures})
		for i, r := range rows {
			f := c.of(r)
			cell := doc.Cell{Absent: f.Absent}
			if f.Absent == "" {
				cell.Text = c.print(f)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	return t
}

func valueText(f verdict.Figure) string { return units.Value(f.Estimate.Value, f.Unit) }

// costsSection shows what work costs besides time.
func costsSection(c *verdict.Costs) doc.Section {
	if c == nil || len(c.Rows) == 0 {
		return doc.Section{}
	}
	type row = verdict.CostRow
	columns := []figureColumn[row]{
		{"Processor time", func(r row) verdict.Figure { return r.CPU }, valueText},
		{"Per byte", func(r row) verdict.Figure { return r.PerByte }, valueText},
		{"Per file or operation", func(r row) verdict.Figure { return r.PerOp }, valueText},
		{"Device busy", func(r row) verdict.Figure { return r.Busy }, func(f verdict.Figure) string { return units.Share(f.Estimate.Value) }},
		{"Own threads", func(r row) verdict.Figure { return r.Threads }, valueText},
		{"Time of own threads", func(r row) verdict.Figure { return r.ThreadCPU }, valueText},
		{"Memory held", func(r row) verdict.Figure { return r.Memory }, valueText},
	}
	columns = slices.DeleteFunc(columns, func(col figureColumn[row]) bool { // a figure that no candidate has cannot be compared
		return !slices.ContainsFunc(c.Rows, func(r row) bool { return col.of(r).Absent == "" })
	})
	name := func(r row) doc.Cell { return doc.T(r.Candidate) }
	s := doc.Section{ID: "costs", Title: "What it costs", Nav: "Costs", Body: []doc.Block{doc.Para{Text: c.About}, figureTable(c.Rows, name, columns)}}
	if slices.ContainsFunc(c.Rows, func(r row) bool { return r.Work != nil }) {
		s.Body = append(s.Body, doc.Para{Text: "What the processor does in that time:"}, figureTable(c.Rows, name, workColumns()))
	}
	return s
}

// workColumns are the amounts of the processor's work.
func workColumns() []figureColumn[verdict.CostRow] {
	var out []figureColumn[verdict.CostRow]
	for _, metric := range result.ProcessorWork {
		m, _ := result.MetricOf(metric)
		out = append(out, figureColumn[verdict.CostRow]{m.Head, func(r verdict.CostRow) verdict.Figure {
			if f, counted := r.Work[metric]; counted {
				return f
			}
			return verdict.Figure{Absent: "not counted"}
		}, valueText})
	}
	return out
}

// cutsSection shows what was left after power cuts.
func cutsSection(v verdict.Verdict) doc.Section {
	if v.Cuts == nil {
		return doc.Section{}
	}
	type row = verdict.CutRow
	count := func(of func(row) float64) func(row) verdict.Figure {
		return func(r row) verdict.Figure {
			return verdict.Figure{Unit: "1", Estimate: verdict.Interval{Value: of(r)}}
		}
	}
	t := figureTable(v.Cuts.Rows, func(r row) doc.Cell { return doc.T(r.Candidate) }, []figureColumn[row]{
		{"Cuts", count(func(r row) float64 { return r.Cuts }), valueText},
		{"Mounted", count(func(r row) float64 { return r.Mounted }), valueText},
		{"Promises", count(func(r row) float64 { return r.Promises }), valueText},
		{"Files whole", count(func(r row) float64 { return r.Whole }), valueText},
		{"Lost", count(func(r row) float64 { return r.Lost }), valueText},
		{"Cuts with loss", count(func(r row) float64 { return r.WithLoss }), valueText},
		{"Mount after", func(r row) verdict.Figure { return r.Mount }, valueText},
		{"Longest", func(r row) verdict.Figure { return r.MountLongest }, valueText},
	})
	t.Style = doc.Bars
	return doc.Section{ID: "cuts", Title: "Power cuts in mid-write, least lost first", Nav: "Power cuts", Body: []doc.Block{doc.Para{Text: v.Cuts.About}, t}}
}

// wearSection shows the wear of the flash.
func wearSection(v verdict.Verdict) doc.Section {
	w := v.Wear
	if w == nil || len(w.Rows) == 0 {
		return doc.Section{}
	}
	what := "simulated storage"
	if w.Raw {
		what = "raw flash"
	}
	t := figureTable(w.Rows, func(r verdict.WearRow) doc.Cell {
		return candidateCell(verdict.Candidate{Name: r.Candidate, ReadOnly: r.ReadOnly})
	}, wearColumns(w))
	t.Style = doc.Bars
	t.Columns = append(t.Columns, doc.Column{Kind: doc.Bar, In: doc.Page})
	top := topOf(w.Rows, func(r verdict.WearRow) verdict.Interval {
		if r.Programmed.Absent != "" {
			return verdict.Interval{}
		}
		return r.Programmed.Estimate
	})
	for i, r := range w.Rows {
		cell := doc.Cell{}
		if r.Programmed.Absent == "" {
			cell.Bar = bar(r.Programmed.Estimate, top)
			cell.Bar.Whisker = false
		}
		t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
	}
	return doc.Section{ID: "wear", Title: "Wear of the " + what + ", least first", Nav: "Wear", Body: []doc.Block{
		doc.Para{Text: w.About}, doc.Para{In: doc.Page, Text: "Shorter bars are better: a bar is the amount programmed."}, t}}
}

// wearColumns are those that apply to the flash: raw flash programs exactly
// what it is sent.
func wearColumns(w *verdict.Wear) []figureColumn[verdict.WearRow] {
	type column = figureColumn[verdict.WearRow]
	factor := func(f verdict.Figure) string { return units.Ratio(f.Estimate.Value) }
	whole := func(f verdict.Figure) string {
		return units.Value(float64(int64(f.Estimate.Value+0.5)), f.Unit)
	}
	years := func(f verdict.Figure) string { return lifetime(f.Estimate.Value) }
	programmed := column{"Programmed", func(r verdict.WearRow) verdict.Figure { return r.Programmed }, valueText}
	ofWork := column{"Per byte of work", func(r verdict.WearRow) verdict.Figure { return r.Total }, factor}
	erases := column{"Erases", func(r verdict.WearRow) verdict.Figure { return r.Erased }, whole}
	spread := column{"Spread", func(r verdict.WearRow) verdict.Figure { return r.Spread }, factor}
	life := column{"Life at " + strings.Replace(units.Value(w.Daily, "B"), ".0 ", " ", 1) + " a day", func(r verdict.WearRow) verdict.Figure { return r.Years }, years}
	if w.Raw {
		return []column{programmed, ofWork, erases, spread, {"Pages read", func(r verdict.WearRow) verdict.Figure { return r.PagesRead }, whole}, life}
	}
	return []column{
		programmed,
		{"Sent to it", func(r verdict.WearRow) verdict.Figure { return r.Sent }, valueText},
		{"Per byte sent", func(r verdict.WearRow) verdict.Figure { return r.Device }, factor},
		ofWork, erases,
		{"Merges", func(r verdict.WearRow) verdict.Figure { return r.Merges }, whole},
		spread, life,
	}
}

// lifetime prints years with the two digits that an estimate of life is worth,
// and less than two years in days.
func lifetime(years float64) string {
	switch {
	case years >= 1000:
		return "over 1000 years"
	case years >= 10:
		return fmt.Sprintf("%.0f years", years)
	case years >= 2:
		return fmt.Sprintf("%.1f years", years)
	case years*365.25 >= 1:
		return units.Count(int(years*365.25+0.5), "day")
	}
	return "less than a day"
}
