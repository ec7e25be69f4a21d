package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
)

//go:embed crash.gohtml
var crashTemplate string

//go:embed crash.css
var crashStyle string

// The page of an exploration is one file without scripts, like that of a run.
var crashPage = template.Must(template.New("crash").Parse(crashTemplate))

type crashData struct {
	Crash
	Style      template.CSS
	Facts      [][2]string
	Candidates []crashPart
	Kinds      []crashKind
	Rate       string
	Fates      []crashFate
}

type crashPart struct {
	CrashCandidate
	Answer   string
	State    string // class of the answer: "yes", "no"
	Word     string
	Outcomes []fault.Outcome // that occur, worst first
	Heads    []string
	Rows     []crashRow
	Stops    []string
}

type crashRow struct {
	finding.Tally
	Name, Possible, Looked, Which, Equal, Checked, Kept, Broken string
	Cells                                                       []crashCell
	Bad                                                         bool // what is broken was promised
}

type crashCell struct{ Head, Text, Class string }

type crashShown struct {
	ID, Title, File, When, Left, Same, Check string
	Breaches, Messages                       []string
	Facts                                    [][2]string
	Drawing                                  template.HTML
	Log                                      []crashEntry
}

// crashKind are findings of one kind.
type crashKind struct {
	ID, Title, About string
	List             []crashShown
}

type crashEntry struct{ Entry, Kind, Sectors, What, Fate string }

type crashFate struct {
	Drawing template.HTML
	Text    string
}

// CrashHTML writes an exploration as a page. The error is that of w.
func CrashHTML(w io.Writer, c Crash) error {
	c = cleanedCrash(c)
	d := crashData{Crash: c, Style: template.CSS(pageStyle + crashStyle), Rate: crashRate(c), Facts: paired(crashFacts(c))} //nolint:gosec // our own files
	number := 0
	for _, one := range c.Candidates {
		d.Candidates = append(d.Candidates, crashPartOf(c, one))
	}
	for _, k := range []struct {
		id, title, about string
		which            func(CrashCandidate) []CrashFinding
	}{{"broken", brokenTitle, brokenAbout, CrashCandidate.Broken}, {"mended", mendedTitle, mendedAbout, CrashCandidate.Mended}, {"careless", carelessTitle, carelessAbout, CrashCandidate.Careless}} {
		kind := crashKind{ID: k.id, Title: k.title, About: k.about}
		for _, one := range c.Candidates {
			for _, f := range k.which(one) {
				number++
				kind.List = append(kind.List, crashShownOf(f, number))
			}
		}
		if len(kind.List) > 0 {
			d.Kinds = append(d.Kinds, kind)
		}
	}
	for _, f := range fateOrder {
		d.Fates = append(d.Fates, crashFate{fateSVG(f), fateMeaning[f]})
	}
	return crashPage.Execute(w, d)
}

// paired are facts that are not empty.
func paired(facts []string) [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			out = append(out, [2]string{facts[i], facts[i+1]})
		}
	}
	return out
}

func crashPartOf(c Crash, one CrashCandidate) crashPart {
	p := crashPart{CrashCandidate: one, Answer: crashAnswer(c, one), State: "yes", Word: "kept"}
	switch {
	case len(one.Broken()) > 0:
		p.State, p.Word = "no", "broken"
	case one.Failed != "" || one.total().States == 0:
		p.State, p.Word = "no", "not settled"
	}
	sum := one.total()
	for i := len(fault.Outcomes) - 1; i >= 0; i-- {
		if o := fault.Outcomes[i]; sum.Outcomes[o.Key()] > 0 {
			p.Outcomes, p.Heads = append(p.Outcomes, o), append(p.Heads, o.Words())
		}
	}
	for _, t := range crashRows(one) {
		row := crashRow{Tally: t, Name: scriptText(one, t), Bad: t.Broken > 0 && !one.loose(t), Possible: possible(t.Possible), Looked: whole(t.States), Which: sampled(t), Equal: whole(t.Equal),
			Checked: whole(t.Checked), Kept: whole(t.Promises - t.Broken), Broken: whole(t.Broken)}
		for _, o := range p.Outcomes {
			cell := crashCell{Head: o.Words(), Text: "·"}
			if n := t.Outcomes[o.Key()]; n > 0 {
				cell.Text, cell.Class = whole(n), "o-"+o.Key()
				if !o.Kept() && !one.loose(t) {
					cell.Class += " bad"
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		p.Rows = append(p.Rows, row)
	}
	for _, t := range one.Scripts {
		if t.Stopped != "" {
			p.Stops = append(p.Stops, t.Script+": "+t.Stopped)
		}
	}
	return p
}

func crashShownOf(f CrashFinding, number int) crashShown {
	rows := picture.Of(f.Log, &f.State, f.Script)
	out := crashShown{ID: fmt.Sprintf("finding-%d", number), Title: findingTitle(f.Finding), When: when(f.Finding), Left: left(f.Finding, rows),
		Same: sameText(f.Finding), Check: f.Check, Breaches: breachLines(f.Finding), Messages: f.Messages, Facts: paired(findingFacts(f.Finding)),
		Drawing: crashSVG(f.Finding, number)}
	if f.File != "" {
		out.File = "whichfs crash replay " + shellWord(f.File)
	}
	p := &printer{}
	for _, part := range fold(rows, f.State.Point, false) {
		cells := p.cells(part)
		if part.more == 0 && part.row.Mark() {
			cells[1] = "mark"
		}
		out.Log = append(out.Log, crashEntry{clean(cells[0]), cells[1], cells[2], clean(cells[3]), cells[4]})
	}
	return out
}
