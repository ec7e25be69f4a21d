package contrast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Prediction is how far measured times are from predicted ones. Run A of its comparison is the
// predicted one, so that every ratio is measured over predicted.
type Prediction struct {
	// Off is nil where no phase has both times.
	Off *Off `json:"off,omitempty"`
	// Phases of each candidate, worst first: by the factor, in either direction.
	Phases []PhaseRatio `json:"phases"`
	// Missing are candidates and phases that only one of the runs has.
	Missing []Missing `json:"missing,omitempty"`
}

// Off says how far the ratios of phases are from 1.
type Off struct {
	Median   float64 `json:"median"`    // of |ratio-1|
	Within15 float64 `json:"within_15"` // share of phases with at most 15 %, 0..1
	Within30 float64 `json:"within_30"`
}

// PhaseRatio is the time of a phase of a candidate, in seconds.
type PhaseRatio struct {
	Candidate string           `json:"candidate"`
	Phase     string           `json:"phase"`
	Predicted verdict.Interval `json:"predicted"`
	Measured  verdict.Interval `json:"measured"`
	Ratio     verdict.Interval `json:"ratio"`
	// Processor is the share of the predicted time that the processor was charged for; nil: not known.
	Processor *float64 `json:"processor,omitempty"`
}

// Missing is what only one run has.
type Missing struct {
	Candidate string `json:"candidate"`
	Phase     string `json:"phase,omitempty"` // empty: all of them
	Reason    string `json:"reason"`
}

// ToldApart is Kendall's tau over those pairs of candidates that the measurement tells apart: Welch's 95 %
// interval of the ratio of the two measured figures excludes 1. The order of candidates with nearly the
// same figure is chance, and spoils tau-b. Each interval is about its pair alone, so of the pairs that
// are truly equal one in twenty counts nevertheless.
type ToldApart struct {
	// Absent says why there is no value.
	Absent string `json:"absent,omitempty"`
	// Value is the number of pairs that are predicted in the measured order, less those in the reverse
	// order, over Pairs. A pair that the prediction ties is in neither order.
	Value float64 `json:"value"`
	Pairs int     `json:"pairs"` // told apart
	Of    int     `json:"of"`    // pairs of candidates that have both figures
}

// leastPairs of a ToldApart: a guess gets the order of a single pair right half the time.
const leastPairs = 2

// predicts reports whether a run's times are those of modelled hardware as a whole.
func predicts(r result.Run) bool { return r.Virtual() && r.Processor != "" }

// foretold reports whether a predicts what b measured.
func foretold(a, b result.Run) bool { return predicts(a) && b.ClockName() == result.ClockWall }

// Words of a comparison for what only one run has.
var (
	lackedBy  = [2]string{"in the first run: ", "in the second run: "}
	foundOnly = [2]string{"not predicted: ", "not measured: "}
)

// predict compares the phases of the common candidates.
func (c *Contrast) predict(a, b verdict.Judged, common []string) error {
	p := &Prediction{Phases: []PhaseRatio{}}
	c.Prediction = p
	for _, name := range c.OnlyA {
		p.Missing = append(p.Missing, Missing{Candidate: name, Reason: foundOnly[1] + "run " + c.B.ID + " does not have this candidate"})
	}
	for _, name := range c.OnlyB {
		p.Missing = append(p.Missing, Missing{Candidate: name, Reason: foundOnly[0] + "run " + c.A.ID + " does not have this candidate"})
	}
	var ratios []float64
	for _, name := range common {
		if m, missing := wholly(a, b, name); missing {
			p.Missing = append(p.Missing, m)
			continue
		}
		for _, phase := range phasesOf(a, b) {
			x, y := phaseOf(a, phase, name), phaseOf(b, phase, name)
			switch {
			case x.why != "" && y.why != "":
			case x.why != "":
				p.Missing = append(p.Missing, Missing{name, phase, foundOnly[0] + x.why})
			case y.why != "":
				p.Missing = append(p.Missing, Missing{name, phase, foundOnly[1] + y.why})
			default:
				var ch Change
				if _, err := compared(&ch, x.values, y.values); err != nil {
					return fmt.Errorf("phase %s of %s: %w", phase, name, err)
				}
				p.Phases = append(p.Phases, PhaseRatio{name, phase, ch.A, ch.B, ch.Ratio, charged(a.Verdict, phase, name)})
				ratios = append(ratios, ch.Ratio.Value)
			}
		}
	}
	slices.SortStableFunc(p.Phases, func(x, y PhaseRatio) int {
		return cmp.Compare(math.Abs(math.Log(y.Ratio.Value)), math.Abs(math.Log(x.Ratio.Value)))
	})
	if len(ratios) == 0 {
		return nil
	}
	median, within, err := stats.Off(ratios, 0.15, 0.30)
	if err == nil {
		p.Off = &Off{median, within[0], within[1]}
	}
	return err
}

// wholly says which of the runs alone has no phase of a candidate at all, and why.
func wholly(a, b verdict.Judged, name string) (m Missing, missing bool) {
	timed := func(s verdict.Judged) bool {
		return slices.ContainsFunc(s.Phases, func(p verdict.Sampled) bool { return len(p.Of[name]) > 0 })
	}
	if timed(a) == timed(b) {
		return m, false
	}
	for i, s := range []verdict.Judged{a, b} {
		if timed(s) {
			continue
		}
		why := "it has no times"
		for _, one := range s.Verdict.Candidates {
			if one.Name == name && one.Reason != "" {
				why = one.Reason
			}
		}
		return Missing{Candidate: name, Reason: foundOnly[i] + why}, true
	}
	return m, false
}

