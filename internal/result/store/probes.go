package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"whichfs/internal/probe"
)

// ProbeSummary is a probe in a list.
type ProbeSummary struct {
	ID       string    `json:"id"`
	Identity string    `json:"identity"` // of the device
	Storage  string    `json:"storage"`  // as the user wrote it
	Machine  string    `json:"machine"`
	Started  time.Time `json:"started"`
	Wrote    bool      `json:"wrote"`
}

// SaveProbe stores the report of a probe under an ID, in the form of a run's.
// An existing ID is an error.
func (s *Store) SaveProbe(id string, r probe.Report) error {
	return s.write("storing probe "+id, func(t *tx) error {
		if reserved(id) {
			return fmt.Errorf("a probe cannot be called %q", id)
		}
		var there int
		if err := t.QueryRow("SELECT count(*) FROM probe WHERE id = ?", id).Scan(&there); err != nil {
			return err
		}
		if there > 0 {
			return fmt.Errorf("probe %s already exists", id)
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO probe (id, identity, storage, machine, started, wrote, report) VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, r.Identity, r.Storage, r.Machine, r.Started.UnixNano(), flag(r.Wrote), string(text))
		return err
	})
}

// Probe finds a probe by its ID, by a unique prefix of its ID, or as "last" or
// "latest", the one stored last. The error is ErrNoProbe if the name matches
// none or several.
func (s *Store) Probe(id string) (exact string, r probe.Report, err error) {
	err = s.read("reading probe "+id, func(c *conn) error {
		query, args := "SELECT id, report FROM probe WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id <> ?1, number DESC LIMIT 10", []any{id}
		if reserved(id) {
			query, args = "SELECT id, report FROM probe ORDER BY number DESC LIMIT 1", nil
		}
		found, text, err := texts(c, query, args...)
		switch {
		case err != nil:
			return err
		case len(found) == 0 && reserved(id):
			return none(ErrNoProbe, "whichfs probe makes one", "the results store %s has none yet", s.path)
		case len(found) == 0:
			return none(ErrNoProbe, "whichfs probes lists them", "%q is not in the results store %s", id, s.path)
		case len(found) > 1 && found[0] != id:
			return none(ErrNoProbe, "give more of the name", "%q could be any of %s", id, strings.Join(found, ", "))
		}
		exact = found[0]
		return decodeProbe(exact, text, &r)
	})
	return exact, r, err
}

// LatestProbe returns the newest probe of the device with an identity, of
// storage as the user wrote it (storage that exists only in the lab has no
// identity), or of both; "" matches any. The error is ErrNoProbe if there is
// none.
func (s *Store) LatestProbe(identity, storage string) (id string, r probe.Report, err error) {
	what := identity
	if what == "" {
		what = storage
	}
	err = s.read("looking for a probe of "+what, func(c *conn) error {
		found, text, err := texts(c, `SELECT id, report FROM probe WHERE (?1 = '' OR identity = ?1) AND (?2 = '' OR storage = ?2)
			ORDER BY started DESC, number DESC LIMIT 1`, identity, storage)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return none(ErrNoProbe, "whichfs probe makes one", "the results store %s has none of %s", s.path, what)
		}
		id = found[0]
		return decodeProbe(id, text, &r)
	})
	return id, r, err
}

// Probes lists all probes, the latest first.
func (s *Store) Probes() (list []ProbeSummary, err error) {
	err = s.read("listing the probes", func(c *conn) error {
		list = nil
		return each(c, func(scan func(...any) error) error {
			var one ProbeSummary
			var started int64
			err := scan(&one.ID, &one.Identity, &one.Storage, &one.Machine, &started, &one.Wrote)
			one.Started = time.Unix(0, started).UTC()
			list = append(list, one)
			return err
		}, "SELECT id, identity, storage, machine, started, wrote FROM probe ORDER BY number DESC")
	})
	return list, err
}

// DeleteProbe removes a probe. id is exact.
func (s *Store) DeleteProbe(id string) error {
	return s.write("deleting probe "+id, func(t *tx) error {
		gone, err := t.Exec("DELETE FROM probe WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := gone.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, t.notMine("probe", id, none(ErrNoProbe, "whichfs probes lists them", "%q is not in the results store %s", id, s.path)))
		}
		return nil
	})
}

// texts returns the IDs that a query finds, and the report of the first.
func texts(c *conn, query string, args ...any) (ids []string, first string, err error) {
	err = each(c, func(scan func(...any) error) error {
		var id, text string
		err := scan(&id, &text)
		if len(ids) == 0 {
			first = text
		}
		ids = append(ids, id)
		return err
	}, query, args...)
	return ids, first, err
}

func decodeProbe(id, text string, r *probe.Report) error {
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return fmt.Errorf("probe %s: %w", id, err)
	}
	return nil
}
