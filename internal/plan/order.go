package plan

import (
	"math/rand/v2"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
)

// MaxAttempts is the number of attempts at a trial when our own machinery
// fails.
const MaxAttempts = 2

// Slot is one trial to be carried out. Round, Place and Attempt count from 1.
type Slot struct {
	Round, Place int
	Candidate    filesystem.Candidate
	Variant      string // level of a factor; "" is the reference
	Attempt      int
	// Again: the trial is done, but the machine's other work disturbed it.
	Again bool
}

// Named is the candidate together with its variant.
func (s Slot) Named() string { return result.Named(s.Candidate.String(), s.Variant) }

// Order returns the order of n candidates in a round (from 1): a permutation of
// 0 … n-1. It depends only on its arguments and will never change, so that any
// later whichfs can resume a run.
func Order(seed uint64, round, n int) []int {
	if n <= 0 {
		return nil
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	// The shuffle of Fisher and Yates in Durstenfeld's form (CACM 7/7, 1964,
	// algorithm 235).
	source := rand.NewPCG(seed, uint64(round))
	for i := n - 1; i > 0; i-- {
		j := below(source, uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// below draws a number from 0 … n-1, each equally likely. It is implemented
// here because the library may change its method.
func below(source *rand.PCG, n uint64) uint64 {
	// The lowest 2^64 mod n values are rejected, so that the number of the others
	// is a multiple of n.
	refused := -n % n
	for {
		if x := source.Uint64(); x >= refused {
			return x % n
		}
	}
}

// Trials lists every trial of a plan in its order: round by round, each a
// shuffle of all candidates with all their variants.
func Trials(p Plan) []Slot {
	var all []Slot
	for round := 1; round <= p.Rounds; round++ {
		all = append(all, Round(p, round)...)
	}
	return all
}

// Round lists the trials of one round in their order. A round has each
// candidate without a variant, and once for every level of every factor that is
// varied for it: one factor at a time, as the comparison of effects requires.
func Round(p Plan, round int) []Slot {
	all := make([]Slot, 0, len(p.Candidates))
	for _, c := range p.Candidates {
		all = append(all, Slot{Round: round, Candidate: c, Attempt: 1})
	}
	for _, f := range p.Factors {
		if f.Once && round > 1 {
			continue
		}
		for _, c := range p.varied(f) {
			for _, level := range f.Levels {
				all = append(all, Slot{Round: round, Candidate: c, Variant: level.Name, Attempt: 1})
			}
		}
	}
	shuffled := make([]Slot, len(all))
	for place, i := range Order(p.Seed, round, len(all)) {
		shuffled[place] = all[i]
		shuffled[place].Place = place + 1
	}
	return shuffled
}

// Remaining returns the rest of planned, in its order, given the trials in the
// store. A trial without an outcome was not done. A trial that failed because
// of our own machinery is repeated once, and so is one that the machine's other
// work disturbed.
func Remaining(planned []Slot, trials []result.Trial) []Slot {
	type place struct{ round, place int }
	type state struct {
		last     result.Trial // attempt that ended
		measured int          // attempts
		done     bool
	}
	states := map[place]state{}
	for _, t := range trials {
		if !t.Outcome.Valid() {
			continue
		}
		at := place{t.Round, t.Place}
		s := states[at]
		if t.Attempt >= s.last.Attempt {
			s.last = t
		}
		if t.Outcome == result.Done {
			s.measured++
		}
		s.done = s.done || t.Outcome != result.LabFailed || t.Attempt >= MaxAttempts
		states[at] = s
	}
	var left []Slot
	for _, slot := range planned {
		s := states[place{slot.Round, slot.Place}]
		_, disturbed := s.last.Disturbed()
		slot.Again = disturbed && s.last.Outcome == result.Done && s.measured == 1
		if s.done && !slot.Again {
			continue
		}
		slot.Attempt = s.last.Attempt + 1
		left = append(left, slot)
	}
	return left
}