// phasesOf are the phases of both runs, in the order of work.
func phasesOf(a, b verdict.Judged) []string {
	var out []string
	for _, p := range slices.Concat(a.Phases, b.Phases) {
		if !slices.Contains(out, p.Key) {
			out = append(out, p.Key)
		}
	}
	return out
}

// times of a phase, or why there are none.
type times struct {
	values []float64
	why    string
}

func phaseOf(s verdict.Judged, phase, candidate string) times {
	for _, p := range s.Phases {
		if p.Key == phase {
			return times{p.Of[candidate].Values(), p.Absent[candidate]}
		}
	}
	return times{why: "the run has no such phase"}
}

// charged is the processor's share of a phase's time; nil where it was not measured.
func charged(v verdict.Verdict, phase, candidate string) *float64 {
	for _, p := range v.Phases {
		if p.Name != phase {
			continue
		}
		for _, row := range p.Rows {
			busy, counted := row.Figures[result.Processor]
			wall, timed := row.Figures[result.Wall]
			if row.Candidate == candidate && counted && timed && busy.Absent == "" && wall.Absent == "" && wall.Estimate.Value > 0 {
				share := busy.Estimate.Value / wall.Estimate.Value
				return &share
			}
		}
	}
	return nil
}

// order is Kendall's tau-b of a column's candidates.
func (c *Column) order() error {
	var x, y []float64
	for _, r := range c.Rows {
		if r.Absent == "" {
			x, y = append(x, r.A.Value), append(y, r.B.Value)
		}
	}
	tau, ok, err := stats.Kendall(x, y)
	c.Tau = &verdict.Tau{Has: ok, Value: tau, N: len(x)}
	return err
}

// apart compares the orders of a column's candidates by the pairs that the measurement tells apart.
func (c *Column) apart(measured verdict.Sampled) error {
	t := &ToldApart{}
	c.ToldApart = t
	known, sum := false, 0
	for i, x := range c.Rows {
		for _, y := range c.Rows[i+1:] {
			if x.Absent != "" || y.Absent != "" {
				continue
			}
			t.Of++
			w, err := stats.Unpaired(measured.Of[x.Candidate].Values(), measured.Of[y.Candidate].Values())
			if err != nil {
				return fmt.Errorf("%s and %s: %w", x.Candidate, y.Candidate, err)
			}
			known = known || w.Known
			if w.Low > 1 || w.High < 1 {
				t.Pairs++
				sum += cmp.Compare(w.Ratio, 1) * cmp.Compare(y.A.Value, x.A.Value)
			}
		}
	}
	switch {
	case t.Of > 0 && !known:
		t.Absent = "one measured round tells no candidates apart"
	case t.Pairs < leastPairs:
		t.Absent = "the measurement tells fewer than two pairs of candidates apart"
	default:
		t.Value = float64(sum) / float64(t.Pairs)
	}
	return nil
}

// foreseen reports that a difference is one that a prediction bridges: the simulated card and the real
// one, the charged processor and the real one, what there is only in a lab.
func foreseen(d Difference) bool {
	switch d.About {
	case "storage":
		return d.Name != "size"
	case "processor", labImage:
		return true
	case "machine":
		return d.Name == "kind of machine" || d.Name == "processor"
	}
	return d.Name == "kernel package" || d.Name == "kernel recipe"
}

// caution has the caveats of a prediction.
func (c *Contrast) caution(a, b verdict.Judged) {
	say := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	if len(c.About) > 0 {
		say("The runs also differ in %s: the ratios contain that, too.", units.List(c.About, len(c.About)))
	}
	for _, s := range []verdict.Judged{a, b} {
		r := s.Verdict.Run
		if r.State != result.Finished {
			say("Run %s is not finished.", r.ID)
		}
		if s.Verdict.Trials.Done > 0 && most(s) < 2 {
			say("Run %s has only one round: neither its figures nor any ratio has an interval.", r.ID)
		}
	}
}

// answerPrediction says how good the prediction is.
func (c *Contrast) answerPrediction() {
	p := c.Prediction
	if p.Off == nil {
		c.Answer = []string{"No phase was both predicted and measured."}
		return
	}
	n := len(p.Phases)
	c.Answer = append(c.Answer, fmt.Sprintf("Measured times differ from predicted ones by %s in the median of %s. %s of them are within 15 %%, %s within 30 %%.",
		units.Share(p.Off.Median), units.Count(n, "phase"), units.Share(p.Off.Within15), units.Share(p.Off.Within30)))
	var orders []string
	for _, col := range c.Columns {
		if col.Tau != nil && col.Tau.Has {
			orders = append(orders, fmt.Sprintf("%s %.2f", col.Name, col.Tau.Value))
		}
	}
	if len(orders) > 0 {
		c.Answer = append(c.Answer, "Agreement of the orders of candidates (Kendall's tau-b; 1: the same order, -1: the reverse): "+strings.Join(orders, ", ")+".")
	}
	w := p.Phases[0]
	text := fmt.Sprintf("The worst: phase %s of %s, predicted %s, measured %s, %s", w.Phase, w.Candidate,
		intervalText(w.Predicted), intervalText(w.Measured), ratioText(w.Ratio))
	if w.Processor != nil {
		text += fmt.Sprintf("; the processor takes %s of the predicted time", units.Share(*w.Processor))
	}
	c.Answer = append(c.Answer, text+".")
}

func intervalText(v verdict.Interval) string {
	if v.Single {
		return units.Value(v.Value, "s")
	}
	return units.Interval(v.Value, v.Low, v.High, "s")
}
