package verdict

import (
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// leastTau separates agreement with a published order from disagreement: at a
// third, two of three pairs are in the same order.
const leastTau = 1.0 / 3

// leastRows: an order of fewer filesystems says nothing.
const leastRows = 4

// checkOrder: the claim agrees if tau-b is above a third however the unsettled
// pairs turn out, and disagrees if it is below however they do.
func (f *figures) checkOrder(out *Claim, k study.OrderCheck) {
	c := f.columns[k.Measured()]
	names, places := f.order(k.Column, k.Measured())
	if c == nil || len(names) < leastRows {
		out.Figures = fmt.Sprintf("this run has figures for only %d of the published rows, too few to compare orders", len(names))
		return
	}
	tau, ok := c.tau(names, places)
	if !ok {
		out.Figures = "the published column has no order"
		return
	}
	out.Tau, out.HasTau = tau, true
	low, high, open := c.tauRange(names, places, 0)
	out.Figures = fmt.Sprintf("tau-b %s over %s", tauNumber(tau), units.Count(len(names), "filesystem"))
	switch {
	case open > 0:
		out.Figures += fmt.Sprintf("; %s not settled, so between %s and %s", units.Count(open, "pair"), tauNumber(low), tauNumber(high))
	case math.Abs(low-tau) > 0.005:
		out.Figures += fmt.Sprintf("; %s with pairs as equal that are within the margin", tauNumber(low))
	}
	switch {
	case low >= leastTau:
		out.Result = Agrees
	case high < leastTau:
		out.Result = Disagrees
	default:
		out.Result = Undecided
	}
}

// order returns the published places of those rows of the first table that have
// a grade in column key and a figure in column by; larger places are worse.
func (f *figures) order(key, by string) (names []string, places []float64) {
	for _, t := range f.study.Tables {
		at := slices.Index(t.Columns, key)
		c := f.columns[by]
		if at < 0 || c == nil {
			continue
		}
		for _, r := range t.Rows {
			if at < len(r.Grades) && r.Grades[at] != "" && c.has(r.Candidate) {
				names = append(names, r.Candidate)
				places = append(places, -float64(slices.Index(t.Scale, r.Grades[at])))
			}
		}
		break
	}
	return names, places
}

func (c *column) tau(names []string, places []float64) (float64, bool) {
	values := make([]float64, len(names))
	for i, n := range names {
		values[i] = c.value(n).Value
	}
	tau, ok, err := stats.Kendall(places, values)
	return tau, ok && err == nil
}

// near reports whether two published figures are equal within the noise of
// their source.
func near(a, b, noise float64) bool {
	return a == b || noise > 0 && math.Abs(math.Log(a/b)) <= math.Log1p(noise)
}

// tauWithin is tau-b where figures within noise of each other, published or
// ours, count as tied. Such ties are not transitive, so it works by pairs; the
// definition of tau-b needs no more. It is undefined where all of either are
// tied.
func (c *column) tauWithin(names []string, places []float64, noise float64) (float64, bool) {
	var sum, pairs, tiedX, tiedY float64
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			pairs++
			ours, theirs := c.value(names[i]).Value/c.value(names[j]).Value, places[i]/places[j]
			x, y := near(places[i], places[j], noise), near(c.value(names[i]).Value, c.value(names[j]).Value, noise)
			switch {
			case !x && !y && (ours > 1) == (theirs > 1):
				sum++
			case !x && !y:
				sum--
			}
			if x {
				tiedX++
			}
			if y {
				tiedY++
			}
		}
	}
	size := math.Sqrt((pairs - tiedX) * (pairs - tiedY))
	if size == 0 {
		return 0, false
	}
	return sum / size, true
}

// tauRange is the least and the greatest tau-b that the settled pairs allow.
// Pairs within the margin count as tied.
func (c *column) tauRange(names []string, places []float64, noise float64) (low, high float64, open int) {
	var settled, pairs, tiedX, tiedY, free float64
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			pairs++
			x := 0.0
			if !near(places[i], places[j], noise) {
				x = math.Copysign(1, places[i]-places[j])
			} else {
				tiedX++
			}
			switch c.pair(names[i], names[j]).Outcome {
			case stats.Lower:
				settled -= x
			case stats.Higher:
				settled += x
			case stats.Tied:
				tiedY++
			default:
				open++
				free += math.Abs(x)
			}
		}
	}
	size := math.Sqrt((pairs - tiedX) * (pairs - tiedY))
	if size == 0 {
		return 0, 0, open
	}
	return math.Max(-1, (settled-free)/size), math.Min(1, (settled+free)/size), open
}

// published compares a published table with ours.
func (f *figures) published(t study.Table, columns []Column) Published {
	p := Published{Name: t.Name, Source: t.Source, Columns: t.Columns}
	for _, k := range t.Columns {
		name := k
		if def, ok := f.study.Column(k); ok {
			name = def.Name
		}
		p.Names = append(p.Names, name)
		names, places := f.order(k, k)
		tau := Tau{N: len(names)}
		if c := f.columns[k]; c != nil && len(names) >= leastRows {
			tau.Value, tau.Has = c.tau(names, places)
		}
		p.Taus = append(p.Taus, tau)
	}
	for _, r := range t.Rows {
		row := PublishedRow{Label: r.Label, Candidate: r.Candidate, Theirs: r.Grades, Ours: make([]string, len(t.Columns))}
		for i, k := range t.Columns {
			for _, c := range columns {
				for _, cell := range c.Cells {
					if c.Key == k && cell.Candidate == r.Candidate {
						row.Ours[i] = cell.Grade.String()
					}
				}
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}
