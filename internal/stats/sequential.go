package stats

import "fmt"

// Sequential looks at a run after every round and says when its question is
// answered: which candidate is the best (the lowest figure), to within the
// margin. The promise, per question: whatever the number of looks and of
// candidates, and however unequal their noise, the probability that the
// candidate that is called settled is truly worse than the best by more than
// the margin, or that the best is dropped on the way, is at most Alpha. A test
// here makes 10,020 runs with six kinds of noise; docs/statistics.md has its
// table.
//
// How it keeps it. Let b be the candidate that is truly the best. At every look
// each candidate is compared with each other, one-sided, with an error so small
// that the comparisons with b, over all looks, hold at once (Bonferroni over
// the candidates; their noise may differ, so nothing sharper is safe). While
// they hold, b is not shown to be worse than anything, so it is never dropped;
// and who is settled has a limit against b, too, so it is not worse than b by
// more than the margin. It need not be known who b is (Hsu 1984, "Constrained
// simultaneous confidence intervals for multiple comparisons with the best"):
// the price is one comparison with each other candidate, not one for each pair.
// What the looks err together is less than Alpha (see boundary).
//
// Dropped candidates have no figures in later rounds. That biases nothing that
// is used later: a comparison of two that are left uses only the rounds that
// both have, which are all of them; the number of comparisons that the limits
// are made for stays what it was in the beginning, since whom chance drops
// depends on the figures; and the figures of the dropped stay in the noise,
// which their few rounds show like all others. A comparison with a dropped one
// is not made again: it lost one at a look whose error was accounted for. Its
// estimate is a little too bad, as of everything that was picked for being bad;
// so do not read from it how much worse it is.
//
// Everything follows from the figures alone: a resumed run decides the same.
type Sequential struct {
	// Margin of interest; 0.10 is a factor of 1.10.
	Margin float64
	// Alpha is the error that all looks together keep to; 0: the constant
	// Alpha, 5 %.
	Alpha float64
	// First is how many rounds there are before the first look; 0: FirstLook.
	First int
}

// FirstLook is how many rounds there have to be before the first look.
const FirstLook = 3

// Settled is the answer of a look.
type Settled struct {
	Rounds, Looks int
	// Best has the lowest mean of those that are left; -1 where no two
	// candidates can be compared.
	Best    int
	Settled bool
	// Tied are the others that could be called best with the same right: they,
	// too, are not worse than any by more than the margin. Only where Settled.
	Tied []int
	// Dropped are shown to be worse than another and cannot win any more.
	Dropped []int
	// AlphaSpent is the error of the looks so far.
	AlphaSpent float64
	// Reason says in words why it is settled or what is still open.
	Reason string
}

// Look decides after round, from the figures of the rounds up to it. All
// earlier looks are made again, so that what they dropped stays dropped. The
// figures are of one question; with several, look for each: the error is kept
// for each of them.
//
// Candidates without any figure do not take part. One that has figures of a few
// rounds only, without having been dropped, keeps the question open until they
// suffice: a candidate that failed for good is to be given without figures.
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
		return Settled{}, fmt.Errorf("first look after %d rounds: it takes 2 to see noise", s.First)
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
