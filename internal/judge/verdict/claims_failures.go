package verdict

import (
	"fmt"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// checkFailure agrees if any trial failed for the claimed reason, and disagrees
// if every round was done.
func (f *figures) checkFailure(out *Claim, k study.FailureCheck) {
	s := f.byName[k.Candidate]
	if s == nil || len(s.trials) == 0 {
		out.Figures = f.lacking(nil, k.Candidate)
		return
	}
	done, failed, last := 0, 0, ""
	trials := lastAttempts(s.trials)
	for _, t := range trials {
		switch {
		case t.Outcome == result.Done:
			done++
		case t.Outcome == result.SubjectFailed && strings.Contains(strings.ToLower(t.Reason), strings.ToLower(k.Reason)):
			failed, last = failed+1, outcomeReason(t)
		}
	}
	switch {
	case failed > 0:
		out.Result = Agrees
		out.Figures = fmt.Sprintf("%s: %d of %s failed (%s)", k.Candidate, failed, units.Count(len(trials), "trial"), last)
	case done == len(trials):
		out.Result = Disagrees
		out.Figures = fmt.Sprintf("%s: all of %s ended without it", k.Candidate, units.Count(done, "trial"))
	default:
		out.Result = Undecided
		out.Figures = fmt.Sprintf("%s: %d of %s ended without it, and no other failed so", k.Candidate, done, units.Count(len(trials), "trial"))
	}
}

// checkCuts agrees if no cut of the power lost anything promised and enough were
// made to show that it is rare, and disagrees with the first loss.
func (f *figures) checkCuts(out *Claim, k study.CutsCheck) {
	cuts := f.cuts()
	if cuts == nil {
		out.Figures = fmt.Sprintf("this run cuts no power during writes: add --cuts %d", enoughCuts)
		return
	}
	for _, r := range cuts.Rows {
		if r.Candidate == k.Candidate {
			rate := rateOf(int(r.WithLoss), int(r.Cuts), false)
			out.Result = shareWithin(rate, 0, 0)
			out.Figures = fmt.Sprintf("%s: lost something synced in %s", k.Candidate, rate)
			return
		}
	}
	out.Figures = "the power was never cut on " + k.Candidate
}

// enoughCuts without a loss show that losses are rare: see mostNever.
const enoughCuts = 59
