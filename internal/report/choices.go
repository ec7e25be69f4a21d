package report

import (
	"fmt"

	"whichfs/internal/verdict"
)

// choicePlaces name the places of a table of choices.
var choicePlaces = []string{"Best", "Second", "Third", "Worst"}

const aboutChoices = "Ties are joined with =; ? marks a place that is not settled against another; – stands where the order is shorter or nothing was published."

// choiceRow is one line of a table of choices.
type choiceRow struct {
	Storage, Who string // "published", "here"
	Places       []string
	Same         []bool // ours: the published candidate is among them
	Ours         bool
	Absent       string
}

// choiceRows are two lines for each storage: the published places, and ours.
func choiceRows(list []verdict.Choice) []choiceRow {
	var out []choiceRow
	for _, c := range list {
		dash := func(places [4]string) []string {
			var texts []string
			for _, t := range places {
				if t == "" {
					t = "–"
				}
				texts = append(texts, t)
			}
			return texts
		}
		if c.Published != [4]string{} {
			out = append(out, choiceRow{Storage: c.Storage, Who: "published", Places: dash(c.Published)})
		}
		out = append(out, choiceRow{Storage: c.Storage, Who: "here", Places: dash(c.Ours), Same: c.Same[:], Ours: true, Absent: c.Absent})
	}
	return out
}

// choiceTable prints them for a terminal.
func (p *printer) choiceTable(list []verdict.Choice) {
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}, {Head: ""}}}
	for _, h := range choicePlaces {
		t.Columns = append(t.Columns, TableColumn{Head: h, Flex: true})
	}
	rows := choiceRows(list)
	for i, r := range rows {
		storage := r.Storage
		if i > 0 && rows[i-1].Storage == storage {
			storage = ""
		}
		t.Rows = append(t.Rows, append([]string{storage, r.Who}, r.Places...))
	}
	t.Paint = func(row, column int, line string) string {
		r := rows[row]
		switch {
		case !r.Ours:
			return p.faint(line)
		case column >= 2 && r.Same[column-2]:
			return p.green(line)
		}
		return line
	}
	p.table(t)
	for _, r := range rows {
		if r.Absent != "" {
			p.para(0, "–", r.Storage+": "+r.Absent, p.faint)
		}
	}
}

// choices prints the choices of a single run.
func (p *printer) choices(list []verdict.Choice) {
	if len(list) == 0 {
		return
	}
	p.head("Choices, beside the published ones")
	for _, c := range list {
		p.para(0, "", fmt.Sprintf("%s (%s)", c.Name, c.Source), p.bold)
		p.choiceTable([]verdict.Choice{c})
		p.line("")
	}
	p.para(0, "", aboutChoices, nil)
}

// pageChoice is a table of choices on the page.
type pageChoice struct {
	Name, Source, ID string
	Heads            []string
	Rows             []choiceRow
	Same, Of         int // published places that ours agree with; of none: 0
}

// choicesFor makes a table of each choice of a single run.
func choicesFor(list []verdict.Choice) []pageChoice {
	var out []pageChoice
	for i, c := range list {
		out = append(out, pageChoice{Name: c.Name, Source: c.Source, ID: fmt.Sprintf("choice-%d", i+1), Heads: choicePlaces, Rows: choiceRows([]verdict.Choice{c})})
	}
	return out
}
