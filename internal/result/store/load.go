package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// Trials returns all trials of a run in the order of round, place and attempt,
// with everything that belongs to them. A trial that was never finished is
// included, without an outcome. run is an exact ID. Measurements of a trial
// come phase by phase.
func (s *Store) Trials(run string) ([]result.Trial, error) { return s.load(run, "", true, nil) }

// TrialsOfRound is like Trials, of one round.
func (s *Store) TrialsOfRound(run string, round int) ([]result.Trial, error) {
	return s.load(run, fmt.Sprintf(" AND trial.round = %d", round), true, nil)
}

// TrialsAfter is like Trials, of trials with larger numbers than this one.
func (s *Store) TrialsAfter(run string, id int64) ([]result.Trial, error) {
	return s.load(run, fmt.Sprintf(" AND trial.id > %d", id), true, nil)
}

// TrialsWith is like Trials, but only with measurements of the named metrics;
// without names, there are no measurements.
func (s *Store) TrialsWith(run string, metrics ...string) ([]result.Trial, error) {
	return s.load(run, "", false, metrics)
}

// part chooses trials: the condition of a query, whose values are numbers.
type part string

func ofRuns(numbers string) part { return part(" WHERE trial.run IN (" + numbers + ")") }

func (s *Store) load(run, where string, whole bool, metrics []string) (trials []result.Trial, err error) {
	err = s.read("reading run "+run, func(c *conn) error {
		number, err := s.number(c, run)
		if err != nil {
			return err
		}
		of := ofRuns(strconv.FormatInt(number, 10)) + part(where)
		words, err := readWords(c)
		if err != nil {
			return err
		}
		if trials, _, err = readTrials(c, of, words); err != nil {
			return err
		}
		byID := make(map[int64]*result.Trial, len(trials))
		for i := range trials {
			byID[trials[i].ID] = &trials[i]
		}
		known := words.numbers(metrics)
		if whole || len(known) > 0 {
			if err := readMeasurements(c, of, words, byID, known); err != nil {
				return err
			}
		}
		return readDetails(c, of, words, byID)
	})
	if err != nil {
		return nil, err
	}
	return trials, nil
}

func (s *Store) number(c *conn, run string) (number int64, err error) {
	err = c.queryRow("SELECT number FROM run WHERE id = ?", run).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = noRun(s.path, run)
	}
	return number, err
}

// Figured is a run with the figures of its trials.
type Figured struct {
	Run     result.Run // without notes
	Support []result.Support
	// Trials lack their notes and options, and figures of other metrics.
	Trials []result.Trial
}

// Figures returns runs, in the order of their IDs, with the named metrics of their trials; without
// names, with all. It takes far less time than to read one run after the other. The IDs are exact, each once.
func (s *Store) Figures(ids []string, metrics ...string) (out []Figured, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = s.read("reading the figures of runs", func(c *conn) error {
		out = make([]Figured, len(ids))
		at, numbers, err := s.readRuns(c, ids, out)
		if err != nil {
			return err
		}
		words, err := readWords(c)
		if err != nil {
			return err
		}
		trials, of, err := readTrials(c, ofRuns(numbers), words)
		if err != nil {
			return err
		}
		byID := make(map[int64]*result.Trial, len(trials))
		for i := range trials {
			byID[trials[i].ID] = &trials[i]
		}
		if known := words.numbers(metrics); known == nil || len(known) > 0 {
			if err := readMeasurements(c, ofRuns(numbers), words, byID, known); err != nil {
				return err
			}
		}
		for i, t := range trials {
			one := &out[at[of[i]]]
			one.Trials = append(one.Trials, t)
		}
		return nil
	})
	return out, err
}

// Described returns runs with their conditions, in the order of their IDs, without notes. The IDs are
// exact, each once.
func (s *Store) Described(ids []string) (runs []result.Run, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = s.read("reading runs", func(c *conn) error {
		out := make([]Figured, len(ids))
		_, _, err := s.readRuns(c, ids, out)
		runs = nil
		for _, one := range out {
			runs = append(runs, one.Run)
		}
		return err
	})
	return runs, err
}

