package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/history"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// HistoryDoc shows one group of a history, and how the others are. The error is one of drawing.
func HistoryDoc(h history.History, at int) (doc.Doc, error) {
	g := h.Groups[at]
	d := doc.Doc{Title: "History of " + first(h.Title, h.Study), Window: "History of " + h.Study, Kicker: "whichfs history",
		Facts: []doc.Fact{{Name: "study", Text: strings.Trim(h.Study+", "+g.Scale, ", ")}, {Name: "machine", Text: g.Machine}, {Name: "processor", Text: g.On}, {Name: "storage", Text: g.Storage},
			{Name: "clock", Text: g.Clock}, {Name: string(h.By), Text: stepCount(g)}},
		Foot: fmt.Sprintf("whichfs history. A change is more than %s, beyond chance after Bonferroni’s correction for %s, and outside of what the runs before it predict.", units.Share(h.Margin), units.Count(g.Family, "comparison"))}
	lines, err := historyLines(g, h.By)
	if err != nil {
		return d, err
	}
	d.Sections = compact(historyChanges(h, g), lines, historySteps(g, h.By), historyGroups(h, at))
	return d, nil
}

func stepCount(g history.Group) string {
	text := fmt.Sprint(len(g.Steps))
	if g.Earlier > 0 {
		text += fmt.Sprintf(", and %d earlier ones that are left out", g.Earlier)
	}
	if g.Older > 0 {
		text += fmt.Sprintf(", without %s", units.Count(g.Older, "older run"))
	}
	return text
}

// stepCell leads to the run of a step.
func stepCell(s history.Step) doc.Cell { return doc.Cell{Text: s.Name, Origin: "runs/" + s.Runs[0]} }

// historyChanges names each change with the first step that has it.
func historyChanges(h history.History, g history.Group) doc.Section {
	what := "run"
	if h.By == history.ByKernel {
		what = "kernel"
	}
	t := doc.Table{Columns: []doc.Column{{Head: "First " + what + " that has it", Kind: doc.Names}, {Head: "Measure"}, {Head: "Candidate", Flex: true}, {Head: "Before", Kind: doc.Estimates}, {Head: "Since", Kind: doc.Estimates},
		{Head: "Since over before", Kind: doc.Figures}, {Head: "p", Kind: doc.Figures}, {Head: "Differs", Flex: true}}}
	for i, s := range g.Steps {
		for _, col := range g.Columns {
			for _, l := range col.Lines {
				for _, c := range l.Changes {
					if c.Step != i {
						continue
					}
					tone, sign := doc.Good, "▼"
					if c.Worse {
						tone, sign = doc.Bad, "▲"
					}
					t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{stepCell(s), doc.T(col.Name), doc.T(l.Candidate), doc.T(estimate(c.Before, col.Unit)), doc.T(estimate(c.After, col.Unit)),
						{Text: ratio(c.Ratio) + " " + sign, Tone: tone}, doc.T(pText(c.P)), doc.T(dash(strings.Join(s.Differs, "; ")))}})
				}
			}
		}
	}
	s := doc.Section{ID: "changes", Title: "What changed, and since when", Nav: "Changes"}
	if len(t.Rows) == 0 {
		s.Body = []doc.Block{doc.Para{Role: doc.Answer, Text: fmt.Sprintf("No change of more than %s is shown in %s.", units.Share(h.Margin), units.Count(len(g.Steps), what))}}
		return s
	}
	s.Body = []doc.Block{doc.Para{Text: "▲ more, which is worse, and ▼ less. Each figure is compared with the level of all before it, back to the last change."}, t}
	return s
}

