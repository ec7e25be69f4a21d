// Package contrast compares two runs: the same work with the same candidates
// under two conditions. It says what changed, with what confidence, and what
// else differs; it refuses runs that cannot be compared. It computes, and
// prints nothing.
//
// It also sets probes of several storages side by side (Cards).
//
// Rounds of different runs have nothing in common, so nothing is paired:
// figures are compared by Welch's test on their logarithms, and corrected for
// the number of comparisons by Holm's method.
package contrast

import (
	"cmp"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// Contrast is everything that a report says.
type Contrast struct {
	A     Side   `json:"a"`
	B     Side   `json:"b"`
	Title string `json:"title"`
	// Answer in a few sentences.
	Answer []string `json:"answer"`
	// Differs lists the conditions that differ: what the comparison is about.
	Differs []Difference `json:"differs"`
	// About are the things that differ, each once: "kernel", "storage". With more
	// than one, no change can be attributed to a single one.
	About []string `json:"about"`
	// Columns of the study, and Extra measures; each list is a separate family for
	// the correction.
	Columns []Column `json:"columns"`
	Extra   []Column `json:"extra"`
	Family  int      `json:"family"` // comparisons in Columns
	Further int      `json:"further"`
	// Orders are the answers of both runs, use by use.
	Orders []Order  `json:"orders,omitempty"`
	OnlyA  []string `json:"only_a,omitempty"` // candidates
	OnlyB  []string `json:"only_b,omitempty"`
	Margin float64  `json:"margin"`
	// Warnings are whole sentences, most serious first.
	Warnings []string `json:"warnings,omitempty"`
	Reach    string   `json:"reach,omitempty"`
	// Prediction: run A predicts what run B measured; nil: the comparison is of two measurements.
	Prediction *Prediction `json:"prediction,omitempty"`
}

// Side is one of the runs.
type Side struct {
	ID      string `json:"id"`
	Study   string `json:"study"`
	Scale   string `json:"scale"`
	Machine string `json:"machine"`
	Storage string `json:"storage"`
	// Predicted is the hardware that the run stands for; empty: it measures.
	Predicted string    `json:"predicted,omitempty"`
	Kernel    string    `json:"kernel,omitempty"`
	Version   string    `json:"version,omitempty"`
	Rounds    int       `json:"rounds"` // planned
	Started   time.Time `json:"started"`
}

// Difference is a condition that differs. An empty value: that run has no such
// condition.
type Difference struct {
	About string `json:"about"` // what it belongs to: "kernel", "storage", "tools"
	Name  string `json:"name"`
	A     string `json:"a"`
	B     string `json:"b"`
	// Matters: figures may depend on it.
	Matters bool `json:"matters,omitempty"`
}

// Column is one measure with its changes.
type Column struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	About string `json:"about,omitempty"`
	// All is the change of all candidates together: of the geometric mean over the
	// candidates of both runs, round by round.
	All  Change   `json:"all"`
	Rows []Change `json:"rows"`
	// Tau compares the orders of the candidates, of a prediction; nil otherwise.
	Tau *verdict.Tau `json:"tau,omitempty"`
	// ToldApart compares them by the pairs that the measurement tells apart, of a prediction; nil otherwise.
	ToldApart *ToldApart `json:"told_apart,omitempty"`
}

// Change of one figure from run A to run B.
type Change struct {
	Candidate string `json:"candidate"` // "" for all together
	// Absent says why there is nothing to compare.
	Absent string           `json:"absent,omitempty"`
	A      verdict.Interval `json:"a"`
	B      verdict.Interval `json:"b"`
	// Ratio of B to A; its interval covers this comparison alone.
	Ratio verdict.Interval `json:"ratio"`
	// SimLow and SimHigh hold for all comparisons of the family at once; 0 where
	// the noise is unknown.
	SimLow  float64 `json:"sim_low,omitempty"`
	SimHigh float64 `json:"sim_high,omitempty"`
	// P of no change, plain and after Holm's correction over the family.
	P        float64 `json:"p"`
	Adjusted float64 `json:"adjusted"`
	Outcome  Outcome `json:"outcome,omitempty"`
}

