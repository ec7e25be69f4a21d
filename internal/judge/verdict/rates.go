package verdict

import (
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// storageOf is the study's key of a run's storage: the storage itself, a
// simulated one of the same model and any size, or raw flash of any size where
// the study has raw flash. Empty: the study has no such storage.
func storageOf(st study.Study, run result.Run) string {
	if one, ok := st.Storage(run.Scale, run.Storage); ok {
		return one.Key
	}
	if study.RawFlash(run.Storage) {
		return st.Near(run.Scale, run.Storage).Key
	}
	model, simulated := simulatedModel(run.Storage)
	if !simulated {
		return ""
	}
	for _, one := range st.Storages {
		if model == one.Key {
			return one.Key
		}
		for _, spec := range one.Specs {
			if m, ok := simulatedModel(spec); ok && m == model {
				return one.Key
			}
		}
	}
	return ""
}

// simulatedModel is the model of a simulated storage: "sim:sd-basic,1G" is of
// sd-basic.
func simulatedModel(spec string) (string, bool) {
	rest, ok := strings.CutPrefix(spec, "sim:")
	model, _, _ := strings.Cut(rest, ",")
	return model, ok && model != ""
}

// rateUnits are the units of rates by what they count.
func rateUnit(per string) string {
	switch per {
	case "":
		return ""
	case result.DataBytes:
		return "B/s"
	}
	return "/s"
}

// rate converts a time to a rate, where the study has a rate for the column.
func (s *subject) rate(def study.Column, t Interval) *Interval {
	if def.Per == "" || def.Unit != "s" || t.Value <= 0 || t.Low <= 0 {
		return nil
	}
	amount, why := s.amount(def, rateBase(def.Per))
	if why != "" {
		return nil
	}
	return &Interval{Value: amount / t.Value, Low: amount / t.High, High: amount / t.Low, N: t.N, Single: t.Single}
}

// levelColumn is a column whose figures are shown in plan order and never
// ranked. Figures that may be 0 have no geometric mean and no interval.
func (f *figures) levelColumn(def study.Column) Column {
	out := Column{Key: def.Key, Name: def.Name, Unit: def.Unit, About: def.About, Level: true}
	for _, s := range f.subjects {
		cell := Cell{Candidate: s.Name}
		figures, why := s.sums(def)
		if cell.Absent = why; why == "" {
			cell.Estimate = plainInterval(figures.Values())
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// plainInterval estimates at least one figure.
func plainInterval(values []float64) Interval {
	if e, err := stats.GeoMean(values); err == nil {
		return IntervalOf(e)
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	m := sum / float64(len(values))
	return Interval{Value: m, Low: m, High: m, N: len(values), Single: len(values) == 1}
}