// historyLines has a chart for each measure with a line for each candidate.
func historyLines(g history.Group, by history.Order) (doc.Section, error) {
	var names []string
	for _, col := range g.Columns {
		for _, l := range col.Lines {
			if !slices.Contains(names, l.Candidate) {
				names = append(names, l.Candidate)
			}
		}
	}
	axis := map[history.Order]string{history.ByRun: "run", history.ByKernel: "kernel"}[by]
	s := doc.Section{ID: "lines", Title: "Figures by " + axis, Nav: "Figures"}
	parts := doc.Parts{}
	for _, col := range g.Columns {
		curve := verdict.Curve{Axis: axis, Name: col.Name, Unit: col.Unit}
		chart := doc.Chart{}
		legend := doc.Table{Style: doc.Legend, In: doc.Page, Columns: []doc.Column{{Head: "Line"}, {Head: "No."}, {Head: "Candidate", Kind: doc.Names}, {Head: "Latest", Kind: doc.Figures}}}
		for _, l := range col.Lines {
			curve.Lines = append(curve.Lines, curveLine(l))
			number := slices.Index(names, l.Candidate)
			sample, err := lineSample(number)
			if err != nil {
				return s, err
			}
			latest := estimate(l.Points[len(l.Points)-1].Estimate, col.Unit)
			legend.Rows = append(legend.Rows, doc.Row{Cells: []doc.Cell{{Sample: sample}, doc.T(strconv.Itoa(number + 1)), doc.T(l.Candidate), doc.T(latest)}})
			chart.Text = append(chart.Text, historyStrip(l, col.Unit)...)
		}
		drawing, err := linesSVG(curve, names, "candidate")
		if err != nil {
			return s, err
		}
		chart.SVG = drawing
		table := historyTable(g, col)
		parts.List = append(parts.List, doc.Part{ID: "history-" + doc.Slug(col.Key), Title: col.Name, Body: []doc.Block{chart, legend,
			doc.Fold{In: doc.Page, Summary: "Figures of " + col.Name, Small: units.Count(len(table.Rows), "row"), Body: []doc.Block{table}}}})
	}
	if len(parts.List) > 0 {
		s.Body = []doc.Block{doc.Para{In: doc.Page, Text: "Each candidate has one line, with the same number in every chart; the numbers are at the ends of the lines."}, parts}
	}
	return s, nil
}

func curveLine(l history.Line) verdict.CurveLine {
	out := verdict.CurveLine{Candidate: l.Candidate}
	for _, p := range l.Points {
		out.Points = append(out.Points, verdict.CurvePoint{Value: float64(p.Step + 1), Estimate: p.Estimate})
	}
	return out
}

// historyStrip is a line for a terminal.
func historyStrip(l history.Line, unit string) []doc.Block {
	top := 0.0
	for _, p := range l.Points {
		top = max(top, p.Estimate.Value)
	}
	var steps []float64
	for _, p := range l.Points {
		steps = append(steps, p.Estimate.Value/top)
	}
	text := estimate(l.Points[len(l.Points)-1].Estimate, unit)
	if len(l.Points) > 1 {
		text = estimate(l.Points[0].Estimate, unit) + " to " + text
	}
	return []doc.Block{doc.Items{List: []doc.Item{{Lead: l.Candidate}}}, doc.Strip{Steps: steps, Text: text}}
}

// historyTable has a row for each step and candidate.
func historyTable(g history.Group, col history.Column) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: "Figures of " + col.Name, Columns: []doc.Column{{Head: "Step", Kind: doc.Names}, {Head: "Candidate"}, {Head: "Figure", Kind: doc.Figures}, {Head: "Rounds", Kind: doc.Figures}, {Head: "Changed", Kind: doc.Figures}}}
	for i, s := range g.Steps {
		for _, l := range col.Lines {
			at := slices.IndexFunc(l.Points, func(p history.Point) bool { return p.Step == i })
			if at < 0 {
				continue
			}
			changed := doc.T("–")
			if k := slices.IndexFunc(l.Changes, func(c history.Change) bool { return c.Step == i }); k >= 0 {
				changed = doc.Cell{Text: ratio(l.Changes[k].Ratio), Tone: map[bool]doc.Tone{true: doc.Bad, false: doc.Good}[l.Changes[k].Worse]}
			}
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{stepCell(s), doc.T(l.Candidate), doc.T(estimate(l.Points[at].Estimate, col.Unit)), doc.T(strconv.Itoa(l.Points[at].Estimate.N)), changed}})
		}
	}
	return t
}

