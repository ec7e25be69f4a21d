package report

import (
	"fmt"
	"io"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/units"
)

// fateSigns are the same in every theme: what a write became is told by a sign
// and a word, and colour only repeats them.
var fateSigns = map[picture.Fate]string{
	picture.Durable: "●", picture.Kept: "◆", picture.Torn: "◐", picture.Lost: "○", picture.Unsent: "·",
}

var asciiFates = map[picture.Fate]string{
	picture.Durable: "#", picture.Kept: "K", picture.Torn: "/", picture.Lost: "x", picture.Unsent: ".",
}

// fateOrder is that of the legend.
var fateOrder = []picture.Fate{picture.Durable, picture.Kept, picture.Torn, picture.Lost, picture.Unsent}

var fateMeaning = map[picture.Fate]string{
	picture.Durable: "durable: a flush or FUA had put it onto the medium",
	picture.Kept:    "kept: nothing had made it durable, and it reached the medium",
	picture.Torn:    "torn: likewise, and only some of its sectors",
	picture.Lost:    "lost: nothing had made it durable, and it is gone",
	picture.Unsent:  "not sent: the power had gone",
}

// FindingText writes a finding and its log as a picture. all shows every entry,
// and folds none.
func FindingText(w io.Writer, f finding.Finding, all bool, s TextOptions) error {
	p := &printer{TextOptions: s}
	p.para(0, "", findingTitle(cleanedFinding(f)), nil)
	p.line("")
	p.finding(f, all)
	_, err := w.Write(p.b.Bytes())
	return err
}

// finding writes all of it but the title.
func (p *printer) finding(f finding.Finding, all bool) {
	rows := picture.Of(f.Log, &f.State, f.Script)
	f = cleanedFinding(f)
	p.facts(findingFacts(f)...)
	p.line("")
	p.findingBody(0, f)
	p.head("The log, and what the cut left of it")
	p.rowsOf(rows, f.State.Point, all)
}

func findingFacts(f finding.Finding) []string {
	return []string{
		"candidate", f.Candidate,
		"script", f.Script.Name,
		"about", f.Script.About,
		"disk", units.Size(f.Size),
		"kernel", f.Kernel,
		"state", fmt.Sprintf("number %d with seed %d", f.Number, f.Seed),
	}
}

// LogText writes a log whose power was not cut as a picture.
func LogText(w io.Writer, name string, l writelog.Log, all bool, s TextOptions) error {
	p := &printer{TextOptions: s}
	rows := picture.Of(l, nil, script.Script{})
	n := map[string]int{}
	bytes := uint64(0)
	for i, r := range rows {
		n[r.Kind]++
		if l.Entries[i].IsWrite() {
			n["writes"]++
			bytes += r.Sectors * writelog.SectorSize
		}
		if r.Flushes() {
			n["flushes"]++
		}
	}
	p.para(0, "", "Log "+clean(name), nil)
	p.line("")
	p.facts("entries", fmt.Sprint(len(rows)), "writes", fmt.Sprintf("%d, %s", n["writes"], units.Value(float64(bytes), "B")),
		"flushes", fmt.Sprint(n["flushes"]), "discards", fmt.Sprint(n["discard"]), "marks", fmt.Sprint(n["mark"]))
	p.head("What the device was sent")
	p.rowsOf(rows, -1, all)
	_, err := w.Write(p.b.Bytes())
	return err
}

// rowsOf prints entries in the order of time. point is how many had been sent
// when the power went; below zero: it was not cut.
func (p *printer) rowsOf(rows []picture.Row, point int, all bool) {
	t := Table{Columns: []TableColumn{{Head: "Entry", Right: true}, {Head: "Request"}, {Head: "Sectors", Right: true}, {Head: "What", Flex: true}}}
	if point >= 0 {
		t.Columns = append(t.Columns, TableColumn{Head: "At the cut"})
	}
	seen := map[picture.Fate]bool{}
	var fates []picture.Fate
	cut := func() {
		t.Rows = append(t.Rows, []string{"", "✗ power cut", "", strings.Repeat("─", 24), ""})
		fates = append(fates, picture.None)
	}
	done := point < 0
	for _, part := range fold(rows, point, all) {
		if !done && (part.row.Entry >= point) {
			cut()
			done = true
		}
		t.Rows = append(t.Rows, p.cells(part))
		fates = append(fates, part.row.Fate)
		seen[part.row.Fate] = true
	}
	if !done {
		cut()
	}
	t.Paint = func(row, column int, line string) string {
		if column != 4 && t.Rows[row][1] != "✗ power cut" {
			return line
		}
		switch fates[row] {
		case picture.Durable, picture.Kept:
			return p.green(line)
		case picture.Torn:
			return p.yellow(line)
		case picture.Lost:
			return p.red(line)
		case picture.None:
			return p.bold(line)
		case picture.Unsent:
		}
		return p.faint(line)
	}
	p.table(t)
	p.line("")
	for _, f := range fateOrder {
		if seen[f] {
			p.para(0, p.sign(f), fateMeaning[f], nil)
		}
	}
}

func (p *printer) sign(f picture.Fate) string {
	if p.ASCII {
		return asciiFates[f]
	}
	return fateSigns[f]
}

func (p *printer) cells(part folded) []string {
	r := part.row
	if part.more > 0 {
		return []string{"…", fmt.Sprintf("%d more", part.more), "", "", foldedFate(r)}
	}
	sectors := ""
	if r.Sectors > 0 {
		sectors = sectorRange(r)
	}
	kind := r.Kind
	if r.Mark() {
		kind = "  (mark)"
	}
	return []string{fmt.Sprint(r.Entry), kind, sectors, r.What, p.fate(r)}
}

// foldedFate says what became of a stretch that is not shown.
func foldedFate(r picture.Row) string {
	switch r.Fate {
	case picture.Durable, picture.Unsent:
		return "all " + r.Fate.String()
	case picture.None, picture.Kept, picture.Torn, picture.Lost:
	}
	return ""
}

func (p *printer) fate(r picture.Row) string {
	switch r.Fate {
	case picture.None:
		if r.Flushes() {
			return "all before is durable"
		}
		return ""
	case picture.Torn:
		return p.sign(r.Fate) + " " + tornText(r)
	case picture.Durable, picture.Kept, picture.Lost, picture.Unsent:
	}
	return p.sign(r.Fate) + " " + r.Fate.String()
}

func tornText(r picture.Row) string {
	return fmt.Sprintf("torn: %d of %d from %d", r.Reached, r.Sectors, r.Sector+uint64(r.First))
}

func sectorRange(r picture.Row) string {
	if r.Sectors == 1 {
		return fmt.Sprint(r.Sector)
	}
	return fmt.Sprintf("%d–%d", r.Sector, r.Sector+r.Sectors-1)
}
