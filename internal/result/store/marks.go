package store

import "fmt"

// Mark tells whether anything that was computed from a run still holds.
type Mark struct {
	ID string
	// Of changes with the run's figures.
	Of string
}

// Marks returns those of the runs that a query chooses, oldest first. It reads no more of a finished
// run than its row's beginning.
func (s *Store) Marks(q Query) (list []Mark, err error) {
	where, args := q.where()
	var open []int
	err = s.read("looking for runs", func(c *conn) error {
		list, open = nil, nil
		unfinished := map[int64]bool{}
		err := each(c, func(scan func(...any) error) error {
			var number int64
			err := scan(&number)
			unfinished[number] = true
			return err
		}, "SELECT number FROM run WHERE state < 'finished' OR state > 'finished'")
		if err != nil {
			return err
		}
		return each(c, func(scan func(...any) error) error {
			var number int64
			var rounds int
			var one Mark
			err := scan(&number, &one.ID, &rounds)
			one.Of = fmt.Sprint(rounds)
			if unfinished[number] {
				open = append(open, len(list))
			}
			list = append(list, one)
			return err
		}, "SELECT number, id, rounds FROM run WHERE "+where+" ORDER BY number", args...)
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

// Latest returns the IDs of the latest finished run under each of the conditions that a query chooses:
// study, scale, machine, storage, kernel and clock with its processor. The latest comes first.
func (s *Store) Latest(q Query) (ids []string, err error) {
	where, args := q.where()
	condition := func(name string) string {
		return `(SELECT min(value) FROM condition WHERE condition.run = run.number AND condition.name = '` + name + `' AND condition."group" = 'machine')`
	}
	limit := ""
	if q.Limit > 0 {
		limit = fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	err = s.read("looking for the latest runs", func(c *conn) error {
		ids = nil
		return each(c, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		}, `SELECT id FROM run JOIN (SELECT max(number) AS latest FROM (
				SELECT number, study, scale, machine, storage, `+condition("kernel")+` AS kernel, `+condition("clock")+` AS clock FROM run WHERE number IN (SELECT number FROM run WHERE state = 'finished') AND `+where+`) AS known
			GROUP BY study, scale, machine, storage, kernel, clock) AS newest ON number = newest.latest ORDER BY number DESC`+limit, args...)
	})
	return ids, err
}
