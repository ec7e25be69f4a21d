package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Load of the machine while the run measured.
type Load struct {
	// Share of the time of all phases for which they waited for other work, 0 to 1.
	Share float64 `json:"share"`
	// Trials that were observed; Again is how many of them were taken again.
	Trials int `json:"trials"`
	Again  int `json:"again"`
	// Marked are the figures that count although their phase waited.
	Marked []MarkedPhase `json:"marked,omitempty"`
	// Absent says why the load is unknown.
	Absent string `json:"absent,omitempty"`
	// Text is one sentence; empty where the machine was quiet.
	Text string `json:"text,omitempty"`
}

// MarkedPhase is a phase of a candidate whose figures are marked.
type MarkedPhase struct {
	Candidate string `json:"candidate"`
	Variant   string `json:"variant,omitempty"`
	Phase     string `json:"phase"`
	Rounds    []int  `json:"rounds"`
	// Share of its time that it waited, in the worst round.
	Share float64 `json:"share"`
}

// mostDoubt is the largest share that is calculated with: a phase that did nothing but wait says
// nothing, and has a logarithm.
const mostDoubt = 0.95

// load is what was observed; nil where nothing was, as with clocks that load does not change.
func (f *figures) load() *Load {
	var tally result.LoadTally
	l := &Load{}
	for _, s := range f.all() {
		for _, t := range s.trials {
			tally.Add(t)
		}
		for k, x := range s.figures {
			if k.metric == result.LoadWaited && len(x.values) == 0 {
				l.Absent = x.absent
			}
		}
		l.Marked = append(l.Marked, s.marked()...)
	}
	if tally.Trials == 0 {
		return nil
	}
	l.Share, l.Trials, l.Again = tally.Share(), tally.Trials, tally.Again
	if tally.Busy() || len(l.Marked) > 0 {
		l.Text = l.text(tally)
	}
	return l
}

func (l *Load) text(tally result.LoadTally) string {
	text := "T" + tally.String()[1:] + "."
	if len(l.Marked) == 0 {
		return text
	}
	worst := slices.MaxFunc(l.Marked, func(a, b MarkedPhase) int { return cmp.Compare(a.Share, b.Share) })
	which := fmt.Sprintf("(at worst %s of %s waited %s of its time): their intervals allow for the wait",
		worst.Phase, result.Named(worst.Candidate, worst.Variant), units.Share(worst.Share))
	phases := units.Count(len(l.Marked), "phase")
	if !tally.Busy() {
		return fmt.Sprintf("Other work of this machine disturbed figures of %s, which count and are marked %s.", phases, which)
	}
	return text + fmt.Sprintf(" Figures of %s were measured meanwhile, count and are marked %s, "+
		"and fewer differences are shown than on a quiet machine.", phases, which)
}

// mark is a phase that waited for other work, in a round.
type mark struct {
	result.Wait
	round int
}

// marked lists the marked phases of the trials that count.
func (s *subject) marked() []MarkedPhase {
	var out []MarkedPhase
	for _, m := range s.marks {
		i := slices.IndexFunc(out, func(p MarkedPhase) bool { return p.Phase == m.Phase })
		if i < 0 {
			i = len(out)
			out = append(out, MarkedPhase{Candidate: s.Name, Variant: s.variant, Phase: m.Phase})
		}
		out[i].Rounds = append(out[i].Rounds, m.round)
		out[i].Share = math.Max(out[i].Share, m.Share())
	}
	return out
}

// doubts is by how much waiting may have raised the figures of a column, as the logarithm of a
// factor, in the rounds with marked phases. A phase that waited for a share s of its time would have
// taken at least 1-s of it, if nothing else had passed meanwhile. Figures other than times do not
// change.
func (s *subject) doubts(def study.Column) stats.Sample {
	if len(s.marks) == 0 {
		return nil
	}
	sum, waited := map[int]float64{}, map[int]float64{} // s, by round
	for _, term := range def.Terms {
		x := s.of(term)
		if x == nil || x.unit != "s" {
			continue
		}
		for i, r := range x.rounds {
			sum[r] += x.values[i]
			for _, m := range s.marks {
				if m.round == r && m.Phase == term.Phase {
					waited[r] += math.Min(m.Share(), mostDoubt) * x.values[i]
				}
			}
		}
	}
	out := stats.Sample{}
	for r, w := range waited {
		if w > 0 && sum[r] > 0 {
			out[r] = -math.Log(1 - w/sum[r])
		}
	}
	return out
}

// quiet are the figures of a column (sample or sums) without marked rounds, for comparisons that have
// no other way to allow for them.
func (s *subject) quiet(def study.Column, figures func(study.Column) (stats.Sample, string)) (stats.Sample, string) {
	sample, why := figures(def)
	if why != "" {
		return nil, why
	}
	for r := range s.doubts(def) {
		delete(sample, r)
	}
	if len(sample) == 0 {
		return nil, "this machine was busy in every round"
	}
	return sample, ""
}

// doubt is by how much a candidate's figures in the column may be too high on average, as a logarithm.
func (c *column) doubt(name string) float64 {
	sample, sum := c.samples[c.index(name)], 0.0
	for _, r := range slices.Sorted(maps.Keys(c.doubts[name])) {
		if _, there := sample[r]; there {
			sum += c.doubts[name][r]
		}
	}
	return sum / float64(max(1, len(sample)))
}

// widen allows for doubtful figures once the candidates are compared.
func (c *column) widen() {
	if c.additive { // no times
		return
	}
	var all []float64
	for _, n := range c.names {
		all = append(all, c.doubt(n))
	}
	c.compared.Widen(all)
}

// lowered are the samples as a proof against the candidate that is best as measured needs them: all
// others as low as they may truly be.
func (c *column) lowered() []stats.Sample {
	if len(c.doubts) == 0 || c.estimates() != nil {
		return c.samples
	}
	best := c.order()[0]
	out := slices.Clone(c.samples)
	for i, n := range c.names {
		if n == best || len(c.doubts[n]) == 0 {
			continue
		}
		out[i] = stats.Sample{}
		for r, v := range c.samples[i] {
			out[i][r] = v * math.Exp(-c.doubts[n][r])
		}
	}
	return out
}

// doubted notes what is doubtful about a candidate's figures.
func (c *column) doubted(name string, doubts stats.Sample) {
	if len(doubts) == 0 {
		return
	}
	if c.doubts == nil {
		c.doubts = map[string]stats.Sample{}
	}
	c.doubts[name] = doubts
}

// productDoubts are those of a product of columns, each to the same power.
func productDoubts(columns []*column, name string, power float64) stats.Sample {
	var out stats.Sample
	for _, c := range columns {
		for r, v := range c.doubts[name] {
			if out == nil {
				out = stats.Sample{}
			}
			out[r] += v * power
		}
	}
	return out
}
