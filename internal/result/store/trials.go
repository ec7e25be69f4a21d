package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"whichfs/internal/result"
)

// BeginTrial records that a trial begins (its round, place, candidate, variant
// and attempt count), and returns its number. It replaces a trial of the same
// place and attempt that was started but never finished (because the machine
// went down).
func (s *Store) BeginTrial(run string, trial result.Trial) (id int64, err error) {
	err = s.write("beginning a trial", func(t *tx) error {
		number, err := t.runNumber(run)
		if err != nil {
			return err
		}
		trial.Outcome, trial.Started = "", time.Now()
		id, err = t.insertTrial(number, trial)
		return err
	})
	return id, err
}

func (t *tx) runNumber(run string) (number int64, err error) {
	err = t.QueryRow("SELECT number FROM run WHERE id = ?", run).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = noRun(t.store.path, run)
	}
	return number, err
}

// addTrial adds a trial that has ended, with everything that belongs to it.
func (t *tx) addTrial(run int64, trial result.Trial) (err error) {
	if !trial.Outcome.Valid() {
		return fmt.Errorf("trial of round %d, place %d: it has no outcome (%q)", trial.Round, trial.Place, trial.Outcome)
	}
	if trial.ID, err = t.insertTrial(run, trial); err != nil {
		return err
	}
	return t.contents(trial)
}