// readRuns fills in the runs of IDs, with their conditions and support. at has their places by number.
func (s *Store) readRuns(c *conn, ids []string, out []Figured) (at map[int64]int, numbers string, err error) {
	place, args := map[string]int{}, make([]any, len(ids))
	for i, id := range ids {
		place[id], args[i] = i, id
	}
	at = map[int64]int{}
	var list []string
	err = each(c, func(scan func(...any) error) error {
		run, number, _, err := scanRun(scan)
		i := place[run.ID]
		out[i].Run, at[number] = run, i
		list = append(list, strconv.FormatInt(number, 10))
		return err
	}, "SELECT "+runColumns+" FROM run WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...)
	for i, id := range ids {
		if err == nil && out[i].Run.ID == "" {
			err = noRun(s.path, id)
		}
	}
	if err != nil {
		return nil, "", err
	}
	numbers = strings.Join(list, ",")
	err = each(c, func(scan func(...any) error) error {
		var number int64
		var one result.Condition
		err := scan(&number, &one.Group, &one.Name, &one.Value, &one.Matters)
		run := &out[at[number]].Run
		run.Conditions = append(run.Conditions, one)
		return err
	}, `SELECT run, "group", name, value, matters FROM condition WHERE run IN (`+numbers+`) ORDER BY run, place`)
	if err != nil {
		return nil, "", err
	}
	return at, numbers, each(c, func(scan func(...any) error) error {
		var number int64
		var one result.Support
		err := scan(&number, &one.Candidate, &one.Outcome, &one.Reason, &one.Hint)
		of := &out[at[number]]
		of.Support = append(of.Support, one)
		return err
	}, `SELECT run, word.text, outcome, reason, hint FROM support JOIN word ON word.id = candidate WHERE run IN (`+numbers+`) ORDER BY run, place`)
}

// dictionary holds the words by number. All measurements share these strings,
// so that a million of them need no text of their own.
type dictionary []string

func readWords(c *conn) (d dictionary, err error) {
	err = each(c, func(scan func(...any) error) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		if id < 0 || id > int64(len(d))+1<<20 {
			return fmt.Errorf("word %d is out of order", id)
		}
		for int64(len(d)) <= id {
			d = append(d, "")
		}
		d[id] = text
		return nil
	}, "SELECT id, text FROM word ORDER BY id")
	return d, err
}

func (d dictionary) at(id int64) (string, error) {
	if id < 0 || id >= int64(len(d)) {
		return "", fmt.Errorf("word %d is missing", id)
	}
	return d[id], nil
}

// numbers returns the numbers of the texts that exist; nil for nil.
func (d dictionary) numbers(texts []string) []int64 {
	if texts == nil {
		return nil
	}
	wanted := map[string]bool{}
	for _, t := range texts {
		wanted[t] = true
	}
	found := []int64{}
	for id, text := range d {
		if id > 0 && wanted[text] {
			found = append(found, int64(id))
		}
	}
	return found
}

// readTrials reads a part of the trials; of are their runs' numbers.
func readTrials(c *conn, which part, words dictionary) (trials []result.Trial, of []int64, err error) {
	err = each(c, func(scan func(...any) error) error {
		var t result.Trial
		var run, candidate int64
		var outcome, console sql.NullString
		var started, ended sql.NullInt64
		err := scan(&run, &t.ID, &t.Round, &t.Place, &candidate, &t.Variant, &t.Attempt, &outcome, &t.Phase, &t.Reason, &t.Hint,
			&started, &ended, &t.Overhead, &console, &t.Worker)
		if err != nil {
			return err
		}
		t.Outcome = result.Outcome(outcome.String)
		t.Started, t.Ended = timeOf(started), timeOf(ended)
		if t.Candidate, err = words.at(candidate); err != nil {
			return err
		}
		if console.Valid {
			if err := json.Unmarshal([]byte(console.String), &t.Console); err != nil {
				return fmt.Errorf("trial %d: console: %w", t.ID, err)
			}
		}
		trials, of = append(trials, t), append(of, run)
		return nil
	}, `SELECT run, id, round, place, candidate, variant, attempt, outcome, phase, reason, hint, started, ended, overhead, console, worker
		FROM trial`+string(which)+` ORDER BY run, round, place, attempt`)
	return trials, of, err
}

