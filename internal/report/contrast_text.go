package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"whichfs/internal/contrast"
	"whichfs/internal/harmless"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// ContrastText writes a comparison of two runs for a terminal or a serial line.
func ContrastText(w io.Writer, c contrast.Contrast, s TextOptions) error {
	p := &printer{TextOptions: s}
	c = harmless.Copy(c, 0)
	p.para(0, "", "What changed between two runs of "+strings.Trim(c.A.Study+", "+c.A.Scale, ", "), nil)
	p.line("")
	p.facts("before", sideText(c.A), "after", sideText(c.B), "kernel", kernelText(c), "differs", aboutText(c))
	if c.Reach != "" {
		p.line("")
		p.para(0, "!", c.Reach, p.yellow)
	}
	for _, text := range c.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.head("Answer")
	for _, text := range c.Answer {
		p.para(0, "", text, nil)
	}
	p.contrastDiffers(c)
	p.contrastMatrix(c)
	p.contrastChanges(c)
	p.contrastOrders(c)
	p.contrastOnly(c)
	_, err := w.Write(p.b.Bytes())
	return err
}

// ContrastJSON writes a comparison for programs.
func ContrastJSON(w io.Writer, c contrast.Contrast) error {
	return writeObject(w, "whichfs-compare", "contrast", c)
}

var contrastHead = []string{
	"before", "after", "column", "unit", "candidate", "a", "a_low", "a_high", "a_n", "b", "b_low", "b_high", "b_n",
	"ratio", "ratio_low", "ratio_high", "sim_low", "sim_high", "p", "adjusted", "outcome", "absent",
}

// ContrastCSV writes one row per comparison. All candidates together have the
// candidate "*"; an end of an interval that is not known is empty.
func ContrastCSV(w io.Writer, c contrast.Contrast) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(contrastHead); err != nil {
		return err
	}
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
	out.Flush()
	return out.Error()
}

