package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// These orders must never change, because resumed runs depend on them. They
// were computed by a second implementation, including the generator, in another
// language.
func TestOrderNeverChanges(t *testing.T) {
	for _, c := range []struct {
		seed     uint64
		round, n int
		want     string
	}{
		{1, 1, 0, "[]"},
		{1, 1, -1, "[]"},
		{1, 1, 1, "[0]"},
		{0, 0, 6, "[5 4 0 3 1 2]"},
		{1, 1, 10, "[7 1 6 2 3 5 9 4 8 0]"},
		{1, 2, 10, "[7 5 3 8 6 4 2 9 1 0]"},
		{2, 1, 10, "[8 1 0 7 2 5 3 4 9 6]"},
		{18446744073709551615, 3, 12, "[8 3 9 0 6 1 11 5 2 7 10 4]"},
	} {
		if got := fmt.Sprint(Order(c.seed, c.round, c.n)); got != c.want {
			t.Errorf("{%d, %d, %d, %q},", c.seed, c.round, c.n, got)
		}
	}
}

// Over many rounds, and over many seeds, every permutation of four is equally
// likely: chi-square with 23 degrees of freedom, whose 0.1 % and 99.9 % points
// are 6.0 (too even) and 49.7. Seeds are fixed, so the result is always the
// same.
func TestOrdersAreEquallyLikely(t *testing.T) {
	const draws = 24_000
	for name, order := range map[string]func(i int) []int{
		"rounds of seed 1":       func(i int) []int { return Order(1, i+1, 4) },
		"rounds of a large seed": func(i int) []int { return Order(0xdeadbeefcafef00d, i+1, 4) },
		"first rounds of seeds":  func(i int) []int { return Order(uint64(i), 1, 4) },
		"third rounds of seeds":  func(i int) []int { return Order(uint64(i), 3, 4) },
	} {
		seen := map[string]int{}
		for i := range draws {
			seen[fmt.Sprint(order(i))]++
		}
		chi := 0.0
		for _, n := range seen {
			d := float64(n) - draws/24
			chi += d * d / (draws / 24)
		}
		if len(seen) != 24 || chi < 6.0 || chi > 49.7 {
			t.Errorf("%s: %d permutations, chi-square %.1f", name, len(seen), chi)
		}
	}
}

// Neighbouring rounds are independent: the pair of first candidates in rounds r
// and r+1 is equally likely to be any of 16 pairs (15 degrees of freedom: 3.0
// to 37.7; pairs overlap, which a shuffle without memory does not show).
func TestRoundsAreIndependent(t *testing.T) {
	const draws = 16_000
	var seen [4][4]int
	last := Order(99, 0, 4)[0]
	for round := 1; round <= draws; round++ {
		first := Order(99, round, 4)[0]
		seen[last][first]++
		last = first
	}
	chi := 0.0
	for _, row := range seen {
		for _, n := range row {
			d := float64(n) - draws/16
			chi += d * d / (draws / 16)
		}
	}
	if chi < 3.0 || chi > 37.7 {
		t.Errorf("chi-square %.1f: %v", chi, seen)
	}
}

func TestTrialsAreWholeRounds(t *testing.T) {
	p := Plan{Candidates: parsed.Candidates("ext2", "ext3", "ext4", "xfs", "btrfs"), Rounds: 4, Seed: 7}
	all := Trials(p)
	if len(all) != 20 {
		t.Fatalf("%d trials", len(all))
	}
	for round := range 4 {
		seen := map[filesystem.Candidate]bool{}
		for place, s := range all[5*round : 5*round+5] {
			if s.Round != round+1 || s.Place != place+1 || s.Attempt != 1 {
				t.Errorf("%+v", s)
			}
			seen[s.Candidate] = true
		}
		if len(seen) != 5 {
			t.Errorf("round %d: %v", round+1, seen)
		}
	}
	// More rounds do not change the ones before.
	p.Rounds = 6
	if d := cmp.Diff(all, Trials(p)[:20], parsed.ByValue); d != "" {
		t.Error(d)
	}
}

