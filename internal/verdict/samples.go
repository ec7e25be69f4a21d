package verdict

import (
	"whichfs/internal/result"
	"whichfs/internal/stats"
	"whichfs/internal/study"
)

// Sampled is one measure of a run with the figures that count, for those who
// weigh measures in their own way.
type Sampled struct {
	study.Column
	// Of are the figures by candidate, each by round.
	Of map[string]stats.Sample
	// Absent says of every other candidate why it has none.
	Absent map[string]string
}

// Samples returns the columns of the study as the run has them, then its other
// phases by their names. Trials of variants take no part.
func Samples(run result.Run, support []result.Support, trials []result.Trial, st study.Study) []Sampled {
	if run.Counts() {
		st = counting(st)
	}
	f := gather(run, support, trials, st)
	columns := append([]study.Column{}, st.Columns...)
	for _, phase := range f.phases() {
		if c, ok := phaseColumn(run, phase, columns); ok {
			columns = append(columns, c)
		}
	}
	var out []Sampled
	for i, c := range columns {
		s := Sampled{Column: c, Of: map[string]stats.Sample{}, Absent: map[string]string{}}
		for _, one := range f.subjects {
			if sample, why := one.sample(c); why != "" {
				s.Absent[one.Name] = why
			} else {
				s.Of[one.Name] = sample
			}
		}
		if i < len(st.Columns) || len(s.Of) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// phaseColumn is the time of a phase that is no column already, by its own name
// or another.
func phaseColumn(run result.Run, phase string, columns []study.Column) (study.Column, bool) {
	c := study.Column{Key: phase, Name: phase, Unit: "s", Terms: []study.Term{{Phase: phase, Metric: result.Wall}},
		About: "the phase of this name", Extra: true}
	if run.Counts() {
		c.Unit, c.Terms[0].Metric = instructionUnit, result.Instructions
	}
	for _, other := range columns {
		if other.Key == phase || len(other.Terms) == 1 && other.Terms[0] == c.Terms[0] {
			return c, false
		}
	}
	return c, true
}