// readMeasurements bypasses database/sql and uses the driver's rows, which
// halves the time of a large run: there is one row per figure.
func readMeasurements(c *conn, of part, words dictionary, trials map[int64]*result.Trial, metrics []int64) error {
	query, _ := c.store.engine.say(`SELECT m.trial, m.phase, m.metric, m.unit, m.value, m.absent
		FROM trial CROSS JOIN measurement AS m ON m.trial = trial.id`+string(of), nil)
	if metrics != nil {
		list := make([]string, len(metrics))
		for i, id := range metrics {
			list[i] = fmt.Sprint(id)
		}
		query += " AND m.metric IN (" + strings.Join(list, ",") + ")"
	}
	query += " ORDER BY trial.run, trial.round, trial.place, trial.attempt, m.phase, m.metric"
	return c.conn.Raw(func(raw any) error {
		q, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("the driver (%T) cannot be queried", raw)
		}
		rows, err := q.QueryContext(context.Background(), query, nil)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		return collect(rows, words, trials)
	})
}

// collect appends every row to its trial.
func collect(rows driver.Rows, words dictionary, trials map[int64]*result.Trial) error {
	var trial *result.Trial
	last := 64 // figures of the previous trial: a good estimate for the next
	row := make([]driver.Value, 6)
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		id, ok := row[0].(int64)
		if !ok {
			return fmt.Errorf("a figure has no trial")
		}
		if trial == nil || trial.ID != id {
			if trial != nil {
				last = len(trial.Measurements)
			}
			if trial = trials[id]; trial == nil {
				return fmt.Errorf("trial %d is missing", id)
			}
			trial.Measurements = make([]result.Measurement, 0, last)
		}
		m, err := measurementOf(row, words)
		if err != nil {
			return fmt.Errorf("trial %d: %w", id, err)
		}
		trial.Measurements = append(trial.Measurements, m)
	}
}

func measurementOf(row []driver.Value, words dictionary) (m result.Measurement, err error) {
	for i, into := range []*string{&m.Phase, &m.Metric, &m.Unit} {
		id, _ := row[1+i].(int64)
		if *into, err = words.at(id); err != nil {
			return m, err
		}
	}
	if id, isAbsent := row[5].(int64); isAbsent {
		m.Absent, err = words.at(id)
		return m, err
	}
	value, ok := row[4].(float64)
	if !ok {
		return m, fmt.Errorf("phase %q: metric %q has neither a value nor a reason", m.Phase, m.Metric)
	}
	m.Value = value
	return m, nil
}

// readDetails adds notes and options.
func readDetails(c *conn, of part, words dictionary, trials map[int64]*result.Trial) error {
	err := each(c, func(scan func(...any) error) error {
		var id int64
		var n result.Note
		if err := scan(&id, &n.Phase, &n.Level, &n.Text); err != nil {
			return err
		}
		t := trials[id]
		if t == nil {
			return fmt.Errorf("trial %d is missing", id)
		}
		t.Notes = append(t.Notes, n)
		return nil
	}, `SELECT note.trial, note.phase, level, text FROM trial CROSS JOIN note ON note.trial = trial.id`+string(of)+` ORDER BY note.trial, note.place`)
	if err != nil {
		return err
	}
	return each(c, func(scan func(...any) error) error {
		var id int64
		var ids [3]int64
		if err := scan(&id, &ids[0], &ids[1], &ids[2]); err != nil {
			return err
		}
		t := trials[id]
		if t == nil {
			return fmt.Errorf("trial %d is missing", id)
		}
		var texts [3]string
		for i := range ids {
			var err error
			if texts[i], err = words.at(ids[i]); err != nil {
				return err
			}
		}
		t.Options = append(t.Options, result.Option{Text: texts[0], State: result.OptionState(texts[1]), Evidence: texts[2]})
		return nil
	}, `SELECT option.trial, text, state, evidence FROM trial CROSS JOIN option ON option.trial = trial.id`+string(of)+` ORDER BY option.trial, option.place`)
}
