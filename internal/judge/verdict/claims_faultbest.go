package verdict

import (
	"fmt"
	"math"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// checkFaultBest agrees if every other candidate is shown to be worse, and
// disagrees if any is shown to be better: by Fisher's exact test, with Holm's
// correction for the number of others.
func (f *figures) checkFaultBest(out *Claim, k study.FaultBest) error {
	rate := func(name string) (Rate, []string) {
		if f.byName[name] == nil {
			return Rate{}, []string{"not in this run"}
		}
		return f.faultRate(name, study.FaultCheck{Cases: k.Cases, Outcomes: k.Outcomes, Metric: k.Metric})
	}
	own, lacks := rate(k.Candidate)
	if own.Of == 0 {
		out.Figures = fmt.Sprintf("not tested: %s (%s)", k.Candidate, units.List(lacks, 3))
		return nil
	}
	whole := len(lacks) == 0
	var others, missing []string
	var rates []Rate
	var ps []float64
	for _, n := range k.Among {
		if n == k.Candidate {
			continue
		}
		r, lacks := rate(n)
		if len(lacks) > 0 {
			whole = false
			missing = append(missing, fmt.Sprintf("%s (%s)", n, units.List(lacks, 3)))
		}
		if r.Of == 0 {
			continue
		}
		p, err := stats.Exact([]stats.Fourfold{{HitsA: own.Hits, NA: own.Of, HitsB: r.Hits, NB: r.Of}})
		if err != nil {
			return fmt.Errorf("%s against %s: %w", k.Candidate, n, err)
		}
		others, rates, ps = append(others, n), append(rates, r), append(ps, p)
	}
	if len(others) == 0 {
		out.Figures = "nothing to compare " + k.Candidate + " with: " + units.List(missing, 3)
		return nil
	}
	out.Result = Agrees
	texts := []string{k.Candidate + " " + own.String()}
	for i, p := range stats.Holm(ps) {
		texts = append(texts, others[i]+" "+rates[i].String())
		switch better := (own.Value > rates[i].Value) == k.Most; {
		case out.Result == Disagrees:
		case p < stats.Alpha && !better:
			out.Result = Disagrees
		case p >= stats.Alpha || !whole:
			out.Result = Undecided
		}
	}
	out.Figures = fmt.Sprintf("%s: %s", faultWhat(study.FaultCheck{Cases: k.Cases, Outcomes: k.Outcomes, Metric: k.Metric}), strings.Join(texts, ", "))
	if len(missing) > 0 {
		out.Figures += "; not tested: " + units.List(missing, 3)
	}
	return nil
}

// fewMounts are too few to judge the time of a mount by.
const fewMounts = 10

// checkFaultTime judges the mean of all mounts, or the longest. An emulated
// machine only takes longer, so that it can confirm an upper limit and refute a
// lower one.
func (f *figures) checkFaultTime(out *Claim, k study.FaultTime) {
	s := f.byName[k.Candidate]
	if s == nil {
		out.Figures = "this run has no " + k.Candidate
		return
	}
	mounts, total, longest := 0.0, 0.0, 0.0
	for _, c := range k.Cases {
		n, mean, most := s.figures[key{c, fault.Mounted}], s.figures[key{c, fault.MountMean}], s.figures[key{c, fault.MountLongest}]
		if n == nil || mean == nil || most == nil {
			continue
		}
		for i := range min(len(n.values), len(mean.values), len(most.values)) {
			mounts += n.values[i]
			total += n.values[i] * mean.values[i]
			longest = math.Max(longest, most.values[i])
		}
	}
	if mounts == 0 {
		out.Figures = k.Candidate + ": no mount after these faults was timed"
		return
	}
	value, what := total/mounts, "the mean"
	if k.Longest {
		value, what = longest, "the longest"
	}
	high := k.High
	if high == 0 {
		high = math.Inf(1)
	}
	switch {
	case mounts < fewMounts || f.run.Emulated && (value > high || k.Low > 0 && value >= k.Low):
		out.Result = Undecided
	case value < k.Low || value > high:
		out.Result = Disagrees
	default:
		out.Result = Agrees
	}
	out.Figures = fmt.Sprintf("%s %s: %s of %s", k.Candidate, units.Value(value, "s"), what, units.Count(int(mounts), "mount"))
	if f.run.Emulated {
		out.Figures += ", on an emulated machine, which takes longer"
	}
}
