package stats

import "fmt"

// Sequential examines a run after every round and says when its question is
// answered: which candidate is the best (the lowest figure), to within the
// margin. The promise, per question: whatever the number of looks and of
// candidates, and however unequal their noise, the probability that the
// settled candidate is truly worse than the best by more than the margin, or
// that the best is dropped on the way, is at most Alpha. A test here makes
// 10,020 runs with six kinds of noise; docs/statistics.md has its table.
//
// How it keeps the promise: let b be the candidate that is truly the best. At
// every look each candidate is compared with each other one, one-sided, with
// an error so small that the comparisons with b, over all looks, hold at once
// (Bonferroni over the candidates; their noise may differ, so nothing sharper
// is safe). While they hold, b is not shown to be worse than anything, so it
// is never dropped; and a settled candidate has a limit against b, too, so it
// is not worse than b by more than the margin. It is not necessary to know b
// (Hsu 1984, "Constrained simultaneous confidence intervals for multiple
// comparisons with the best"): the price is one comparison with each other
// candidate, not one for each pair. The total error of all looks is less than
// Alpha (see boundary).
//
// Dropped candidates have no figures in later rounds. That biases nothing that
// is used later: a comparison of two remaining candidates uses only their
// common rounds, which are all of them; the number of comparisons that the
// limits assume stays the initial one, since which candidates chance drops
// depends on the figures; and the figures of dropped candidates still count
// towards the noise, like all others. A comparison with a dropped candidate is
// not repeated: it lost at a look whose error was accounted for. Its estimate
// is slightly too bad, like any that was picked for being bad; so do not use
// it to judge how much worse the candidate is.
//
// Everything follows from the figures alone: a resumed run decides the same.
type Sequential struct {
	// Margin of interest; 0.10 is a factor of 1.10.
	Margin float64
	// Alpha is the total error of all looks; 0: the constant Alpha, 5 %.
	Alpha float64
	// First is the number of rounds before the first look; 0: FirstLook.
	First int
}

// FirstLook is the default number of rounds before the first look.
const FirstLook = 3

// Settled is the answer of a look.
type Settled struct {
	Rounds, Looks int
	// Best has the lowest mean of those that are left; -1 if no two
	// candidates can be compared.
	Best    int
	Settled bool
	// Tied are the others that could equally be called best: they, too,
	// are not worse than any by more than the margin. Only if Settled.
	Tied []int
	// Dropped are shown to be worse than another and can no longer win.
	Dropped []int
	// AlphaSpent is the error spent by the looks so far.
	AlphaSpent float64
	// Reason says why it is settled or what is still open.
	Reason string
}

// Look decides after round, from the figures of the rounds up to it. It
// repeats all earlier looks, so that what they dropped stays dropped. The
// figures belong to one question; with several, call Look for each: the error
// is kept for each of them.
//
// Candidates without figures do not take part. One with figures of only a few
// rounds, without having been dropped, keeps the question open until they
// suffice: pass a candidate that failed for good without figures.
func (s Sequential) Look(samples []Sample, round int) (Settled, error) {
	if err := checkMargin(s.Margin); err != nil {
		return Settled{}, err
	}
	if s.Alpha == 0 {
		s.Alpha = Alpha
	}
	if !(s.Alpha > 0 && s.Alpha < 0.5) {
		return Settled{}, fmt.Errorf("alpha %v is not between 0 and 0.5", s.Alpha)
	}
	if s.First == 0 {
		s.First = FirstLook
	}
	if s.First < 2 {
		return Settled{}, fmt.Errorf("first look after %d rounds: noise is visible from 2 rounds", s.First)
	}
	g, err := logGrid(samples)
	if err != nil {
		return Settled{}, err
	}
	r := newRace(s, g.first(round))
	for n := s.First; n <= len(r.grid.rounds); n++ {
		if r.look(n) {
			break
		}
	}
	return r.result, nil
}