// A run that is interrupted after any number of trials has the same trials in
// the same order as an uninterrupted one.
func TestResumedRunHasTheSameOrder(t *testing.T) {
	p := Plan{Candidates: parsed.Candidates("ext2", "ext3", "ext4"), Rounds: 3, Seed: 5}
	all := Trials(p)
	var stored []result.Trial
	for i := range len(all) + 1 {
		if d := cmp.Diff(append([]Slot(nil), all[i:]...), Remaining(Trials(p), stored), parsed.ByValue); d != "" {
			t.Fatalf("after %d: %s", i, d)
		}
		if i < len(all) {
			stored = append(stored, result.Trial{Round: all[i].Round, Place: all[i].Place, Candidate: all[i].Candidate.String(), Attempt: 1, Outcome: result.Done})
		}
	}
}

func TestWhatIsDoneAgain(t *testing.T) {
	planned := []Slot{{Round: 1, Place: 1, Candidate: parsed.Candidate("ext4"), Attempt: 1}}
	trial := func(attempt int, o result.Outcome) result.Trial {
		return result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: attempt, Outcome: o}
	}
	disturbed := func(attempt int, o result.Outcome) result.Trial {
		x := trial(attempt, o)
		x.Measurements = append(result.LoadFigures(time.Second, time.Second, 0, 0, "", ""), result.Figure(result.Wall, 1))
		return x
	}
	for name, c := range map[string]struct {
		trials  []result.Trial
		attempt int // 0: nothing is left
	}{
		"disturbed":                      {[]result.Trial{disturbed(1, result.Done)}, 2},
		"disturbed, and begun again":     {[]result.Trial{disturbed(1, result.Done), trial(2, "")}, 2},
		"disturbed, and taken again":     {[]result.Trial{disturbed(1, result.Done), trial(2, result.Done)}, 0},
		"disturbed twice":                {[]result.Trial{disturbed(1, result.Done), disturbed(2, result.Done)}, 0},
		"disturbed, then the lab failed": {[]result.Trial{disturbed(1, result.Done), trial(2, result.LabFailed)}, 0},
		"disturbed after the lab failed": {[]result.Trial{trial(1, result.LabFailed), disturbed(2, result.Done)}, 3},
		"disturbed, and failed":          {[]result.Trial{disturbed(1, result.SubjectFailed)}, 0},
		"nothing was done":               {nil, 1},
		"begun":                          {[]result.Trial{trial(1, "")}, 1},
		"done":                           {[]result.Trial{trial(1, result.Done)}, 0},
		"the subject failed":             {[]result.Trial{trial(1, result.SubjectFailed)}, 0},
		"unsupported":                    {[]result.Trial{trial(1, result.Unsupported)}, 0},
		"refused":                        {[]result.Trial{trial(1, result.Refused)}, 0},
		"the lab failed":                 {[]result.Trial{trial(1, result.LabFailed)}, 2},
		"begun again":                    {[]result.Trial{trial(1, result.LabFailed), trial(2, "")}, 2},
		"done the second time":           {[]result.Trial{trial(1, result.LabFailed), trial(2, result.Done)}, 0},
		"the lab failed twice":           {[]result.Trial{trial(1, result.LabFailed), trial(2, result.LabFailed)}, 0},
		"another place was done":         {[]result.Trial{{Round: 1, Place: 2, Attempt: 1, Outcome: result.Done}}, 1},
		"another round was done":         {[]result.Trial{{Round: 2, Place: 1, Attempt: 1, Outcome: result.Done}}, 1},
	} {
		left := Remaining(planned, c.trials)
		switch {
		case len(left) == 1 && left[0].Again != (len(c.trials) > 0 && c.trials[0].Outcome != "" && strings.HasPrefix(name, "disturbed")):
			t.Errorf("%s: again is %v", name, left[0].Again)
		case c.attempt == 0 && len(left) != 0:
			t.Errorf("%s: %+v is left", name, left)
		case c.attempt != 0 && (len(left) != 1 || left[0].Attempt != c.attempt || left[0].Candidate != planned[0].Candidate):
			t.Errorf("%s: left %+v, want attempt %d", name, left, c.attempt)
		}
	}
}
