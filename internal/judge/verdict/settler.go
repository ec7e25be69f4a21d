package verdict

import (
	"fmt"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// settler replays the rounds of a run in order.
type settler struct {
	run    result.Run
	study  study.Study
	trials []result.Trial // of the candidates as they are
	topics []*topic
	taking map[string]bool // candidates that can run here
	done   map[trialAt]bool
	out    Settling
}

type trialAt struct {
	candidate string
	round     int
}

// topic is a question in progress: a use, or a column.
type topic struct {
	use      string
	column   study.Column
	takes    map[string]bool // candidates that have figures for it
	dropped  map[string]bool
	hopeless bool // no candidate has figures for it, and no further round will change that
	Question
}

// uses for which a run may have candidates.
var uses = []string{"read-write", "read-only"}

func newSettler(run result.Run, trials []result.Trial, st study.Study, questions []string, most int) *settler {
	if run.Counts() {
		st = counting(st)
	}
	s := &settler{run: run, study: st, taking: map[string]bool{}, done: map[trialAt]bool{}, out: Settling{Most: most}}
	for _, t := range trials {
		if t.Variant == "" && t.Outcome.Valid() {
			s.take(t)
		}
	}
	const why = "the first look is after %d rounds"
	for _, use := range uses {
		has := func(name string) bool { return newSubject(name, "").Imaged == (use == "read-only") }
		if slices.ContainsFunc(run.Candidates, has) {
			s.topics = append(s.topics, &topic{use: use, Question: Question{Name: use, Reason: fmt.Sprintf(why, stats.FirstLook)}})
		}
	}
	for _, k := range questions {
		def, ok := st.Column(k)
		q := &topic{column: def, hopeless: !ok, Question: Question{Name: def.Name, Reason: fmt.Sprintf(why, stats.FirstLook)}}
		if !ok {
			q.Name, q.Reason = k, "the study has no such column"
		}
		s.topics = append(s.topics, q)
	}
	s.conclude()
	return s
}

// take records a trial that ended.
func (s *settler) take(t result.Trial) {
	s.trials = append(s.trials, t)
	at := trialAt{t.Candidate, t.Round}
	// A trial that failed because of the lab is tried once more.
	s.done[at] = s.done[at] || t.Outcome != result.LabFailed || t.Attempt > 1
	s.taking[t.Candidate] = true
}

// complete reports whether every candidate that still takes part has its trial
// in this round.
func (s *settler) complete(round int) bool {
	if round > s.out.Most || len(s.taking) == 0 || s.out.Done {
		return false
	}
	for name := range s.taking {
		if _, dropped := s.out.Dropped[name]; !dropped && !s.done[trialAt{name, round}] {
			return false
		}
	}
	return true
}

// look tests the figures of all rounds up to this one.
func (s *settler) look(round int) {
	s.out.Look = round
	var until []result.Trial
	for _, t := range s.trials {
		if t.Round <= round {
			until = append(until, t)
		}
	}
	f := gather(s.run, nil, until, s.study)
	for _, q := range s.topics {
		if !q.Settled && !q.hopeless && round >= stats.FirstLook {
			ask(f, q, round)
		}
	}
	for _, c := range f.subjects {
		if _, dropped := s.out.Dropped[c.Name]; dropped || !s.over(c.Name) {
			continue
		}
		if s.out.Dropped == nil {
			s.out.Dropped = map[string]int{}
		}
		s.out.Dropped[c.Name] = round
	}
	s.conclude()
}

// over reports whether a candidate takes part in at least one question and none
// needs it any more.
func (s *settler) over(name string) bool {
	takes := false
	for _, q := range s.topics {
		if !q.takes[name] {
			continue
		}
		takes = true
		if !q.Settled && !q.hopeless && !q.dropped[name] {
			return false
		}
	}
	return takes
}

// ask tests one question.
func ask(f *figures, q *topic, round int) {
	c := q.figures(f)
	q.takes, q.dropped = map[string]bool{}, map[string]bool{}
	for _, name := range c.names {
		q.takes[name] = true
	}
	q.Best, q.Tied = "", nil
	switch len(c.names) {
	case 0:
		q.hopeless, q.Reason = true, "no candidate has figures for it"
		return
	case 1:
		q.Settled, q.Best, q.Reason = true, c.names[0], "there is nothing to compare it with"
		return
	}
	if c.additive {
		q.hopeless, q.Reason = true, noRatios
		return
	}
	found, err := stats.Sequential{Margin: f.margin}.Look(c.samples, round)
	if err != nil {
		q.Reason = err.Error()
		return
	}
	q.Settled, q.Reason = found.Settled, found.Reason
	if found.Best >= 0 {
		q.Best = c.names[found.Best]
	}
	for _, i := range found.Tied {
		q.Tied = append(q.Tied, c.names[i])
	}
	for _, i := range found.Dropped {
		q.dropped[c.names[i]] = true
	}
}

// figures of the question, by candidate and round.
func (q *topic) figures(f *figures) *column {
	if q.use == "" {
		return f.sampled(q.column)
	}
	var names []string
	for _, s := range f.subjects {
		if s.Imaged == (q.use == "read-only") && s.Done > 0 {
			names = append(names, s.Name)
		}
	}
	for _, def := range f.study.Columns {
		if slices.Contains(def.Uses, q.use) {
			c := f.sampled(def)
			if c.estimates() != nil {
				c = &column{def: def} // no candidate has figures: the column is left out
			}
			f.columns[def.Key] = c
		}
	}
	score, _, _ := f.score(q.use, names)
	return score
}

// conclude fills in the state of all questions.
func (s *settler) conclude() {
	s.out.Questions = nil
	answered := true
	for _, q := range s.topics {
		s.out.Questions = append(s.out.Questions, q.Question)
		answered = answered && (q.Settled || q.hopeless)
	}
	s.out.Done = s.out.Look >= s.out.Most || answered && s.out.Look >= stats.FirstLook
}

// Settling says how far the trials so far answer the questions of a run, and
// which candidates the next round can leave out.
type Settling struct {
	// Done: every question is settled, or no further round is allowed.
	Done bool `json:"done"`
	// Dropped are the candidates that take no part in further rounds, each with
	// the last round it takes part in.
	Dropped   map[string]int `json:"dropped,omitempty"`
	Questions []Question     `json:"questions"`
	// Look is the number of complete rounds, whose figures were tested.
	Look int `json:"look"`
	Most int `json:"most"` // the largest number of rounds
}

// Question is one question of a run: which candidate is best.
type Question struct {
	Name    string `json:"name"` // "read-write", or the name of a column
	Settled bool   `json:"settled"`
	// Best as measured, and those shown to equal it within the margin.
	Best string   `json:"best,omitempty"`
	Tied []string `json:"tied,omitempty"`
	// Reason says why it is settled, or what is still open.
	Reason string `json:"reason"`
}

// Settle tests a run after each of its complete rounds and says whether its
// questions are answered: the overall order of each use, and each of the
// study's columns whose keys are in questions. most is the largest number of
// rounds. It depends only on its arguments: the same trials always give the
// same answer, so that an interrupted run resumes as it would have continued.
// It ignores trials of variants.
func Settle(run result.Run, trials []result.Trial, st study.Study, questions []string, most int) Settling {
	s := newSettler(run, trials, st, questions, most)
	for round := 1; s.complete(round); round++ {
		s.look(round)
	}
	return s.out
}