// insertTrial adds a trial alone; without an outcome, what is known when it begins.
func (t *tx) insertTrial(run int64, trial result.Trial) (id int64, err error) {
	if trial.Outcome == "" {
		trial = result.Trial{Round: trial.Round, Place: trial.Place, Candidate: trial.Candidate, Variant: trial.Variant, Attempt: trial.Attempt, Worker: trial.Worker, Started: trial.Started}
	}
	candidate, err := t.word(trial.Candidate)
	if err != nil {
		return 0, err
	}
	console, err := consoleOf(trial)
	if err != nil {
		return 0, err
	}
	insert := func() error {
		return t.QueryRow(`INSERT INTO trial (run, round, place, candidate, variant, attempt, worker, outcome, phase, reason, hint, started, ended, overhead, console)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
			run, trial.Round, trial.Place, candidate, trial.Variant, trial.Attempt, trial.Worker, sql.NullString{String: string(trial.Outcome), Valid: trial.Outcome != ""},
			trial.Phase, trial.Reason, trial.Hint, nullTime(trial.Started), nullTime(trial.Ended), trial.Overhead, console).Scan(&id)
	}
	if err = insert(); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	_, err = t.Exec("DELETE FROM trial WHERE run = ? AND round = ? AND place = ? AND attempt = ? AND outcome IS NULL",
		run, trial.Round, trial.Place, trial.Attempt)
	if err != nil {
		return 0, err
	}
	if err = insert(); errors.Is(err, sql.ErrNoRows) {
		return 0, &errFinished{trial}
	}
	return id, err
}

// consoleOf is a trial's console as JSON; nil: it has none.
func consoleOf(trial result.Trial) (any, error) {
	if len(trial.Console) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(trial.Console)
	return string(text), err
}

// errFinished: another process has stored this trial.
type errFinished struct{ trial result.Trial }

func (e *errFinished) Error() string {
	return fmt.Sprintf("round %d, place %d, attempt %d is already finished", e.trial.Round, e.trial.Place, e.trial.Attempt)
}

// FinishTrial stores the outcome of a trial, with everything that belongs to
// it: all or nothing. When it returns nil the trial is on disk. trial.ID
// identifies the trial; its round, place, candidate and attempt are those of
// BeginTrial. A figure that is not finite is stored as absent.
func (s *Store) FinishTrial(trial result.Trial) error {
	return s.write(fmt.Sprintf("storing trial %d", trial.ID), func(t *tx) error { return t.finishTrial(trial) })
}

func (t *tx) finishTrial(trial result.Trial) error {
	if !trial.Outcome.Valid() {
		return fmt.Errorf("trial %d has no outcome (%q)", trial.ID, trial.Outcome)
	}
	console, err := consoleOf(trial)
	if err != nil {
		return err
	}
	updated, err := t.Exec(`UPDATE trial SET outcome = ?, phase = ?, reason = ?, hint = ?,
		started = coalesce(?, started), ended = ?, overhead = ?, console = ? WHERE id = ? AND outcome IS NULL`,
		string(trial.Outcome), trial.Phase, trial.Reason, trial.Hint,
		nullTime(trial.Started), nullTime(trial.Ended), trial.Overhead, console, trial.ID)
	if err != nil {
		return err
	}
	if n, err := updated.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, t.whyNot(trial.ID))
	}
	return t.contents(trial)
}

// contents adds all that belongs to a trial.
func (t *tx) contents(trial result.Trial) error {
	if err := t.measurements(trial.ID, trial.Measurements); err != nil {
		return err
	}
	if err := t.artifacts(trial.ID, trial.Artifacts); err != nil {
		return err
	}
	for i, n := range trial.Notes {
		if _, err := t.Exec("INSERT INTO note VALUES (?, ?, ?, ?, ?)", trial.ID, i, n.Phase, string(n.Level), n.Text); err != nil {
			return err
		}
	}
	for i, o := range trial.Options {
		ids, err := t.wordsOf(o.Text, string(o.State), o.Evidence)
		if err != nil {
			return err
		}
		if _, err := t.Exec("INSERT INTO option VALUES (?, ?, ?, ?, ?)", trial.ID, i, ids[0], ids[1], ids[2]); err != nil {
			return err
		}
	}
	return nil
}

// whyNot returns the reason why a trial cannot be finished.
func (t *tx) whyNot(id int64) error {
	var outcome sql.NullString
	err := t.QueryRow("SELECT outcome FROM trial WHERE id = ?", id).Scan(&outcome)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("trial %d is gone: its run was deleted, or another whichfs resumed it meanwhile and took its place", id)
	case err != nil:
		return err
	case !outcome.Valid:
		return fmt.Errorf("trial %d was begun by another user", id)
	}
	return fmt.Errorf("trial %d is already finished (%s)", id, outcome.String)
}

// wordsIn are the words that contents and insertTrial need; one that is missing here costs time alone.
func wordsIn(trial result.Trial) []string {
	list := []string{trial.Candidate}
	for _, m := range trial.Measurements {
		list = append(list, m.Phase, m.Metric, m.Unit)
		if reason := reasonOf(m); reason != "" {
			list = append(list, reason)
		}
	}
	for _, o := range trial.Options {
		list = append(list, o.Text, string(o.State), o.Evidence)
	}
	return list
}

func (t *tx) wordsOf(texts ...string) ([]int64, error) {
	ids := make([]int64, len(texts))
	for i, text := range texts {
		id, err := t.word(text)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// batch is the number of figures that one statement stores: enough to make the
// cost of a statement small, with six parameters each.
const batch = 64

var insertBatch = insertMeasurements(batch)

func insertMeasurements(n int) string {
	return "INSERT INTO measurement (trial, phase, metric, unit, value, absent) VALUES " +
		strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?),", n), ",")
}

func (t *tx) measurements(trial int64, all []result.Measurement) error {
	type name struct{ phase, metric string }
	seen := make(map[name]bool, len(all))
	args := make([]any, 0, 6*batch)
	for i, m := range all {
		n := name{m.Phase, m.Metric}
		if m.Metric == "" || seen[n] {
			return fmt.Errorf("trial %d, phase %q: metric %q has no name or appears twice", trial, m.Phase, m.Metric)
		}
		seen[n] = true
		ids, err := t.wordsOf(m.Phase, m.Metric, m.Unit)
		if err != nil {
			return err
		}
		value, absent, err := t.valueOf(m)
		if err != nil {
			return err
		}
		args = append(args, trial, ids[0], ids[1], ids[2], value, absent)
		if len(args) == 6*batch {
			if _, err := t.Exec(insertBatch, args...); err != nil {
				return err
			}
			args = args[:0]
		} else if i == len(all)-1 {
			if _, err := t.Exec(insertMeasurements(len(args)/6), args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// reasonOf is why a figure has no value; "": it has one.
func reasonOf(m result.Measurement) string {
	if m.Absent == "" && (math.IsNaN(m.Value) || math.IsInf(m.Value, 0)) {
		return fmt.Sprintf("the figure was not a finite number (%v)", m.Value)
	}
	return m.Absent
}

// valueOf returns the value of a figure, or the word for why it has none;
// exactly one of them is not nil.
func (t *tx) valueOf(m result.Measurement) (value, absent any, err error) {
	reason := reasonOf(m)
	if reason == "" {
		return m.Value, nil, nil
	}
	id, err := t.word(reason)
	return nil, id, err
}
