package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// mostNever is the largest upper limit at which "never seen" may stand for
// "never"; 59 iterations without an event reach it.
const mostNever = 0.05

// checkFault agrees if the interval of the share lies within the claimed limits
// for every candidate, and disagrees if any lies wholly outside. No number of
// iterations proves a claimed share of none or of all: such a claim stands if
// no exception was seen and the limit is at most 5 %, and falls with the first
// exception.
func (f *figures) checkFault(out *Claim, k study.FaultCheck) {
	names := f.named(k.Candidates)
	var results, texts, missing []string
	whole := true // the run has judged every case of its plan
	for _, name := range names {
		if f.byName[name] == nil {
			missing = append(missing, name+" (not in this run)")
			continue
		}
		rate, lacks := f.faultRate(name, k)
		if len(lacks) > 0 {
			whole = false
			missing = append(missing, fmt.Sprintf("%s (%s)", name, units.List(lacks, 3)))
		}
		if rate.Of == 0 {
			continue
		}
		if k.Any {
			results = append(results, someOf(rate))
		} else {
			results = append(results, shareWithin(rate, k.Low, k.High))
		}
		texts = append(texts, name+" "+rate.String())
	}
	if len(results) == 0 {
		out.Figures = "not tested: " + units.List(missing, 3)
		return
	}
	if k.Any {
		out.Result = anyOf(results)
	} else {
		out.Result = allOf(results)
	}
	if !whole {
		out.Result = weaker(out.Result, k.Any)
	}
	out.Figures = fmt.Sprintf("%s: %s", faultWhat(k), strings.Join(texts, ", "))
	if len(missing) > 0 {
		out.Figures += "; not tested: " + units.List(missing, 3)
	}
}

// faultRate is the share over the cases of a claim (by default all but crash
// states), and the cases that a candidate lacks.
func (f *figures) faultRate(name string, k study.FaultCheck) (Rate, []string) {
	hits, of, listed := 0, 0, false
	var reasons []string
	without := map[string][]string{} // reason → cases
	cases := k.Cases
	if len(cases) == 0 && f.survival != nil {
		for _, c := range f.survival.Cases {
			if !enumerated(c.Class) { // they are not a sample of what happens
				cases = append(cases, c.Name)
			}
		}
	}
	for _, c := range cases {
		counts := f.faults[name][c]
		n := ended(counts)
		_, counted := counts[k.Metric]
		if n > 0 && k.Metric == fault.Stopped && !counted {
			n, counts = 0, nil // a run of an older version
		}
		if n == 0 {
			why := "not tried"
			if row, ok := f.survival.Row(name); ok {
				for _, cell := range row.Cells {
					if cell.Name == c {
						why = cell.Absent
					}
				}
			}
			if without[why] == nil {
				reasons = append(reasons, why)
			}
			without[why] = append(without[why], c)
			continue
		}
		one, _ := f.survival.Case(c)
		listed = listed || enumerated(one.Class)
		of += n
		if k.Metric != "" {
			hits += counts[k.Metric]
		}
		for _, key := range k.Outcomes {
			hits += counts[fault.OutcomePrefix+key]
		}
	}
	var lacks []string
	for _, why := range reasons {
		lacks = append(lacks, units.List(without[why], 2)+": "+why)
	}
	return rateOf(min(hits, of), of, listed), lacks
}

// shareWithin compares a share with the claimed limits.
func shareWithin(r Rate, low, high float64) string {
	switch {
	case high <= 0 || low >= 1:
		other := r.Hits
		bound := r.High
		if low >= 1 {
			other, bound = r.Of-r.Hits, 1-r.Low
		}
		switch {
		case other > 0:
			return Disagrees
		case bound <= mostNever:
			return Agrees
		}
		return Undecided
	case r.Low >= low && r.High <= high:
		return Agrees
	case r.High < low || r.Low > high:
		return Disagrees
	}
	return Undecided
}

// someOf agrees if it was seen, and disagrees if enough iterations without it
// show that it is rare at most.
func someOf(r Rate) string {
	switch {
	case r.Hits > 0:
		return Agrees
	case r.High <= mostNever && !r.Listed:
		return Disagrees
	}
	return Undecided
}

// anyOf combines the results of several candidates for a claim that one of them
// can satisfy.
func anyOf(results []string) string {
	out := Disagrees
	for _, r := range results {
		switch {
		case r == Agrees:
			return Agrees
		case r == Undecided:
			out = Undecided
		}
	}
	return out
}

// weaker is what remains of a result where some of its cases were not judged: a
// claim about every candidate becomes undecided, and one that a single
// candidate decides stands.
func weaker(result string, any bool) string {
	if result == Agrees && !any || result == Disagrees && any {
		return Undecided
	}
	return result
}

func faultWhat(k study.FaultCheck) string {
	const mostCases = 4
	words := slices.Clone(k.Outcomes)
	switch k.Metric {
	case "":
	case fault.CheckDirty:
		words = append(words, "check complained")
	case fault.CheckClean:
		words = append(words, "check found nothing")
	case fault.Mounted:
		words = append(words, "mounted without repair")
	case fault.Replayed:
		words = append(words, "journal or log replayed")
	case fault.Complained:
		words = append(words, "kernel reported errors")
	case fault.Stopped:
		words = append(words, "nothing could be written any more")
	case fault.AfterPrefix + fault.Lost.Key():
		words = append(words, "files were missing after a repair")
	default:
		words = append(words, k.Metric)
	}
	what := strings.Join(words, " or ")
	switch {
	case len(k.Cases) > mostCases:
		what += fmt.Sprintf(" after %s to %s (%d cases)", k.Cases[0], k.Cases[len(k.Cases)-1], len(k.Cases))
	case len(k.Cases) > 0:
		what += " after " + strings.Join(k.Cases, ", ")
	}
	return what
}