// Outcome of a comparison. The zero value is invalid.
type Outcome string

// Outcomes, like those of a Pair in the statistics of one run.
const (
	Higher Outcome = "higher" // in B, beyond chance and the margin
	Lower  Outcome = "lower"
	Same   Outcome = "same" // the interval lies within the margin
	Open   Outcome = "open"
)

// Order is the answer of both runs for one use.
type Order struct {
	Use string `json:"use"`
	A   string `json:"a"` // the first candidate, and whether that is settled
	B   string `json:"b"`
	// Same: both put the same candidate first. Settled: both are settled.
	Same    bool `json:"same"`
	Settled bool `json:"settled"`
}

// Compare compares run b with run a; a measurement is compared with its prediction, whichever is named
// first. Errors are *result.Failure.
func Compare(a, b verdict.Judged) (Contrast, error) {
	if foretold(b.Verdict.Run, a.Verdict.Run) {
		a, b = b, a
	}
	x, y := a.Verdict.Run, b.Verdict.Run
	prediction := foretold(x, y)
	if x.ID == y.ID {
		return Contrast{}, result.Refuse("name two runs; whichfs runs lists them", "run %s cannot be compared with itself", x.ID)
	}
	if err := fit(a, b, prediction); err != nil {
		return Contrast{}, err
	}
	c := Contrast{A: side(a), B: side(b), Title: a.Verdict.Title, Margin: max(x.Margin, y.Margin), Reach: a.Verdict.Reach}
	if c.Margin == 0 {
		c.Margin = plan.DefaultMargin
	}
	c.Differs = differences(x, y, prediction)
	c.About = about(c.Differs)
	common := c.candidates(x.Candidates, y.Candidates)
	if len(common) == 0 {
		return Contrast{}, result.Refuse("run the same candidates under the other condition: --candidates", "runs %s and %s have no candidate in common", x.ID, y.ID)
	}
	if prediction {
		if err := c.predict(a, b, common); err != nil {
			return Contrast{}, err
		}
	}
	if err := c.columns(a, b, common); err != nil {
		return Contrast{}, err
	}
	c.orders(a.Verdict, b.Verdict)
	if prediction {
		c.Reach = b.Verdict.Reach // the answer says how far the prediction reaches
		c.caution(a, b)
		c.answerPrediction()
		return c, nil
	}
	c.warn(a, b)
	c.answer()
	return c, nil
}

// Worse names what is worse in run B, beyond chance and the margin, among the measures of the study:
// "Write of ext4".
func (c Contrast) Worse() []string {
	var out []string
	for _, col := range c.Columns {
		for _, ch := range col.Rows {
			if ch.Absent == "" && ch.Outcome == Higher {
				out = append(out, col.Name+" of "+ch.Candidate)
			}
		}
	}
	return out
}

func side(s verdict.Judged) Side {
	r := s.Verdict.Run
	out := Side{ID: r.ID, Study: r.Study, Scale: r.Scale, Machine: r.Machine, Storage: r.Storage, Version: r.Version, Kernel: r.Kernel(), Rounds: r.Rounds, Started: r.Started}
	if predicts(r) {
		out.Predicted = cmp.Or(r.Predicted, r.Processor+" on "+r.Storage)
	}
	return out
}

// candidates separates those of both runs from those of one.
func (c *Contrast) candidates(a, b []string) (common []string) {
	has := func(list []string) map[string]bool {
		out := map[string]bool{}
		for _, n := range list {
			out[n] = true
		}
		return out
	}
	inA, inB := has(a), has(b)
	for _, n := range a {
		if inB[n] {
			common = append(common, n)
		} else {
			c.OnlyA = append(c.OnlyA, n)
		}
	}
	for _, n := range b {
		if !inA[n] {
			c.OnlyB = append(c.OnlyB, n)
		}
	}
	return common
}
