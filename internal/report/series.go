package report

import (
	"fmt"
	"io"
	"strings"

	"whichfs/internal/harmless"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// SeriesText writes what the runs of a series say together, for a terminal.
func SeriesText(w io.Writer, v verdict.SeriesVerdict, s TextOptions) error {
	p := &printer{TextOptions: s}
	v = cleanedSeries(v)
	if s.Summary {
		p.seriesShort(v)
		_, err := w.Write(p.b.Bytes())
		return err
	}
	p.seriesHead(v)
	p.seriesStorages(v)
	for _, text := range v.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.seriesNumbers(v)
	p.seriesChoices(v)
	p.seriesClaims(v)
	p.seriesMore(v)
	_, err := w.Write(p.b.Bytes())
	return err
}

// seriesShort is the answer of each storage in a line, and the claims.
func (p *printer) seriesShort(v verdict.SeriesVerdict) {
	for _, s := range v.Storages {
		answer := strings.Join(s.Answers, " ")
		if answer == "" {
			answer = "No candidate has figures that could be compared."
		}
		p.para(0, s.Label+":", answer, p.bold)
	}
	for _, text := range v.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.likeness(v.Numbers)
	for _, c := range v.Choices {
		if c.Of > 0 {
			p.para(0, "choices:", fmt.Sprintf("%s: %d of %d places as published", c.Name, c.Same, c.Of), nil)
		}
	}
	if len(v.Claims) > 0 {
		p.para(0, "claims:", tally(plainClaims(v)), nil)
	}
}

func cleanedSeries(v verdict.SeriesVerdict) verdict.SeriesVerdict {
	return harmless.Copy(v, 0)
}

func (p *printer) seriesHead(v verdict.SeriesVerdict) {
	title := v.Title
	if title == "" {
		title = v.Study
	}
	p.para(0, "", title, nil)
	if v.Source != "" {
		p.para(0, "", "after "+v.Source, nil)
	}
	p.line("")
	p.facts(seriesFacts(v)...)
	if v.Reach != "" {
		p.line("")
		p.para(0, "!", v.Reach, p.yellow)
	}
}

func seriesFacts(v verdict.SeriesVerdict) []string {
	study := v.Study
	if v.Scale != "" {
		study += ", " + v.Scale
	}
	var machines []string
	trials, active := 0, 0.0
	for _, s := range v.Storages {
		trials += s.Verdict.Trials.Done
		active += s.Verdict.Trials.Active
		if m := s.Verdict.Run.Machine; m != "" && (len(machines) == 0 || machines[len(machines)-1] != m) {
			machines = append(machines, m)
		}
	}
	return []string{
		"study", study,
		"series", v.Name,
		"machine", strings.Join(machines, ", "),
		"storages", units.Count(len(v.Storages), "run"),
		"trials", fmt.Sprintf("%d that count, %s of running", trials, units.Value(active, "s")),
	}
}

func (p *printer) seriesStorages(v verdict.SeriesVerdict) {
	p.head("Storage by storage")
	for i, s := range v.Storages {
		if i > 0 {
			p.line("")
		}
		state := p.yellow("not settled")
		if s.Settled {
			state = p.green("settled")
		}
		p.line("%s (%s)", p.bold(p.text(s.Label)), state)
		for _, a := range s.Answers {
			p.para(2, "", a, nil)
		}
		if len(s.Answers) == 0 {
			p.para(2, "", "No candidate has figures that could be compared.", nil)
		}
	}
}

// storageLabel names the storage of a table of figures.
func storageLabel(v verdict.SeriesVerdict, t verdict.NumbersTable) string {
	for _, s := range v.Storages {
		if s.Key == t.Storage {
			return s.Label
		}
	}
	return t.Storage
}

// likenessRow is one table of figures in the summary: storage, test, order,
// figures, and how they compare.
func likenessRow(v verdict.SeriesVerdict, t verdict.NumbersTable) []string {
	name := t.Name
	if t.Card {
		name += " *"
	}
	median, near := "–", "–"
	if t.Median.N > 0 {
		median, near = units.Ratio(t.Median.Value), units.Share(float64(t.Within)/float64(t.Median.N))
	}
	return []string{storageLabel(v, t), name, tauText(t.Tau), fmt.Sprint(t.Tau.N), median, near}
}

var likenessHeads = []string{"Storage", "Test", "Tau", "N", "Median ratio", fmt.Sprintf("Within ×%g", verdict.Near)}

const aboutLikeness = "Tau is Kendall's tau-b over the figures of a table, ratios are ours over the published figures; – where too few have both, or the published ones are equal within the noise of their source. * marks tests that the storage decides and not the processor: there the figures show how well this storage stands for the published one."

func (p *printer) seriesNumbers(v verdict.SeriesVerdict) {
	if len(v.Numbers.Tables) == 0 {
		return
	}
	p.head("Published figures beside ours")
	p.likeness(v.Numbers)
	t := Table{}
	for i, h := range likenessHeads {
		t.Columns = append(t.Columns, TableColumn{Head: h, Right: i >= 2, Flex: i < 2})
	}
	last := ""
	for _, one := range v.Numbers.Tables {
		row := likenessRow(v, one)
		if row[0] == last {
			row[0] = ""
		} else {
			last = row[0]
		}
		t.Rows = append(t.Rows, row)
	}
	p.line("")
	p.table(t)
	p.para(0, "", aboutLikeness, nil)
}

func (p *printer) seriesChoices(v verdict.SeriesVerdict) {
	if len(v.Choices) == 0 {
		return
	}
	p.head("Choices, beside the published ones")
	for _, c := range v.Choices {
		same := ""
		if c.Of > 0 {
			same = fmt.Sprintf(": %d of %d places the same", c.Same, c.Of)
		}
		p.para(0, "", fmt.Sprintf("%s (%s)%s", c.Name, c.Source, same), p.bold)
		p.choiceTable(c.Rows)
		p.line("")
	}
	p.para(0, "", aboutChoices, nil)
}

// plainClaims are the claims of a series as those of a run.
func plainClaims(v verdict.SeriesVerdict) []verdict.Claim {
	var out []verdict.Claim
	for _, c := range v.Claims {
		out = append(out, verdict.Claim{ID: c.ID, Text: c.Text, Where: c.Where, Result: c.Result, Figures: c.Figures})
	}
	return out
}

func (p *printer) seriesClaims(v verdict.SeriesVerdict) {
	if len(v.Claims) == 0 {
		return
	}
	p.head("Claims of the study: " + tally(plainClaims(v)))
	wide := len(verdict.NotTested)
	for _, c := range v.Claims {
		p.para(0, claimMark(c.Result)+" "+pad(c.Result, wide, false), c.Text, p.claimPaint(c.Result))
		if c.Figures != "" {
			p.para(wide+3, "", c.Figures, nil)
		}
		for _, on := range c.On {
			p.para(wide+3, claimMark(on.Result), on.Storage+": "+on.Figures, p.claimPaint(on.Result))
		}
	}
}

func (p *printer) seriesMore(v verdict.SeriesVerdict) {
	p.head("More")
	for _, s := range v.Storages {
		if id := s.Verdict.Run.ID; id != "" {
			p.para(0, "", "whichfs report "+id, p.bold)
			p.para(4, "", "everything about the run on "+s.Label, nil)
		}
	}
}

// SeriesJSON writes everything, the verdict of each run included.
func SeriesJSON(w io.Writer, v verdict.SeriesVerdict) error {
	return writeObject(w, "whichfs-series", "series", v)
}
