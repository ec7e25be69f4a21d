package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// ContrastDoc is a comparison of two runs.
func ContrastDoc(c contrast.Contrast) doc.Doc {
	if c.Prediction != nil {
		return predictionDoc(c)
	}
	title := "What changed"
	if len(c.About) > 0 {
		title += " with a different " + enumerate(c.About)
	}
	study := strings.Trim(c.A.Study+", "+c.A.Scale, ", ")
	kernel := c.A.Kernel
	if c.B.Kernel != kernel {
		kernel = "" // it is listed as what differs
	}
	about := strings.Join(c.About, ", ")
	if about == "" {
		about = "the time, as far as is known"
	}
	d := doc.Doc{
		Title: title + ", between two runs of " + study, Kicker: "whichfs compare", Window: "What changed from " + c.A.ID + " to " + c.B.ID,
		Reach: c.Reach, Warnings: c.Warnings,
		Facts: []doc.Fact{{Name: "study", Text: c.Title}, {Name: "before", Text: sideText(c.A)}, {Name: "after", Text: sideText(c.B)}, {Name: "kernel", Text: kernel}, {Name: "differs", Text: about}},
		Foot: "whichfs compare. Rounds of different runs have nothing in common, so nothing is paired: Welch’s test on logarithms, with Holm’s correction. Differences below " +
			units.Share(c.Margin) + " are the same.",
	}
	d.Sections = compact(contrastAnswer(c), contrastDiffers(c), contrastMatrix(c), contrastChanges(c), contrastFigures(c), contrastOrders(c), contrastOnly(c))
	return d
}