// historySteps lists the runs or kernels with what differs from one to the next.
func historySteps(g history.Group, by history.Order) doc.Section {
	t := doc.Table{Columns: []doc.Column{{Head: "No.", Kind: doc.Figures}, {Head: "Step", Kind: doc.Names}, {Head: "Runs", Flex: true}, {Head: "Kernel", Flex: true}, {Head: "whichfs"}, {Head: "Started"}, {Head: "Differs from the one before", Flex: true}}}
	if by == history.ByRun {
		t.Columns[2].In = doc.Brief // it is the step
	}
	if by == history.ByKernel {
		t.Columns[3].In = doc.Brief
	}
	for i, s := range g.Steps {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(strconv.Itoa(i + 1)), stepCell(s), doc.T(units.List(s.Runs, 6)), doc.T(s.Kernel), doc.T(s.Version),
			doc.T(s.Started.UTC().Format("2006-01-02 15:04 UTC")), doc.T(dash(strings.Join(s.Differs, "; ")))}})
	}
	return doc.Section{ID: "steps", Title: "What is compared", Nav: "Steps", Body: []doc.Block{t}}
}

// historyGroups lists the groups of runs that are comparable.
func historyGroups(h history.History, at int) doc.Section {
	if len(h.Groups) < 2 {
		return doc.Section{}
	}
	t := doc.Table{Columns: []doc.Column{{Head: "No.", Kind: doc.Figures}, {Head: "Machine", Kind: doc.Names}, {Head: "Processor"}, {Head: "Storage"}, {Head: "Clock"}, {Head: "Scale"}, {Head: "Data", Flex: true}, {Head: "Steps", Kind: doc.Figures}, {Head: "Changes", Kind: doc.Figures}}}
	for i, g := range h.Groups {
		changes := 0
		for _, c := range g.Columns {
			for _, l := range c.Lines {
				changes += len(l.Changes)
			}
		}
		steps, changed := doc.T(stepCount(g)), doc.T(strconv.Itoa(changes))
		if len(g.Steps) == 0 { // only what it is was read
			steps, changed = doc.T(units.Count(g.Older, "run")), doc.Cell{Absent: "counted when the group is shown"}
		}
		number := doc.T(strconv.Itoa(i + 1))
		if i == at {
			number.Tag = "this one"
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{number, doc.T(g.Machine), doc.T(g.On), doc.T(g.Storage), doc.T(g.Clock), doc.T(g.Scale), doc.T(shorten(strings.Join(g.Data, "; "))), steps, changed}})
	}
	return doc.Section{ID: "groups", Title: "Groups of comparable runs", Nav: "Groups", Body: []doc.Block{t}}
}

// HistoryJSON writes a history for programs.
func HistoryJSON(w io.Writer, h history.History) error {
	return writeObject(w, "whichfs-history", "history", h)
}

// HistoryCSV writes one row per figure.
func HistoryCSV(w io.Writer, h history.History) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	_ = out.Write([]string{"study", "scale", "machine", "processor", "storage", "clock", "step", "name", "kernel", "started", "column", "unit", "candidate", "value", "low", "high", "n", "ratio", "p"}) // Error has it
	for _, g := range h.Groups {
		for _, col := range g.Columns {
			for _, l := range col.Lines {
				for _, p := range l.Points {
					s := g.Steps[p.Step]
					row := []string{h.Study, g.Scale, g.Machine, g.On, g.Storage, g.Clock, strconv.Itoa(p.Step + 1), s.Name, s.Kernel, csvTime(s.Started), col.Key, col.Unit, l.Candidate,
						figure(p.Estimate.Value), "", "", strconv.Itoa(p.Estimate.N), "", ""}
					if !p.Estimate.Single {
						row[14], row[15] = figure(p.Estimate.Low), figure(p.Estimate.High)
					}
					if k := slices.IndexFunc(l.Changes, func(c history.Change) bool { return c.Step == p.Step }); k >= 0 {
						row[17], row[18] = figure(l.Changes[k].Ratio.Value), figure(l.Changes[k].P)
					}
					_ = out.Write(row) // Error has it
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
