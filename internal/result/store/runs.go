package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/result"
)

// Summary is a run in a list.
type Summary struct {
	// Run lacks its plan, conditions and notes.
	Run     result.Run `json:"run"`
	Planned int        `json:"planned"` // trials
	Done    int        `json:"done"`    // trials whose outcome is result.Done
	Failed  int        `json:"failed"`  // trials with any other outcome, every attempt
}

// CreateRun stores a new run; planned is the number of its trials. An existing
// ID is an error.
func (s *Store) CreateRun(r result.Run, planned int) error {
	return s.write("storing run "+r.ID, func(t *tx) error {
		_, err := t.createRun(r, planned)
		return err
	})
}

// reserved are the words that Run accepts besides IDs.
func reserved(id string) bool { return id == "" || id == "last" || id == "latest" }

func (t *tx) createRun(r result.Run, planned int) (number int64, err error) {
	if reserved(r.ID) {
		return 0, fmt.Errorf("a run cannot be called %q", r.ID)
	}
	var there int
	if err := t.QueryRow("SELECT count(*) FROM run WHERE id = ?", r.ID).Scan(&there); err != nil {
		return 0, err
	}
	if there > 0 {
		return 0, fmt.Errorf("run %s already exists", r.ID)
	}
	candidates, err := json.Marshal(r.Candidates)
	if err != nil {
		return 0, err
	}
	err = t.QueryRow(`INSERT INTO run (id, study, scale, machine, storage, seed, rounds, planned, candidates,
		margin, plan, version, emulated, started, ended, state, active, series)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
		r.ID, r.Study, r.Scale, r.Machine, r.Storage, strconv.FormatUint(r.Seed, 10), r.Rounds, planned,
		string(candidates), r.Margin, nullText(r.Plan), r.Version, flag(r.Emulated), nullTime(r.Started),
		nullTime(r.Ended), string(r.State), r.Active, r.Series).Scan(&number)
	if err != nil {
		return 0, err
	}
	return number, t.describeRun(number, r)
}

// UpdateRun stores the fields that change during a run: its state, end, active
// time, conditions and notes, whether its machine turned out to be emulated,
// and its plan if rounds were added.
func (s *Store) UpdateRun(r result.Run) error {
	return s.write("storing run "+r.ID, func(t *tx) error {
		var number int64
		err := t.QueryRow(`UPDATE run SET state = ?, ended = ?, active = ?, emulated = ?, rounds = ?, plan = ?,
			planned = CASE WHEN planned > ? THEN planned ELSE ? END WHERE id = ? RETURNING number`,
			string(r.State), nullTime(r.Ended), r.Active, flag(r.Emulated), r.Rounds, nullText(r.Plan),
			r.Rounds*len(r.Candidates), r.Rounds*len(r.Candidates), r.ID).Scan(&number)
		if errors.Is(err, sql.ErrNoRows) {
			return t.notMine("run", r.ID, noRun(s.path, r.ID))
		}
		if err != nil {
			return err
		}
		return t.describeRun(number, r)
	})
}

// describeRun replaces the conditions and notes of a run, and what it is found by.
func (t *tx) describeRun(number int64, r result.Run) error {
	for _, table := range []string{"condition", "run_note"} {
		if _, err := t.Exec("DELETE FROM "+table+" WHERE run = ?", number); err != nil {
			return err
		}
	}
	return t.describe(number, r.Conditions, 0, r.Notes, 0)
}

// describe adds conditions and notes to a run, which has so many already, and notes what it is found by.
func (t *tx) describe(number int64, conditions []result.Condition, had int, notes []result.Note, noted int) error {
	for i, c := range conditions {
		if _, err := t.Exec("INSERT INTO condition VALUES (?, ?, ?, ?, ?, ?)",
			number, had+i, c.Group, c.Name, c.Value, flag(c.Matters)); err != nil {
			return err
		}
	}
	for i, n := range notes {
		if _, err := t.Exec("INSERT INTO run_note VALUES (?, ?, ?, ?, ?)",
			number, noted+i, n.Phase, string(n.Level), n.Text); err != nil {
			return err
		}
	}
	for _, step := range circumstances {
		if _, err := t.Exec(step, number); err != nil {
			return err
		}
	}
	return nil
}

// circumstances are the statements that note anew what a run is found by.
var circumstances = []string{
	"DELETE FROM circumstances WHERE run = ?",
	"INSERT INTO circumstances SELECT * FROM circumstances_of WHERE run = ?",
}

// MergeRun adds those conditions and notes that a run does not have yet, and
// returns all its conditions: several workers describe one run. A condition is
// the one of its group and name; the value that was first stays.
func (s *Store) MergeRun(r result.Run) (conditions []result.Condition, err error) {
	err = s.write("storing run "+r.ID, func(t *tx) error {
		number, there, more, err := t.compare(r)
		if err != nil {
			return err
		}
		if more.new() {
			// An update: of two workers, one waits, and then sees what the other one has added.
			updated, err := t.Exec("UPDATE run SET emulated = CASE WHEN emulated > ? THEN emulated ELSE ? END WHERE number = ?", flag(r.Emulated), flag(r.Emulated), number)
			if err != nil {
				return err
			}
			if n, err := updated.RowsAffected(); err != nil || n == 0 {
				return errors.Join(err, t.notMine("run", r.ID, noRun(s.path, r.ID)))
			}
			if number, there, more, err = t.compare(r); err != nil {
				return err
			}
		}
		conditions = slices.Concat(there.Conditions, more.conditions)
		if !more.new() {
			return nil
		}
		return t.describe(number, more.conditions, len(there.Conditions), more.notes, len(there.Notes))
	})
	return conditions, err
}

// addition is what a run does not have yet of what a worker says of it.
type addition struct {
	emulated   bool
	conditions []result.Condition
	notes      []result.Note
}

func (a addition) new() bool { return a.emulated || len(a.conditions)+len(a.notes) > 0 }

// compare reads what a run has of a description, and finds what it lacks.
func (t *tx) compare(r result.Run) (number int64, there result.Run, more addition, err error) {
	err = t.QueryRow("SELECT number, emulated FROM run WHERE id = ?", r.ID).Scan(&number, &there.Emulated)
	if errors.Is(err, sql.ErrNoRows) {
		err = noRun(t.store.path, r.ID)
	}
	if err != nil {
		return 0, there, more, err
	}
	if err := readDescription(t, number, &there); err != nil {
		return 0, there, more, err
	}
	more.emulated = r.Emulated && !there.Emulated
	type name struct{ group, name string }
	had, noted := map[name]bool{}, map[result.Note]bool{}
	for _, c := range there.Conditions {
		had[name{c.Group, c.Name}] = true
	}
	for _, n := range there.Notes {
		noted[n] = true
	}
	for _, c := range r.Conditions {
		if k := (name{c.Group, c.Name}); !had[k] {
			had[k] = true
			more.conditions = append(more.conditions, c)
		}
	}
	for _, n := range r.Notes {
		if !noted[n] {
			noted[n] = true
			more.notes = append(more.notes, n)
		}
	}
	return number, there, more, nil
}

// DeleteRun removes a run with everything that belongs to it. id is exact.
func (s *Store) DeleteRun(id string) error {
	return s.write("deleting run "+id, func(t *tx) error {
		gone, err := t.Exec("DELETE FROM run WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := gone.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, t.notMine("run", id, noRun(s.path, id)))
		}
		return nil
	})
}

const runColumns = `number, id, study, scale, machine, storage, seed, rounds, planned, candidates,
	margin, plan, version, emulated, started, ended, state, active, series`

// scanRun reads runColumns, and the columns after them.
func scanRun(scan func(...any) error, more ...any) (r result.Run, number int64, planned int, err error) {
	var seed, candidates string
	var plan sql.NullString
	var started, ended sql.NullInt64
	err = scan(append([]any{&number, &r.ID, &r.Study, &r.Scale, &r.Machine, &r.Storage, &seed, &r.Rounds, &planned,
		&candidates, &r.Margin, &plan, &r.Version, &r.Emulated, &started, &ended, &r.State, &r.Active, &r.Series}, more...)...)
	if err != nil {
		return r, 0, 0, err
	}
	if plan.Valid {
		r.Plan = []byte(plan.String)
		r.Clock, r.Processor, r.Predicted = planOf(r.Plan)
	}
	r.Started, r.Ended = timeOf(started), timeOf(ended)
	if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return r, 0, 0, fmt.Errorf("run %s: seed: %w", r.ID, err)
	}
	if err = json.Unmarshal([]byte(candidates), &r.Candidates); err != nil {
		return r, 0, 0, fmt.Errorf("run %s: candidates: %w", r.ID, err)
	}
	return r, number, planned, nil
}

// Run finds a run by its ID, by a unique prefix of its ID, or as "last" or
// "latest", the one created last. The error is ErrNoRun if the name matches
// none or several.
func (s *Store) Run(id string) (r result.Run, err error) {
	err = s.read("reading run "+id, func(c *conn) error {
		exact, err := s.resolve(c, id)
		if err != nil {
			return err
		}
		var number int64
		if err := each(c, func(scan func(...any) error) (err error) {
			r, number, _, err = scanRun(scan)
			return err
		}, "SELECT "+runColumns+" FROM run WHERE id = ?", exact); err != nil {
			return err
		}
		return readDescription(c, number, &r)
	})
	return r, err
}

// resolve returns the full ID of a run.
func (s *Store) resolve(c *conn, id string) (string, error) {
	query, args := "SELECT id FROM run WHERE id = ?1 UNION ALL "+
		"SELECT * FROM (SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 AND id <> ?1 ORDER BY number DESC LIMIT 10) AS others", []any{id}
	if reserved(id) {
		query, args = "SELECT id FROM run ORDER BY number DESC LIMIT 1", nil
	}
	var found []string
	err := each(c, func(scan func(...any) error) error {
		var one string
		err := scan(&one)
		found = append(found, one)
		return err
	}, query, args...)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 && reserved(id):
		return "", none(ErrNoRun, "whichfs run makes one", "the results store %s has none yet", s.path)
	case len(found) == 0:
		return "", noRun(s.path, id)
	case len(found) > 1 && found[0] != id:
		return "", none(ErrNoRun, "give more of the name", "%q could be any of %s", id, strings.Join(found, ", "))
	}
	return found[0], nil
}

// notMine is why a run or a probe was not changed: it is there and another
// user's, or missing.
func (t *tx) notMine(table, id string, missing error) error {
	var there int
	if err := t.QueryRow("SELECT count(*) FROM "+table+" WHERE id = ?", id).Scan(&there); err != nil {
		return err
	}
	if there == 0 {
		return missing
	}
	return notOwned(t.store.path, table, id)
}

func notOwned(path, table, id string) error {
	return trouble(ErrNotWritable, result.Refused, path, table+" "+id+" belongs to another user", "that user may change it, and the owner of the database", nil)
}

func noRun(path, id string) error {
	return none(ErrNoRun, "whichfs runs lists them", "%q is not in the results store %s", id, path)
}

func readDescription(c reader, number int64, r *result.Run) error {
	err := each(c, func(scan func(...any) error) error {
		var one result.Condition
		err := scan(&one.Group, &one.Name, &one.Value, &one.Matters)
		r.Conditions = append(r.Conditions, one)
		return err
	}, `SELECT "group", name, value, matters FROM condition WHERE run = ? ORDER BY place`, number)
	if err != nil {
		return err
	}
	return each(c, func(scan func(...any) error) error {
		var one result.Note
		err := scan(&one.Phase, &one.Level, &one.Text)
		r.Notes = append(r.Notes, one)
		return err
	}, "SELECT phase, level, text FROM run_note WHERE run = ? ORDER BY place", number)
}

// Runs lists all runs, the latest first.
func (s *Store) Runs() (list []Summary, err error) {
	err = s.read("listing the runs", func(c *conn) error {
		list = nil
		return each(c, func(scan func(...any) error) error {
			var one Summary
			var concluded int
			var err error
			one.Run, _, one.Planned, err = scanRun(scan, &concluded, &one.Done)
			one.Run.Plan = nil
			one.Failed = concluded - one.Done
			list = append(list, one)
			return err
		}, `SELECT `+runColumns+`,
			(SELECT count(*) FROM trial WHERE run = number AND outcome IS NOT NULL),
			(SELECT count(*) FROM trial WHERE run = number AND outcome = 'done')
			FROM run ORDER BY number DESC`)
	})
	return list, err
}

// reader is a transaction of either kind.
type reader interface {
	of() engine
	// rows takes a query in the engine's words.
	rows(query string, args []any) (*sql.Rows, error)
}

func (c *conn) of() engine { return c.store.engine }
func (t *tx) of() engine   { return t.store.engine }

func (c *conn) rows(query string, args []any) (*sql.Rows, error) {
	return c.conn.QueryContext(context.Background(), query, args...)
}

func (t *tx) rows(query string, args []any) (*sql.Rows, error) { return t.tx.Query(query, args...) }

// each calls f for every row of a query.
func each(r reader, f func(scan func(...any) error) error, query string, args ...any) error {
	engine := r.of()
	query, args = engine.say(query, args)
	rows, err := r.rows(query, args)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	scan := func(into ...any) error {
		err := rows.Scan(into...)
		engine.heard(into)
		return err
	}
	for rows.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// queryRow is for numbers: text must be read with each.
func (c *conn) queryRow(query string, args ...any) *sql.Row {
	query, args = c.store.engine.say(query, args)
	return c.conn.QueryRowContext(context.Background(), query, args...)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func nullText(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}

// planOf reads the clock of a run's figures, the name of its processor and what
// it predicts from its plan, because the table has no columns for them.
func planOf(plan []byte) (clock, processor, predicted string) {
	var p struct {
		Clock     string `json:"clock"`
		Predicted string `json:"predicted"`
		Processor struct {
			Name string `json:"name"`
		} `json:"processor"`
	}
	if json.Unmarshal(plan, &p) != nil {
		return "", "", "" // not one of our plans
	}
	return p.Clock, p.Processor.Name, p.Predicted
}
