package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

const (
	raceSeed   = 20120622
	raceRuns   = 334 // per shape and field: 10,020 together
	raceRounds = 40  // at most
)

// tally of one shape and field.
type tally struct {
	wrong  int // settled on a wrong winner
	lost   int // dropped the best
	failed int // either
	open   int // not settled
	trials int
	rounds int
	// fixed is the number of rounds that a fixed plan needs.
	fixed int
}

// race runs a simulation as Sequential decides: dropped candidates are not
// measured any more.
func (t *tally) race(f field, g grid) {
	cells := make([][]float64, len(g.cells))
	for i, row := range g.cells {
		cells[i] = append([]float64(nil), row...)
	}
	r := newRace(Sequential{Margin: raceMargin, Alpha: Alpha, First: FirstLook}, grid{g.rounds, cells})
	settled := false
	for n := 1; n <= raceRounds && !settled; n++ {
		t.rounds++
		for i := range cells {
			if r.dropped[i] {
				cells[i][n-1] = math.NaN()
			} else {
				t.trials++
			}
		}
		settled = n >= FirstLook && r.look(n)
	}
	wrong, lost := settled && f.wrong(r.result.Best), f.lost(r.dropped)
	for n, happened := range map[*int]bool{&t.wrong: wrong, &t.lost: lost, &t.failed: wrong || lost, &t.open: !settled} {
		if happened {
			*n++
		}
	}
}

// once counts the runs that one look, after n complete rounds and with all of
// the error, does not decide correctly.
func once(f field, runs []grid, n int) int {
	all := make([]int, len(f.means))
	for i := range all {
		all[i] = i
	}
	failed := 0
	for _, g := range runs {
		j := newJudge(noiseOf(g.first(n)), Alpha/float64(len(all)-1))
		best := -1
		for _, i := range all {
			if j.safe(i, all, math.Log1p(raceMargin)) && (best < 0 || j.difference(i, best).log < 0) {
				best = i
			}
		}
		if best < 0 || f.wrong(best) {
			failed++
		}
	}
	return failed
}

func simulateRaces(f field, s shape) tally {
	r := rand.New(rand.NewPCG(raceSeed, 1))
	var t tally
	runs := make([]grid, raceRuns)
	for k := range runs {
		runs[k] = f.simulate(r, s, raceRounds)
		t.race(f, runs[k])
	}
	low, high := 1, raceRounds // one round decides nothing
	for high-low > 1 {
		if n := (low + high) / 2; once(f, runs, n) > t.wrong+t.open {
			low = n
		} else {
			high = n
		}
	}
	t.fixed = high
	return t
}

// TestRaces checks the promise of Sequential and its price. Of 10,020
// simulated runs at most one in twenty may settle on a wrong winner or drop
// the best, all together and with each shape of noise. Their cost is compared
// with the smallest number of rounds, the same for all runs of a shape and
// field, after which one look with all of the error is wrong or open no more
// often than the races were.
//
// The figures follow from the seed alone; the tables are in
// docs/statistics.md.
func TestRaces(t *testing.T) {
	var table strings.Builder
	fmt.Fprintln(&table, "| noise | candidates | wrong winner | best dropped | open after 40 | rounds | trials | fixed: rounds | trials | saved |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	percent := func(n int, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of)) }
	var all tally
	for _, s := range shapes {
		failed := 0
		for _, f := range fields {
			got := simulateRaces(f, s)
			plan := got.fixed * len(f.means)
			all.wrong, all.lost, all.open = all.wrong+got.wrong, all.lost+got.lost, all.open+got.open
			all.failed, all.trials, all.fixed = all.failed+got.failed, all.trials+got.trials, all.fixed+plan*raceRuns
			failed += got.failed
			fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %.1f | %.1f | %d | %d | %s |\n", s.name, f.name,
				percent(got.wrong, raceRuns), percent(got.lost, raceRuns), percent(got.open, raceRuns),
				float64(got.rounds)/raceRuns, float64(got.trials)/raceRuns, got.fixed, plan, percent(plan*raceRuns-got.trials, plan*raceRuns))
		}
		runs := raceRuns * len(fields)
		t.Logf("seed %d, %s: %d of %d runs fail", raceSeed, s.name, failed, runs)
		if float64(failed) > Alpha*float64(runs) {
			t.Errorf("%s: %d of %d runs settle on a wrong winner or drop the best (seed %d)", s.name, failed, runs, raceSeed)
		}
	}
	runs := raceRuns * len(shapes) * len(fields)
	fmt.Fprintf(&table, "| all | %d runs | %s | %s | %s | | %.1f | | %.1f | %s |\n", runs, percent(all.wrong, runs), percent(all.lost, runs),
		percent(all.open, runs), float64(all.trials)/float64(runs), float64(all.fixed)/float64(runs), percent(all.fixed-all.trials, all.fixed))
	if float64(all.failed) > Alpha*float64(runs) {
		t.Errorf("%d of %d runs settle on a wrong winner or drop the best (seed %d)", all.failed, runs, raceSeed)
	}
	if all.trials >= all.fixed {
		t.Errorf("%d trials, a fixed plan takes %d", all.trials, all.fixed)
	}
	golden.Part(t, manual, "races", table.String())
}

// TestManualListsShapes keeps the manual's text on noise and candidates true.
func TestManualListsShapes(t *testing.T) {
	var list strings.Builder
	for _, s := range shapes {
		fmt.Fprintf(&list, "- Noise, *%s*: %s.\n", s.name, s.about)
	}
	for _, f := range fields {
		fmt.Fprintf(&list, "- Candidates, *%s*: %s.\n", f.name, f.about)
	}
	golden.Part(t, manual, "shapes", list.String())
}

func TestDriftTable(t *testing.T) {
	table, saves := driftTable()
	if !saves {
		t.Errorf("the sentinel costs rounds, or does not halve them where drift is strong:\n%s", table)
	}
	golden.Part(t, manual, "drift", table)
}

const manual = "../../../docs/statistics.md"
