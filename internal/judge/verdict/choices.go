package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
)

// Choice is one row of a table of choices: the best, second, third and worst
// candidate on this storage, beside the published ones.
type Choice struct {
	Name    string `json:"name"` // of the table: "large files"
	Source  string `json:"source"`
	Storage string `json:"storage"` // its label
	// Published are the published places, Ours those measured here. Ties are
	// joined with "="; a place that is not settled against its neighbour is marked
	// "?". Empty where the order is shorter.
	Published [4]string `json:"published"`
	Ours      [4]string `json:"ours"`
	// Same says of each place that the published candidate is among ours.
	Same [4]bool `json:"same"`
	// Absent is why there is no order at all.
	Absent string `json:"absent,omitempty"`
}

// choices are the published tables of choices, with this storage's row.
func (f *figures) choices() ([]Choice, error) {
	var out []Choice
	for _, t := range f.study.Choices {
		c := Choice{Name: t.Name, Source: t.Source, Storage: f.run.Storage}
		if s, ok := f.study.Storage(f.run.Scale, f.storage); ok {
			c.Storage = s.Label
		}
		for _, r := range t.Rows {
			if r.Storage == f.storage {
				c.Published = r.Places
			}
		}
		groups, err := f.choose(t)
		if err != nil {
			return nil, fmt.Errorf("choice %s: %w", t.Name, err)
		}
		if len(groups) == 0 {
			c.Absent = "fewer than two candidates have all the figures it needs"
		}
		c.place(groups)
		out = append(out, c)
	}
	return out, nil
}

// chosen is a group of candidates shown to be equal; open: its order against
// some other group is not settled.
type chosen struct {
	names []string
	open  bool
}

// choose orders the candidates by the product of the table's columns and joins
// those tied with the first of their group.
func (f *figures) choose(t study.Choice) ([]chosen, error) {
	var columns []*column
	for _, k := range t.Columns {
		c := f.columns[k]
		if c == nil || c.additive {
			return nil, nil
		}
		columns = append(columns, c)
	}
	var names []string
	for _, s := range f.subjects {
		if len(t.Among) > 0 && !slices.Contains(t.Among, s.Name) {
			continue
		}
		names = append(names, s.Name)
	}
	score := f.product(columns, names)
	if len(score.names) < 2 {
		return nil, nil
	}
	if err := score.compute(f.margin); err != nil {
		return nil, err
	}
	return grouped(score), nil
}

// grouped joins tied neighbours of an order.
func grouped(score *column) []chosen {
	order := score.order()
	var groups []chosen
	for _, n := range order {
		last := len(groups) - 1
		if last >= 0 && score.pair(groups[last].names[0], n).Outcome == stats.Tied {
			groups[last].names = append(groups[last].names, n)
			continue
		}
		groups = append(groups, chosen{names: []string{n}})
	}
	for i := range groups {
		for _, n := range groups[i].names {
			for _, other := range order {
				if !slices.Contains(groups[i].names, other) && score.pair(n, other).Outcome == stats.Open {
					groups[i].open = true
				}
			}
		}
	}
	return groups
}

// place fills the four places: the first three groups and the last.
func (c *Choice) place(groups []chosen) {
	at := func(i int) *chosen {
		if i < 0 || i >= len(groups) {
			return nil
		}
		return &groups[i]
	}
	places := [4]*chosen{at(0), at(1), at(2), at(len(groups) - 1)}
	if len(groups) < 2 {
		places[3] = nil
	}
	for i, g := range places {
		if g == nil {
			continue
		}
		c.Ours[i] = strings.Join(g.names, " = ")
		if g.open {
			c.Ours[i] += " ?"
		}
		c.Same[i] = slices.Contains(g.names, c.Published[i])
	}
}

// product gives each candidate that has a figure in every column, round by
// round, the geometric mean of these figures, each as a multiple of the best of
// all such candidates.
func (f *figures) product(columns []*column, candidates []string) *column {
	names := slices.DeleteFunc(slices.Clone(candidates), func(n string) bool {
		return slices.ContainsFunc(columns, func(c *column) bool { return !c.has(n) })
	})
	score := &column{def: study.Column{Key: "score", Unit: "1"}, absent: map[string]string{}}
	for _, n := range names {
		if s := geometric(columns, names, n); len(s) > 0 {
			score.add(n, s)
			score.doubted(n, productDoubts(columns, n, 1/float64(len(columns))))
		}
	}
	return score
}
