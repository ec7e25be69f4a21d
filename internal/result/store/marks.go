package store

import (
	"fmt"

	"whichfs/internal/result"
)

// Mark tells whether anything that was computed from a run still holds.
type Mark struct {
	ID, Study string
	// Of changes with the run's figures.
	Of string
}

// Marks returns those of the runs that a query chooses, oldest first.
func (s *Store) Marks(q Query) ([]Mark, error) {
	where, args := q.where()
	return s.marks("SELECT run.id, c.study, run.rounds, c.state FROM circumstances AS c CROSS JOIN run ON run.number = c.run WHERE "+where+" ORDER BY c.run", args...)
}

// Latest returns the marks of the latest finished run under each of the conditions that a query chooses:
// study, scale, machine, storage, kernel and clock with its processor. The latest comes first.
func (s *Store) Latest(q Query) ([]Mark, error) {
	q.State = string(result.Finished)
	where, args := q.where()
	return s.marks(`SELECT run.id, run.study, run.rounds, run.state FROM
		(SELECT max(c.run) AS latest FROM circumstances AS c WHERE `+where+` GROUP BY c.study, c.scale, c.machine, c.storage, c.kernel, c.clock) AS newest
		CROSS JOIN run ON run.number = newest.latest ORDER BY run.number DESC`+limit(q.Limit), args...)
}

// Line is the runs that may be compared with each other: those of one study, scale, machine, storage,
// clock and data.
type Line struct {
	Latest string // its ID
	Runs   int
}

// Lines returns those of the runs that a query chooses, the one with the latest run first.
func (s *Store) Lines(q Query) (list []Line, err error) {
	where, args := q.where()
	err = s.read("looking for runs", func(c *conn) error {
		list = nil
		return each(c, func(scan func(...any) error) error {
			var one Line
			err := scan(&one.Latest, &one.Runs)
			list = append(list, one)
			return err
		}, `SELECT run.id, newest.runs FROM
			(SELECT max(c.run) AS latest, count(*) AS runs FROM circumstances AS c WHERE `+where+` GROUP BY c.study, c.scale, c.machine, c.storage, c.clock, c.data) AS newest
			CROSS JOIN run ON run.number = newest.latest ORDER BY run.number DESC`, args...)
	})
	return list, err
}

// Of returns the marks of the latest runs of a line that a query chooses, at most so many, oldest first.
func (s *Store) Of(l Line, q Query, most int) (list []Mark, err error) {
	where, args := q.where()
	return s.marks(`SELECT run.id, c.study, run.rounds, c.state FROM (
			SELECT c.run, c.study, c.state FROM circumstances AS l JOIN circumstances AS c
			ON c.study = l.study AND c.scale = l.scale AND c.machine = l.machine AND c.storage = l.storage AND c.clock = l.clock AND c.data = l.data
			WHERE l.run = (SELECT number FROM run WHERE id = ?) AND `+where+` ORDER BY c.run DESC`+limit(most)+`) AS c
		CROSS JOIN run ON run.number = c.run ORDER BY c.run`, append([]any{l.Latest}, args...)...)
}

func limit(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

// marks reads IDs, studies, rounds and states. The figures of a finished run are final, unless it gets more rounds.
func (s *Store) marks(query string, args ...any) (list []Mark, err error) {
	var open []int
	err = s.read("looking for runs", func(c *conn) error {
		list, open = nil, nil
		return each(c, func(scan func(...any) error) error {
			var one Mark
			var rounds int
			var state result.RunState
			err := scan(&one.ID, &one.Study, &rounds, &state)
			one.Of = fmt.Sprint(rounds)
			if state != result.Finished {
				open = append(open, len(list))
			}
			list = append(list, one)
			return err
		}, query, args...)
	})
	for _, i := range open {
		if err != nil {
			break
		}
		var p Progress
		p, err = s.Progress(list[i].ID)
		p.Remarks = 0
		list[i].Of = fmt.Sprint(p)
	}
	return list, err
}
