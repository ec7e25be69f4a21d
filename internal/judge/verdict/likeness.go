package verdict

import (
	"fmt"
	"math"

	"whichfs/internal/judge/stats"
	"whichfs/internal/sys/units"
)

// Likeness sums up how well published tables agree with ours.
type Likeness struct {
	Tables int     `json:"tables"` // tables with an order to compare
	Tau    float64 `json:"tau"`    // median of theirs
	Cells  int     `json:"cells"`  // with both figures
	Ratio  float64 `json:"ratio"`  // median of ours over theirs
	Within int     `json:"within"` // cells within a factor of Near
}

// gathered collects the figures of several tables.
type gathered struct{ taus, ours, theirs []float64 }

func (g *gathered) add(t NumbersTable) {
	if t.Tau.Has {
		g.taus = append(g.taus, t.Tau.Value)
	}
	for _, c := range t.Cells {
		if c.counts() && !t.OrderOnly {
			g.ours, g.theirs = append(g.ours, c.Measured.Value), append(g.theirs, c.Published)
		}
	}
}

func (g gathered) likeness() Likeness {
	l := Likeness{Tables: len(g.taus), Cells: len(g.ours)}
	if tau, err := stats.Median(g.taus); err == nil {
		l.Tau = tau
	}
	if ratio, near, err := stats.RatioSummary(g.ours, g.theirs); err == nil {
		l.Ratio, l.Within = ratio, int(math.Round(near*float64(l.Cells)))
	}
	return l
}

// String is one line.
func (l Likeness) String() string {
	if l.Cells == 0 {
		return "no figures to compare"
	}
	text := fmt.Sprintf("%s, median ratio %s, %d of %d within a factor of %g", units.Count(l.Cells, "figure"), units.Ratio(l.Ratio), l.Within, l.Cells, Near)
	if l.Tables > 0 {
		text = fmt.Sprintf("median tau-b %s over %s, %s", tauNumber(l.Tau), units.Count(l.Tables, "table"), text)
	}
	return text
}
