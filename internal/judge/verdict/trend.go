package verdict

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// Trend is the contribution of one run to a claim about several storages: the
// ratio of two candidates.
type Trend struct {
	Claim  string   `json:"claim"` // ID
	Ratio  Interval `json:"ratio"`
	Absent string   `json:"absent,omitempty"`
	// Doubt is why the ratio may be another one on hardware; empty: it is not known
	// to.
	Doubt string `json:"doubt,omitempty"`
}

const trendText = "the claim is about several kinds of storage: a series over them tests it"

func (f *figures) trends() []Trend {
	var out []Trend
	for _, c := range f.study.Claims {
		k, ok := c.Check.(study.TrendCheck)
		if !ok {
			continue
		}
		t := Trend{Claim: c.ID, Doubt: f.distortion(c)}
		switch col := f.columns[k.Column]; {
		case col == nil || !col.has(k.A):
			t.Absent = f.lacking(col, k.A)
		case !col.has(k.B):
			t.Absent = f.lacking(col, k.B)
		case col.additive:
			t.Absent = noRatios
		default:
			t.Ratio = col.ratio(k.A, k.B)
		}
		out = append(out, t)
	}
	return out
}

// checkTrend tests a trend on the runs of a series: it agrees if each step is
// shown to go the right way, and disagrees if any is shown to go the other way.
// Runs are independent, so the half-widths of their logarithms add as squares.
func checkTrend(out *SeriesClaim, k study.TrendCheck, st study.Study, storages []SeriesStorage) {
	over := k.Over
	if len(over) == 0 {
		for _, s := range st.Storages {
			over = append(over, s.Key)
		}
	}
	var ratios []Interval
	var texts, missing []string
	doubt := ""
	for _, key := range over {
		label, found := key, false
		if s, ok := st.Storage("", key); ok {
			label = s.Label
		}
		for _, s := range storages {
			for _, t := range s.Verdict.Trends {
				if s.Key == key && t.Claim == out.ID && t.Absent == "" && !found {
					found, doubt = true, cmp.Or(doubt, t.Doubt)
					ratios = append(ratios, t.Ratio)
					texts = append(texts, fmt.Sprintf("%s on %s", ratioOf(t.Ratio), label))
				}
			}
		}
		if !found {
			missing = append(missing, label)
		}
	}
	if len(ratios) < 2 {
		out.Result, out.Figures = NotTested, "the series has no ratio on "+units.List(missing, 3)
		return
	}
	out.Figures = fmt.Sprintf("%s relative to %s: %s", k.A, k.B, strings.Join(texts, ", "))
	if out.Result = steps(ratios, k.Falls); doubt != "" {
		out.Result = Undecided
		out.Figures += doubt
	}
	if len(missing) > 0 {
		out.Figures += "; no figure on " + units.List(missing, 3)
	}
}

func steps(ratios []Interval, falls bool) string {
	right := 0
	for i := 1; i < len(ratios); i++ {
		a, b := ratios[i-1], ratios[i]
		if a.Single || b.Single {
			continue
		}
		step := math.Log(b.Value / a.Value)
		if falls {
			step = -step
		}
		half := math.Hypot(halfLog(a), halfLog(b))
		switch {
		case step+half < 0:
			return Disagrees
		case step-half > 0:
			right++
		}
	}
	if right == len(ratios)-1 {
		return Agrees
	}
	return Undecided
}

// halfLog is the wider half of an interval of logarithms.
func halfLog(iv Interval) float64 {
	return math.Max(math.Log(iv.High/iv.Value), math.Log(iv.Value/iv.Low))
}
