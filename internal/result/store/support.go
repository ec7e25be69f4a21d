package store

import (
	"fmt"

	"whichfs/internal/result"
)

// SetSupport replaces the stored list of candidates of a run that cannot take
// part.
func (s *Store) SetSupport(run string, list []result.Support) error {
	return s.write("storing what is unsupported", func(t *tx) error {
		number, err := t.runNumber(run)
		if err != nil {
			return err
		}
		return t.support(number, list)
	})
}

func (t *tx) support(run int64, list []result.Support) error {
	if _, err := t.Exec("DELETE FROM support WHERE run = ?", run); err != nil {
		return err
	}
	for i, one := range list {
		if one.Outcome != result.Unsupported && one.Outcome != result.Refused {
			return fmt.Errorf("candidate %q: outcome %q is neither unsupported nor refused", one.Candidate, one.Outcome)
		}
		candidate, err := t.word(one.Candidate)
		if err != nil {
			return err
		}
		if _, err := t.Exec("INSERT INTO support VALUES (?, ?, ?, ?, ?, ?)",
			run, i, candidate, string(one.Outcome), one.Reason, one.Hint); err != nil {
			return err
		}
	}
	return nil
}

// Support returns the list stored by SetSupport, in its order.
func (s *Store) Support(run string) (list []result.Support, err error) {
	err = s.read("reading what is unsupported", func(c *conn) error {
		number, err := s.number(c, run)
		if err != nil {
			return err
		}
		list = nil
		return each(c, func(scan func(...any) error) error {
			var one result.Support
			err := scan(&one.Candidate, &one.Outcome, &one.Reason, &one.Hint)
			list = append(list, one)
			return err
		}, `SELECT word.text, outcome, reason, hint FROM support JOIN word ON word.id = candidate
			WHERE run = ? ORDER BY place`, number)
	})
	return list, err
}
