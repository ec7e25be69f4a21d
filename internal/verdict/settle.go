package verdict

import (
	"whichfs/internal/result"
	"whichfs/internal/study"
)

// Settling says how far the questions of a run are answered by the trials that
// there are, and what the next round need not try again.
type Settling struct {
	// Done: every question is settled, or there may be no further round.
	Done bool `json:"done"`
	// Dropped are the candidates that take no part in any further round, each
	// with the last round that it takes part in.
	Dropped   map[string]int `json:"dropped,omitempty"`
	Questions []Question     `json:"questions"`
	// Look is how many rounds are complete: the figures looked at.
	Look int `json:"look"`
	Most int `json:"most"` // rounds that there may be
}

// Question is one thing that a run is to answer: who is best.
type Question struct {
	Name    string `json:"name"` // "read-write", or the name of a column
	Settled bool   `json:"settled"`
	// Best as measured, and whoever is shown to equal it within the margin.
	Best string   `json:"best,omitempty"`
	Tied []string `json:"tied,omitempty"`
	// Reason says why it is settled, or what is open.
	Reason string `json:"reason"`
}

// Settle looks at a run after each of its complete rounds and says whether its
// questions are answered: the overall order of each use, and each of the
// study's columns whose keys are in questions. most is how many rounds there
// may be. It depends on nothing but its arguments: the same trials always give
// the same answer, so that an interrupted run is resumed as it would have gone
// on. Trials of variants take no part.
func Settle(run result.Run, trials []result.Trial, st study.Study, questions []string, most int) Settling {
	s := newSettler(run, trials, st, questions, most)
	for round := 1; s.complete(round); round++ {
		s.look(round)
	}
	return s.out
}