// compact leaves out sections without a body.
func compact(list ...doc.Section) []doc.Section {
	var out []doc.Section
	for _, s := range list {
		if len(s.Body) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// enumerate joins names as a sentence does.
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func sideText(s contrast.Side) string {
	where := s.Machine
	if s.Predicted != "" {
		where = "for " + s.Predicted
	}
	text := fmt.Sprintf("%s: %s, %s on %s", s.ID, where, units.Count(s.Rounds, "round"), s.Storage)
	if !s.Started.IsZero() {
		text += ", " + s.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

func contrastAnswer(c contrast.Contrast) doc.Section {
	s := doc.Section{ID: "answer", Title: "Answer"}
	for i, text := range c.Answer {
		role := doc.Answer
		if i > 0 {
			role = doc.Small
		}
		s.Body = append(s.Body, doc.Para{Role: role, Text: text})
	}
	return s
}

func contrastDiffers(c contrast.Contrast) doc.Section {
	if len(c.Differs) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Columns: doc.Heads(doc.Words, true, append([]string{"Condition"}, sidesOf(c)...)...)}
	for _, d := range c.Differs {
		name := d.Name
		if !strings.HasPrefix(d.Name, d.About) {
			name = d.About + ": " + d.Name
		}
		if d.Matters {
			name += " ◆"
		}
		t.Rows = append(t.Rows, doc.Texts(name, dash(shorten(d.A)), dash(shorten(d.B))))
	}
	return doc.Section{ID: "differs", Title: "What differs", Body: []doc.Block{t, doc.Para{Role: doc.Small, Text: "◆ figures may depend on it"}}}
}

// The signs of outcomes next to a ratio; they repeat the legend.
var contrastSigns = map[contrast.Outcome]string{contrast.Higher: "▲", contrast.Lower: "▼", contrast.Same: "=", contrast.Open: "?"}

// sidesOf are the names of the two runs.
func sidesOf(c contrast.Contrast) []string {
	if c.Prediction != nil {
		return []string{"Predicted", "Measured"}
	}
	return []string{"Before", "After"}
}

const contrastKey = " ▲ higher and ▼ lower: beyond chance, for all of these together, and by more than the margin. = the same within the margin. ? open."

// changed reports whether a measure changed beyond chance, and whether for the
// better.
func changed(ch contrast.Change) (tone doc.Tone, shade int, beyond bool) {
	switch ch.Outcome {
	case contrast.Higher:
		return doc.Bad, 2, true
	case contrast.Lower:
		return doc.Good, 7, true
	}
	return doc.Plain, 0, false
}

// allTogether is the name of all candidates of a column.
const allTogether = "all together"

// changesOf returns the changes of a column: of all candidates together, then
// of each.
func changesOf(col contrast.Column) []contrast.Change {
	all := col.All
	all.Candidate = allTogether
	return append([]contrast.Change{all}, col.Rows...)
}

// aboutRatios says what the ratios are and explains their signs.
func aboutRatios(c contrast.Contrast) string {
	if c.Prediction != nil {
		return "Figures are the ratio of the measured figure to the predicted one." + contrastKey
	}
	return "Figures are the ratio of the run after to the run before." + contrastKey
}

// contrastMatrix shows the ratios of all candidates and columns.
func contrastMatrix(c contrast.Contrast) doc.Section {
	if len(c.Columns) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, col := range c.Columns {
		t.Columns = append(t.Columns, doc.Column{Head: col.Name, Kind: doc.Figures})
		for i, ch := range changesOf(col) {
			if i == len(t.Rows) {
				t.Rows = append(t.Rows, doc.Texts(ch.Candidate))
			}
			cell := doc.Cell{Absent: ch.Absent, Text: units.Ratio(ch.Ratio.Value) + " " + first(contrastSigns[ch.Outcome], "?")}
			cell.Tone, cell.Shade, _ = changed(ch)
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	title, nav := "Change by candidate and measure", "Changes"
	if c.Prediction != nil {
		title, nav = "Measured over predicted, by candidate and measure", "Ratios"
	}
	return doc.Section{ID: "changes", Title: title, Nav: nav, Body: []doc.Block{doc.Para{Text: aboutRatios(c)}, t}}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// contrastHeads are those of contrastCells.
func contrastHeads(c contrast.Contrast) []doc.Column {
	names := sidesOf(c)
	return doc.Heads(doc.Figures, false, names[0], names[1], names[1]+" over "+strings.ToLower(names[0]), "p")
}

func contrastCells(col contrast.Column, ch contrast.Change) []doc.Cell {
	if ch.Absent != "" {
		return []doc.Cell{{Absent: ch.Absent}, {}, {}, {}}
	}
	return []doc.Cell{doc.T(estimate(ch.A, col.Unit)), doc.T(estimate(ch.B, col.Unit)), doc.T(ratio(ch.Ratio)), doc.T(pText(ch.Adjusted))}
}

// contrastChanges lists what changed beyond chance, with its intervals.
func contrastChanges(c contrast.Contrast) doc.Section {
	t := doc.Table{Style: doc.Scroll, Columns: append([]doc.Column{{Head: "Measure"}, {Head: "Candidate", Flex: true}}, contrastHeads(c)...)}
	for _, list := range [][]contrast.Column{c.Columns, c.Extra} {
		for _, col := range list {
			for _, ch := range changesOf(col) {
				if tone, _, beyond := changed(ch); beyond {
					cells := contrastCells(col, ch)
					cells[2].Tone = tone
					t.Rows = append(t.Rows, doc.Row{Cells: append([]doc.Cell{doc.T(col.Name), doc.T(ch.Candidate)}, cells...)})
				}
			}
		}
	}
	s := doc.Section{ID: "beyond-chance", Title: "What changed beyond chance", Nav: "Beyond chance"}
	family, further := units.Count(c.Family, "comparison"), units.Count(c.Further, "comparison")
	if len(t.Rows) == 0 {
		s.Body = []doc.Block{doc.Para{Text: fmt.Sprintf("None of %s in the study's measures and %s in further ones.", family, further)}}
		return s
	}
	s.Body = []doc.Block{t, doc.Para{Role: doc.Small,
		Text: fmt.Sprintf("These include further measures of the phases. p is corrected by Holm's method over the %s in the study's measures and the %s in further ones, each a family; intervals are 95 %% intervals of one comparison alone.", family, further)}}
	return s
}

// contrastFigures shows all figures, measure by measure.
func contrastFigures(c contrast.Contrast) doc.Section {
	s := doc.Section{ID: "figures", Title: "Figures", In: doc.Page}
	for _, list := range [][]contrast.Column{c.Columns, c.Extra} {
		for _, col := range list {
			t := doc.Table{Style: doc.Scroll, Name: "Figures of " + col.Name, Columns: append(append([]doc.Column{{Head: "Candidate"}}, contrastHeads(c)...), doc.Column{Head: "Shown"})}
			count := 0
			for _, ch := range changesOf(col) {
				tone, _, beyond := changed(ch)
				if beyond {
					count++
				}
				t.Rows = append(t.Rows, doc.Row{Cells: append(append([]doc.Cell{doc.T(ch.Candidate)}, contrastCells(col, ch)...), doc.Cell{Text: string(ch.Outcome), Tone: tone})})
			}
			words := "nothing changed beyond chance"
			switch {
			case c.Prediction != nil:
				words = units.Count(count, "difference") + " beyond chance"
			case count > 0:
				words = units.Count(count, "change") + " beyond chance"
			}
			s.Body = append(s.Body, doc.Fold{Summary: col.Name, Small: words, Open: count > 0, Body: []doc.Block{doc.Para{Role: doc.Small, Text: col.About}, t, doc.Footnotes{}}})
		}
	}
	return s
}

func pText(p float64) string {
	if p < 0.0005 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

func contrastOrders(c contrast.Contrast) doc.Section {
	if len(c.Orders) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Columns: doc.Heads(doc.Words, true, append([]string{"Work"}, sidesOf(c)...)...)}
	for _, o := range c.Orders {
		t.Rows = append(t.Rows, doc.Texts(o.Use, o.A, o.B))
	}
	return doc.Section{ID: "orders", Title: "First in the overall order", Nav: "Orders", Body: []doc.Block{t}}
}

func contrastOnly(c contrast.Contrast) doc.Section {
	var list []doc.Item
	for _, s := range []struct {
		when, id string
		names    []string
	}{{"before", c.A.ID, c.OnlyA}, {"after", c.B.ID, c.OnlyB}} {
		if len(s.names) > 0 {
			list = append(list, doc.Item{Mark: "–", Lead: s.id + ", " + s.when, Text: strings.Join(s.names, ", "), Muted: true})
		}
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "only", Title: "Candidates of only one run", Body: []doc.Block{doc.Items{List: list}}}
}

// ContrastJSON writes a comparison for programs.
func ContrastJSON(w io.Writer, c contrast.Contrast) error {
	return writeObject(w, "whichfs-compare", "contrast", c)
}

var contrastFields = []string{
	"before", "after", "column", "unit", "candidate", "a", "a_low", "a_high", "a_n", "b", "b_low", "b_high", "b_n",
	"ratio", "ratio_low", "ratio_high", "sim_low", "sim_high", "p", "adjusted", "outcome", "absent",
}

// ContrastCSV writes one row per comparison of the given ones. All candidates together have the
// name "*"; an unknown end of an interval is empty.
func ContrastCSV(w io.Writer, contrasts ...contrast.Contrast) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(contrastFields); err != nil {
		return err
	}
	for _, c := range contrasts {
		if err := contrastRows(out, c); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func contrastRows(out *csv.Writer, c contrast.Contrast) error {
	for _, list := range [][]contrast.Column{c.Columns, c.Extra} {
		for _, col := range list {
			for i, ch := range append([]contrast.Change{col.All}, col.Rows...) {
				if i == 0 {
					ch.Candidate = "*"
				}
				if err := out.Write(contrastRow(c, col, ch)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func contrastRow(c contrast.Contrast, col contrast.Column, ch contrast.Change) []string {
	row := []string{c.A.ID, c.B.ID, col.Key, col.Unit, ch.Candidate}
	if ch.Absent != "" {
		return append(append(row, make([]string, len(contrastFields)-len(row)-1)...), ch.Absent)
	}
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	ends := func(v verdict.Interval) []string {
		if v.Single {
			return []string{figure(v.Value), "", ""}
		}
		return []string{figure(v.Value), figure(v.Low), figure(v.High)}
	}
	row = append(append(row, ends(ch.A)...), strconv.Itoa(ch.A.N))
	row = append(append(row, ends(ch.B)...), strconv.Itoa(ch.B.N))
	row = append(row, ends(ch.Ratio)...)
	sim := []string{"", ""}
	if ch.SimHigh > 0 {
		sim = []string{figure(ch.SimLow), figure(ch.SimHigh)}
	}
	return append(append(row, sim...), figure(ch.P), figure(ch.Adjusted), string(ch.Outcome), "")
}
