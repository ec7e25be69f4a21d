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
	trials := perRound(s.trials)
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

// checkPower agrees if no cut of the power lost anything promised and enough were
// made to show that it is rare, and disagrees with the first loss. Without cuts,
// every round must have mounted after the power loss and found every file as it
// was written.
func (f *figures) checkPower(out *Claim, k study.PowerCheck) {
	if cuts := f.cuts(); cuts != nil {
		for _, r := range cuts.Rows {
			if r.Candidate == k.Candidate {
				rate := rateOf(int(r.WithLoss), int(r.Cuts), false)
				out.Result = shareWithin(rate, 0, 0)
				out.Figures = fmt.Sprintf("%s: lost something synced in cuts of the power: %s", k.Candidate, rate)
				return
			}
		}
	}
	s := f.byName[k.Candidate]
	if s == nil || len(s.trials) == 0 {
		out.Figures = f.lacking(nil, k.Candidate)
		return
	}
	const how = "; --cuts N cuts the power in the middle of writes"
	for _, t := range perRound(s.trials) {
		if t.Outcome == result.SubjectFailed && t.Phase == k.Mount {
			out.Result, out.Figures = Disagrees, fmt.Sprintf("%s did not mount after a power loss: %s", k.Candidate, t.Reason)
			return
		}
	}
	written, whole := s.figures[key{k.Compare, result.DataFiles}], s.figures[key{k.Compare, result.FilesWhole}]
	mounted, ok := f.figureOf(k.Candidate, k.Mount, result.Wall)
	if !ok || written == nil || whole == nil || len(written.values) == 0 || len(written.values) != len(whole.values) {
		out.Figures = "the power was never lost with " + k.Candidate + " mounted" + how
		return
	}
	out.Result = Agrees
	least, of := whole.values[0], written.values[0]
	for i, n := range whole.values {
		if n < written.values[i] {
			out.Result = Disagrees
		}
		if n-written.values[i] < least-of {
			least, of = n, written.values[i]
		}
	}
	out.Figures = fmt.Sprintf("%s mounted after a power loss with everything synced and nothing unmounted, in %s, and had %.0f of %.0f files as they were written%s",
		k.Candidate, units.Count(len(mounted.values), "round"), least, of, how)
}
