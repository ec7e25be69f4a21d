// Package recommend answers which candidate to take for the user's own needs
// and weights. What a filesystem can do comes from facts with their sources;
// how well it does it comes from the figures of runs with their uncertainty.
// The package computes, and prints nothing; reports print, and compute nothing.
//
// Needs are not weighed: a candidate that fails one is out, however fast it is.
// A measured limit excludes a candidate only if the whole interval is beyond
// it; if the interval straddles the limit, the answer says that nothing is
// shown. The remaining candidates are ordered by the weighted geometric mean of
// the ratios to the best, compared round by round. Figures under different
// conditions are never mixed.
package recommend

import (
	"fmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// Question is the user's question.
type Question struct {
	Needs   []Need
	Weights []Weight
	// Profile is the name of the profile that needs and weights come from;
	// empty: they are the user's own.
	Profile string
	Seed    uint64
}

// Answer is everything that a report says.
type Answer struct {
	Runs []RunFact `json:"runs"` // the source of the figures; none: facts alone
	// FaultRuns show what survives; Evidence is what they show.
	FaultRuns []RunFact  `json:"fault_runs,omitempty"`
	Evidence  []Evidence `json:"evidence,omitempty"`
	Needs     []Need     `json:"needs"`
	Weights   []Weight   `json:"weights"` // as asked for
	Profile   string     `json:"profile,omitempty"`
	// Orders has one order for each use that the question allows.
	Orders []Order `json:"orders,omitempty"`
	// Profiles are the answers for common needs, if the question names none.
	Profiles []ProfileAnswer `json:"profiles,omitempty"`
	// Margin of interest, and the seed of the probabilities' draws.
	Margin float64 `json:"margin"`
	Seed   uint64  `json:"seed"`
	// Warnings are whole sentences about the runs and how they are joined.
	Warnings []string `json:"warnings,omitempty"`
	// Reach says what figures from these machines can show.
	Reach string `json:"reach,omitempty"`
}

// RunFact names a run.
type RunFact struct {
	ID      string `json:"id"`
	Study   string `json:"study"`
	Scale   string `json:"scale"`
	Storage string `json:"storage"`
	Machine string `json:"machine"`
	Kernel  string `json:"kernel,omitempty"`
	Rounds  int    `json:"rounds"` // that have figures
	Version string `json:"version,omitempty"`
}

// Order is the answer for one use.
type Order struct {
	// Use is "read-write" or "read-only"; empty: any candidate with the figures.
	Use string `json:"use,omitempty"`
	// Measured is false if the answer rests on facts alone.
	Measured bool `json:"measured"`
	// Answer in one or two sentences. Settled: one candidate is shown to be best,
	// or all that could be are shown to be equal.
	Answer  string `json:"answer"`
	Settled bool   `json:"settled"`
	// Further is the short run that would settle it; nil: there is none.
	Further *Further `json:"further,omitempty"`
	// Places, best first.
	Places []Place `json:"places"`
	// Without are candidates that meet the needs but cannot be ordered.
	Without []Absent `json:"without,omitempty"`
	// Excluded are those that fail a need, in the order of the needs.
	Excluded []Exclusion `json:"excluded,omitempty"`
	// Counted are the measures with their weights.
	Counted []Counted `json:"counted,omitempty"`
	// Missing are weights and limits without any figure.
	Missing []Missing `json:"missing,omitempty"`
	// Changes lists what would change the answer, most telling first.
	Changes []Change `json:"changes,omitempty"`
}

// Place is a candidate in an order.
type Place struct {
	Candidate string `json:"candidate"`
	// Score is the weighted geometric mean of its ratios to the best.
	Score    verdict.Interval `json:"score"`
	RankLow  int              `json:"rank_low"`
	RankHigh int              `json:"rank_high"`
	TiedWith []string         `json:"tied_with,omitempty"`
	// Best is the probability that it is the best of all, 0 to 1; valid only with
	// HasBest, because one round does not show the noise.
	Best    float64 `json:"best"`
	HasBest bool    `json:"has_best"`
	// Why it stands here: a sentence.
	Why   string  `json:"why,omitempty"`
	Parts []Part  `json:"parts,omitempty"` // a measure each, as counted
	Doubt []Doubt `json:"doubts,omitempty"`
	// Notes are clauses about the candidate that a reader must know.
	Notes []string `json:"notes,omitempty"`
}

// Part is the contribution of one measure to a place.
type Part struct {
	Key string `json:"key"`
	// Ratio to the best of the column among those in the order.
	Ratio verdict.Interval `json:"ratio"`
	// Estimate in the column's unit.
	Estimate verdict.Interval `json:"estimate"`
	// Share of the logarithm of the score that comes from this measure, 0 to 1.
	Share float64 `json:"share"`
}

// Doubt is a limit that a candidate is not shown to keep.
type Doubt struct {
	Need string `json:"need"`
	Text string `json:"text"`
}

// Absent is a candidate without a figure.
type Absent struct {
	Candidate string  `json:"candidate"`
	Reason    string  `json:"reason"`
	Doubt     []Doubt `json:"doubts,omitempty"`
}

// Exclusion is a need that a candidate fails.
type Exclusion struct {
	Candidate string `json:"candidate"`
	Need      string `json:"need"`
	// Why is a clause whose subject is the candidate.
	Why    string `json:"why"`
	Source string `json:"source"`           // of the fact, or the run of the figure
	Remedy string `json:"remedy,omitempty"` // options that would meet the need
}

// Counted is a measure that counts, with its weight.
type Counted struct {
	Key    string   `json:"key"` // STUDY/KEY where the key alone is ambiguous
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	About  string   `json:"about,omitempty"`
	Study  string   `json:"study"`
	Weight float64  `json:"weight"` // as given
	Share  float64  `json:"share"`  // of all weights
	Runs   []string `json:"runs"`
}

// Missing is something requested that these runs do not measure.
type Missing struct {
	Keys   []string `json:"keys"`
	Text   string   `json:"text"`             // a sentence
	Remedy string   `json:"remedy,omitempty"` // a command
}

// Further is a run that would answer better.
type Further struct {
	Text    string `json:"text"` // a sentence
	Command string `json:"command"`
}

// Change is something that would change the answer.
type Change struct {
	Kind   string `json:"kind"` // "rounds", "weight", "need", "candidate", "measure"
	Text   string `json:"text"` // a sentence
	Remedy string `json:"remedy,omitempty"`
}

// ProfileAnswer is a row of the table of profiles.
type ProfileAnswer struct {
	Profile
	Order Order `json:"order"`
}

// DefaultSeed is the default seed of the probabilities' draws: the same figures
// always give the same answer.
const DefaultSeed = 2026

// Make answers the question from the runs; none: from facts alone. Errors are
// Refusals: runs that cannot be joined, keys unknown to all runs and studies.
func Make(q Question, runs []verdict.Judged) (Answer, error) {
	if q.Seed == 0 {
		q.Seed = DefaultSeed
	}
	speed, faults, err := parted(runs)
	if err != nil {
		return Answer{}, err
	}
	d, err := join(speed, faults)
	if err != nil {
		return Answer{}, err
	}
	for _, s := range runs {
		if r := s.Verdict.Run; r.State == result.Running || r.State == result.Interrupted {
			d.warn(fmt.Sprintf("Run %s is not finished: %d of %d trials have figures, and the rest may change the answer.", r.ID, s.Verdict.Trials.Done, s.Verdict.Trials.Planned))
		}
	}
	a := Answer{FaultRuns: runFacts(faults), Evidence: d.evidence(),
		Needs: q.Needs, Weights: q.Weights, Profile: q.Profile, Margin: d.margin, Seed: q.Seed,
		Runs: d.facts(), Reach: d.reach()}
	if len(q.Needs) == 0 && len(q.Weights) == 0 {
		for _, p := range Profiles {
			one := Question{Needs: p.Needs, Weights: p.Weights, Profile: p.Name, Seed: q.Seed}
			orders, err := d.orders(one)
			if err != nil {
				return Answer{}, fmt.Errorf("profile %s: %w", p.Name, err)
			}
			a.Profiles = append(a.Profiles, ProfileAnswer{p, orders[0]})
		}
	} else if a.Orders, err = d.orders(q); err != nil {
		return Answer{}, err
	}
	a.Warnings = d.warnings
	return a, nil
}

// Excludes reports whether the question leaves no candidate.
func (a Answer) Excludes() bool {
	for _, o := range a.Orders {
		if len(o.Places)+len(o.Without) > 0 {
			return false
		}
	}
	return len(a.Orders) > 0
}

// facts names the runs.
func (d *data) facts() []RunFact {
	var out []RunFact
	for _, p := range d.pools {
		out = append(out, runFacts(p.runs)...)
	}
	return out
}

func runFacts(runs []verdict.Judged) []RunFact {
	var out []RunFact
	for _, s := range runs {
		r := s.Verdict.Run
		out = append(out, RunFact{ID: r.ID, Study: r.Study, Scale: r.Scale, Storage: r.Storage, Machine: r.Machine,
			Kernel: condition(r, "machine", "kernel"), Rounds: roundsOf(s), Version: r.Version})
	}
	return out
}

func condition(r result.Run, group, name string) string {
	for _, c := range r.Conditions {
		if c.Group == group && c.Name == name {
			return c.Value
		}
	}
	return ""
}

// roundsOf counts the rounds that have a figure.
func roundsOf(s verdict.Judged) int {
	rounds := map[int]bool{}
	for _, c := range s.Columns {
		for _, sample := range c.Of {
			for r := range sample {
				rounds[r] = true
			}
		}
	}
	return len(rounds)
}

// reach is that of the runs; joined runs have the same.
func (d *data) reach() string {
	for _, p := range d.pools {
		for _, s := range p.runs {
			return s.Verdict.Reach
		}
	}
	return ""
}
