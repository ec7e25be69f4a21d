package verdict

import (
	"fmt"
	"math"

	"whichfs/internal/judge/stats"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// DriftUse says which columns were adjusted for the raw work before each trial.
type DriftUse struct {
	Columns []DriftColumn `json:"columns"`
	Text    string        `json:"text"` // one sentence
}

// DriftColumn is a column whose noise the sentinel partly explains.
type DriftColumn struct {
	Column string `json:"column"` // key
	Name   string `json:"name"`
	// Sentinel used, result.SentinelWrite or SentinelRead; empty: both together.
	Sentinel string `json:"sentinel,omitempty"`
	// Slope: a trial changes by this many times the sentinel's change, as
	// logarithms.
	Slope float64 `json:"slope"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Taken is the share of the noise's variance that the adjustment removes, 0 to
	// 1.
	Taken float64 `json:"taken"`
}

// sentinel chooses the raw work most like a column's, reading or writing, by
// what its phases move at the device. It ignores how well either explains the
// noise, so that chance gets only one try.
func (f *figures) sentinel(c *column) string {
	read, written := 0.0, 0.0
	for _, s := range f.subjects {
		for _, t := range c.def.Terms {
			if t.Metric != result.Wall {
				return ""
			}
			if x := s.figures[key{t.Phase, result.DeviceRead}]; x != nil && len(x.values) > 0 {
				read += x.mean()
			}
			if x := s.figures[key{t.Phase, result.DeviceWritten}]; x != nil && len(x.values) > 0 {
				written += x.mean()
			}
		}
	}
	switch {
	case len(c.def.Terms) == 0:
		return ""
	case read > written:
		return result.SentinelRead
	}
	return result.SentinelWrite
}

// sentinels are the logarithms of the raw work before each trial, in the form
// that stats.CompareWith takes; nil where a candidate has none.
func (f *figures) sentinels(names []string, metric string) []stats.Sample {
	var out []stats.Sample
	for _, n := range names {
		sample := f.byName[n].sentinelOf(metric)
		if sample == nil {
			return nil
		}
		out = append(out, sample)
	}
	return out
}

// sentinelOf returns those of one candidate; nil where it has none.
func (s *subject) sentinelOf(metric string) stats.Sample {
	x := s.figures[key{"sentinel", metric}]
	if x == nil || len(x.values) == 0 {
		return nil
	}
	sample := stats.Sample{}
	for i, r := range x.rounds {
		if x.values[i] > 0 {
			sample[r] = math.Log(x.values[i])
		}
	}
	return sample
}

// comparedBy names the columns that are adjusted for this raw work.
func (f *figures) comparedBy(metric string) []string {
	var names []string
	for _, def := range f.study.Columns {
		if c := f.columns[def.Key]; c != nil && c.compared.Drift.Used && c.sentinel == metric {
			names = append(names, def.Name)
		}
	}
	return names
}

// driftUse lists where the sentinel was used; nil: nowhere.
func (f *figures) driftUse() *DriftUse {
	d := &DriftUse{}
	for _, score := range f.scores {
		d.add(score, "the overall order")
	}
	for _, def := range f.study.Columns {
		d.add(f.columns[def.Key], def.Name)
	}
	if len(d.Columns) == 0 {
		return nil
	}
	var names []string
	for _, c := range d.Columns {
		names = append(names, fmt.Sprintf("%s (slope %.2g, %s of the noise)", c.Name, c.Slope, units.Share(c.Taken)))
	}
	d.Text = fmt.Sprintf("The speed of the storage at the moment, measured by the fixed raw work before each trial, explains part of the noise; comparisons are adjusted for it in %s.",
		units.List(names, 6))
	return d
}

func (d *DriftUse) add(c *column, name string) {
	if c == nil || !c.compared.Drift.Used {
		return
	}
	use := c.compared.Drift
	d.Columns = append(d.Columns, DriftColumn{
		Column: c.def.Key, Name: name, Sentinel: c.sentinel, Slope: use.Slope, Low: use.Low, High: use.High,
		Taken: math.Max(0, 1-use.VarianceAfter/use.VarianceBefore),
	})
}
