package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// How far a run got that was to stop when it knew enough.

// settledLine says in one sentence why the run has the rounds that it has.
func settledLine(s *verdict.Settling) string {
	open := 0
	for _, q := range s.Questions {
		if !q.Settled {
			open++
		}
	}
	rounds := units.Count(s.Look, "round") + fmt.Sprintf(" of at most %d", s.Most)
	switch {
	case open == 0 && len(s.Questions) > 0:
		return "Every question was settled after " + rounds + "."
	case s.Done:
		return fmt.Sprintf("After %s %s open.", rounds, isOrAre(open, "question"))
	}
	return fmt.Sprintf("So far there are %s, and %s open.", rounds, isOrAre(open, "question"))
}

func isOrAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// questionLine is the answer to one question.
func questionLine(q verdict.Question) string {
	switch {
	case q.Best == "":
		return q.Reason
	case q.Settled && len(q.Tied) > 0:
		return fmt.Sprintf("%s, together with %s: %s", q.Best, strings.Join(q.Tied, ", "), q.Reason)
	case q.Settled:
		return q.Best + ": " + q.Reason
	}
	return fmt.Sprintf("%s is ahead; %s", q.Best, q.Reason)
}

// dropped says from when on candidates were left out, and why, in the order of
// the rounds.
func dropped(s *verdict.Settling) []string {
	names := slices.Sorted(maps.Keys(s.Dropped))
	slices.SortStableFunc(names, func(a, b string) int { return s.Dropped[a] - s.Dropped[b] })
	var out []string
	for _, n := range names {
		if s.Done && s.Dropped[n] >= s.Look {
			continue // the run ended there anyway
		}
		why := "can no longer win"
		for _, q := range s.Questions {
			if q.Settled && (q.Best == n || slices.Contains(q.Tied, n)) {
				why = "what was asked of it is settled"
			}
		}
		out = append(out, fmt.Sprintf("%s: left out from round %d on: %s", n, s.Dropped[n]+1, why))
	}
	return out
}

func (p *printer) settling(s *verdict.Settling) {
	if s == nil {
		return
	}
	p.head("How many rounds it took")
	p.para(0, "", settledLine(s), nil)
	for _, q := range s.Questions {
		mark, paint := "?", p.yellow
		if q.Settled {
			mark, paint = "✓", p.green
		}
		p.para(0, mark, q.Name+": "+questionLine(q), paint)
	}
	for _, d := range dropped(s) {
		p.para(0, "–", d, p.faint)
	}
}