func contrastRow(c contrast.Contrast, col contrast.Column, ch contrast.Change) []string {
	row := []string{c.A.ID, c.B.ID, col.Key, col.Unit, ch.Candidate}
	if ch.Absent != "" {
		return append(append(row, make([]string, len(contrastHead)-len(row)-1)...), ch.Absent)
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

func sideText(s contrast.Side) string {
	text := fmt.Sprintf("%s: %s, %s on %s", s.ID, s.Machine, units.Count(s.Rounds, "round"), s.Storage)
	if !s.Started.IsZero() {
		text += ", " + s.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

// kernelText names the kernel of both runs; where they have two, that is
// listed as what differs.
func kernelText(c contrast.Contrast) string {
	if c.A.Kernel != c.B.Kernel {
		return ""
	}
	return c.A.Kernel
}

func aboutText(c contrast.Contrast) string {
	if len(c.About) == 0 {
		return "the time, as far as is known"
	}
	return strings.Join(c.About, ", ")
}

func (p *printer) contrastDiffers(c contrast.Contrast) {
	if len(c.Differs) == 0 {
		return
	}
	p.head("What differs")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}, {Head: "Before", Flex: true}, {Head: "After", Flex: true}}}
	for _, d := range c.Differs {
		t.Rows = append(t.Rows, []string{differenceName(d), absentDash(shorten(d.A)), absentDash(shorten(d.B))})
	}
	p.table(t)
}

func differenceName(d contrast.Difference) string {
	if strings.HasPrefix(d.Name, d.About) {
		return d.Name
	}
	return d.About + ": " + d.Name
}

func absentDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// outcomeMark is a sign beside a ratio; it repeats what the legend says.
func outcomeMark(o contrast.Outcome) string {
	switch o {
	case contrast.Higher:
		return "▲"
	case contrast.Lower:
		return "▼"
	case contrast.Same:
		return "="
	}
	return "?"
}

const matrixKey = "Figures are the run after as times the run before. ▲ higher and ▼ lower: beyond chance, for all of these together, and by more than the margin. = the same within the margin. ? open."

// contrastMatrix prints the ratios of all candidates and columns.
func (p *printer) contrastMatrix(c contrast.Contrast) {
	if len(c.Columns) == 0 {
		return
	}
	p.head("Change by candidate and measure")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	rows := []contrast.Change{{}}
	rows = append(rows, c.Columns[0].Rows...)
	n := &notes{}
	outcomes := make([][]contrast.Outcome, len(rows))
	for i := range rows {
		name := rows[i].Candidate
		if i == 0 {
			name = "all together"
		}
		row := []string{name}
		for _, col := range c.Columns {
			ch := col.All
			if i > 0 {
				ch = col.Rows[i-1]
			}
			outcomes[i] = append(outcomes[i], ch.Outcome)
			row = append(row, changeText(ch, n))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, col := range c.Columns {
		t.Columns = append(t.Columns, TableColumn{Head: col.Name, Right: true})
	}
	t.Paint = func(row, column int, line string) string {
		if column == 0 {
			return line
		}
		switch outcomes[row][column-1] {
		case contrast.Higher:
			return p.red(line)
		case contrast.Lower:
			return p.green(line)
		}
		return line
	}
	p.table(t)
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.para(0, "", matrixKey, nil)
}

func changeText(ch contrast.Change, n *notes) string {
	if ch.Absent != "" {
		return "(" + n.mark(ch.Absent) + ")"
	}
	return ratioOnly(ch) + " " + outcomeMark(ch.Outcome)
}

func ratioOnly(ch contrast.Change) string {
	return ratio(verdict.Interval{Value: ch.Ratio.Value, Single: true})
}

// contrastChanges lists what changed beyond chance, with its intervals.
func (p *printer) contrastChanges(c contrast.Contrast) {
	t := Table{Columns: []TableColumn{{Head: "Measure"}, {Head: "Candidate", Flex: true}, {Head: "Before", Right: true}, {Head: "After", Right: true}, {Head: "After as times before", Right: true}, {Head: "p", Right: true}}}
	for _, list := range [][]contrast.Column{c.Columns, c.Extra} {
		for _, col := range list {
			for i, ch := range append([]contrast.Change{col.All}, col.Rows...) {
				if ch.Outcome != contrast.Higher && ch.Outcome != contrast.Lower {
					continue
				}
				name := ch.Candidate
				if i == 0 {
					name = "all together"
				}
				t.Rows = append(t.Rows, []string{col.Name, name, estimate(ch.A, col.Unit), estimate(ch.B, col.Unit), ratio(ch.Ratio), pText(ch.Adjusted)})
			}
		}
	}
	p.head("What changed beyond chance")
	if len(t.Rows) == 0 {
		p.para(0, "", fmt.Sprintf("Nothing of %s in the study's measures and %s in further ones.", units.Count(c.Family, "comparison"), units.Count(c.Further, "comparison")), nil)
		return
	}
	p.table(t)
	p.line("")
	p.para(0, "", fmt.Sprintf("Further measures of the phases are among these. p is Holm's, over the %s in the study's measures and the %s in further ones, each a family; intervals are of one comparison alone.",
		units.Count(c.Family, "comparison"), units.Count(c.Further, "comparison")), nil)
}

func pText(p float64) string {
	if p < 0.0005 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

func (p *printer) contrastOrders(c contrast.Contrast) {
	if len(c.Orders) == 0 {
		return
	}
	p.head("First in the overall order")
	t := Table{Columns: []TableColumn{{Head: ""}, {Head: "Before", Flex: true}, {Head: "After", Flex: true}}}
	for _, o := range c.Orders {
		t.Rows = append(t.Rows, []string{o.Use, o.A, o.B})
	}
	p.table(t)
}

func (p *printer) contrastOnly(c contrast.Contrast) {
	if len(c.OnlyA)+len(c.OnlyB) == 0 {
		return
	}
	p.head("Candidates of one run alone")
	for _, s := range []struct {
		id    string
		names []string
	}{{c.A.ID, c.OnlyA}, {c.B.ID, c.OnlyB}} {
		if len(s.names) > 0 {
			p.para(0, "–", s.id+": "+strings.Join(s.names, ", "), p.faint)
		}
	}
}
