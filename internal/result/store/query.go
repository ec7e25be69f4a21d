package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"whichfs/internal/result"
)

// Query chooses runs. An empty field chooses all.
type Query struct {
	Study, State             string // exactly
	Machine, Storage, Kernel string // a part of it, in upper or lower case
	Filesystem, Label        string // of a candidate, without options; without #
	Before                   string // only runs that were created before the one with this ID
	Limit                    int    // 0: all
}

// Found is a run that a query chose.
type Found struct {
	Summary
	Kernel string   `json:"kernel,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// where is the condition of a query on the circumstances, c, without Before.
func (q Query) where() (text string, args []any) {
	list := []string{"TRUE"}
	add := func(condition string, values ...any) {
		list, args = append(list, condition), append(args, values...)
	}
	for _, one := range [][2]string{{"study", q.Study}, {"state", q.State}} {
		if one[1] != "" {
			add("c."+one[0]+" = ?", one[1])
		}
	}
	for _, one := range [][2]string{{"machine", q.Machine}, {"storage", q.Storage}, {"kernel", q.Kernel}} {
		if one[1] != "" {
			add("lower(c."+one[0]+`) LIKE ? ESCAPE '\'`, "%"+escaped(strings.ToLower(one[1]))+"%")
		}
	}
	if q.Filesystem != "" {
		// The column is a JSON list of candidates, each a name that options follow.
		name := `%"` + escaped(q.Filesystem)
		add(`(c.candidates LIKE ? ESCAPE '\' OR c.candidates LIKE ? ESCAPE '\')`, name+`"%`, name+` %`)
	}
	if q.Label != "" {
		add("EXISTS (SELECT 1 FROM label WHERE label.run = c.run AND label.text = ?)", strings.ToLower(strings.TrimPrefix(q.Label, "#")))
	}
	return strings.Join(list, " AND "), args
}

// escaped makes a text match itself in LIKE.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) }

// Find lists the runs that a query chooses, the latest first, and counts all of them.
func (s *Store) Find(q Query) (list []Found, total int, err error) {
	err = s.read("looking for runs", func(c *conn) error {
		list, total = nil, 0
		before := int64(math.MaxInt64)
		if q.Before != "" {
			var err error
			if before, err = s.number(c, q.Before); err != nil {
				return err
			}
		}
		where, args := q.where()
		var numbers []string
		err := each(c, func(scan func(...any) error) error {
			var number int64
			err := scan(&number)
			total++
			if number < before && (q.Limit == 0 || len(numbers) < q.Limit) {
				numbers = append(numbers, strconv.FormatInt(number, 10))
			}
			return err
		}, "SELECT c.run FROM circumstances AS c WHERE "+where+" ORDER BY c.run DESC", args...)
		if err != nil || len(numbers) == 0 {
			return err
		}
		list, err = readFound(c, strings.Join(numbers, ","))
		return err
	})
	return list, total, err
}

// readFound reads the runs of a list of numbers, the latest first.
func readFound(c *conn, numbers string) (list []Found, err error) {
	at := map[int64]int{}
	err = each(c, func(scan func(...any) error) error {
		var one Found
		var concluded int
		run, number, planned, err := scanRun(scan, &concluded, &one.Done, &one.Kernel)
		one.Run, one.Planned, one.Failed = run, planned, concluded-one.Done
		one.Run.Plan = nil
		at[number] = len(list)
		list = append(list, one)
		return err
	}, `SELECT `+runColumns+`,
		(SELECT count(*) FROM trial WHERE run = number AND outcome IS NOT NULL),
		(SELECT count(*) FROM trial WHERE run = number AND outcome = 'done'),
		(SELECT kernel FROM circumstances WHERE run = number)
		FROM run WHERE number IN (`+numbers+`) ORDER BY number DESC`)
	if err != nil {
		return nil, err
	}
	return list, each(c, func(scan func(...any) error) error {
		var number int64
		var text string
		err := scan(&number, &text)
		list[at[number]].Labels = append(list[at[number]].Labels, text)
		return err
	}, "SELECT run, text FROM label WHERE run IN ("+numbers+") ORDER BY run, text")
}

// Values are the distinct studies, machines and storages of all runs.
type Values struct{ Studies, Machines, Storages []string }

// Values lists what runs can be chosen by.
func (s *Store) Values() (v Values, err error) {
	err = s.read("listing studies, machines and storages", func(c *conn) error {
		v = Values{}
		for column, into := range map[string]*[]string{"study": &v.Studies, "machine": &v.Machines, "storage": &v.Storages} {
			err := each(c, func(scan func(...any) error) error {
				var text string
				err := scan(&text)
				*into = append(*into, text)
				return err
			}, "SELECT DISTINCT "+column+" FROM circumstances ORDER BY 1")
			if err != nil {
				return err
			}
		}
		return nil
	})
	return v, err
}

// Progress is how far a run is. It changes whenever the run's report does.
type Progress struct {
	State           result.RunState
	Rounds          int // planned
	Done, Concluded int // trials whose outcome is result.Done, and those with any
	Last            int64
	Remarks         int
}

// Progress returns it. run is an exact ID.
func (s *Store) Progress(run string) (p Progress, err error) {
	err = s.read("reading run "+run, func(c *conn) error {
		err := c.queryRow(`SELECT state, rounds,
			(SELECT count(*) FROM trial WHERE run = number AND outcome = 'done'),
			(SELECT count(*) FROM trial WHERE run = number AND outcome IS NOT NULL),
			(SELECT coalesce(max(id), 0) FROM trial WHERE run = number),
			(SELECT count(*) FROM remark WHERE remark.run = number)
			FROM run WHERE id = ?`, run).Scan(&p.State, &p.Rounds, &p.Done, &p.Concluded, &p.Last, &p.Remarks)
		if errors.Is(err, sql.ErrNoRows) {
			return noRun(s.path, run)
		}
		return err
	})
	return p, err
}

// ErrNoTrial: a run has no such trial.
var ErrNoTrial = errors.New("no such trial")

// Trial returns one trial of a run with everything that belongs to it.
func (s *Store) Trial(run string, id int64) (t result.Trial, err error) {
	err = s.read(fmt.Sprintf("reading trial %d", id), func(c *conn) error {
		t = result.Trial{}
		var outcome, console sql.NullString
		var started, ended sql.NullInt64
		found := false
		err := each(c, func(scan func(...any) error) error {
			found = true
			return scan(&t.ID, &t.Round, &t.Place, &t.Candidate, &t.Variant, &t.Attempt, &outcome, &t.Phase, &t.Reason, &t.Hint, &started, &ended, &t.Overhead, &console)
		}, `SELECT trial.id, round, place, word.text, variant, attempt, outcome, phase, reason, hint,
			trial.started, trial.ended, overhead, console
			FROM trial JOIN run ON run.number = trial.run JOIN word ON word.id = trial.candidate WHERE run.id = ? AND trial.id = ?`, run, id)
		if err == nil && !found {
			return none(ErrNoTrial, "the page of the run lists its trials", "run %s has no trial %d", run, id)
		}
		if err != nil {
			return err
		}
		t.Outcome, t.Started, t.Ended = result.Outcome(outcome.String), timeOf(started), timeOf(ended)
		if console.Valid {
			if err := json.Unmarshal([]byte(console.String), &t.Console); err != nil {
				return fmt.Errorf("console: %w", err)
			}
		}
		return readParts(c, &t)
	})
	if err != nil {
		return t, err
	}
	t.Artifacts, err = s.Artifacts(id)
	return t, err
}

// readParts adds the measurements, notes and options of one trial.
func readParts(c *conn, t *result.Trial) error {
	err := each(c, func(scan func(...any) error) error {
		var m result.Measurement
		var value sql.NullFloat64
		var absent sql.NullString
		err := scan(&m.Phase, &m.Metric, &m.Unit, &value, &absent)
		m.Value, m.Absent = value.Float64, absent.String
		t.Measurements = append(t.Measurements, m)
		return err
	}, `SELECT p.text, m.text, u.text, measurement.value, a.text FROM measurement
		JOIN word p ON p.id = measurement.phase JOIN word m ON m.id = measurement.metric JOIN word u ON u.id = measurement.unit
		LEFT JOIN word a ON a.id = measurement.absent WHERE measurement.trial = ? ORDER BY measurement.phase, measurement.metric`, t.ID)
	if err != nil {
		return err
	}
	err = each(c, func(scan func(...any) error) error {
		var n result.Note
		err := scan(&n.Phase, &n.Level, &n.Text)
		t.Notes = append(t.Notes, n)
		return err
	}, "SELECT phase, level, text FROM note WHERE trial = ? ORDER BY place", t.ID)
	if err != nil {
		return err
	}
	return each(c, func(scan func(...any) error) error {
		var o result.Option
		err := scan(&o.Text, &o.State, &o.Evidence)
		t.Options = append(t.Options, o)
		return err
	}, `SELECT o.text, s.text, e.text FROM option JOIN word o ON o.id = option.text JOIN word s ON s.id = option.state
		JOIN word e ON e.id = option.evidence WHERE option.trial = ? ORDER BY place`, t.ID)
}

// Remark is what somebody wrote about a run. A word that begins with # is a label of the run.
type Remark struct {
	Written time.Time `json:"written"`
	Text    string    `json:"text"`
}

// longestRemark in bytes.
const longestRemark = 4 << 10

// AddRemark stores a remark on a run.
func (s *Store) AddRemark(run, text string) error {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return result.Refuse("", "the note is empty")
	case len(text) > longestRemark:
		return result.Refuse("", "the note has %d bytes; at most %d are kept", len(text), longestRemark)
	}
	return s.write("storing a note on run "+run, func(t *tx) error {
		number, err := t.runNumber(run)
		if err != nil {
			return err
		}
		return t.remark(number, Remark{time.Now(), text})
	})
}

// remark stores a remark on the run of this number, and its labels.
func (t *tx) remark(number int64, one Remark) error {
	if _, err := t.Exec("INSERT INTO remark (run, written, text) VALUES (?, ?, ?)", number, one.Written.UnixNano(), one.Text); err != nil {
		return err
	}
	for _, label := range labelsOf(one.Text) {
		if _, err := t.Exec("INSERT INTO label (run, text) VALUES (?, ?) ON CONFLICT DO NOTHING", number, label); err != nil {
			return err
		}
	}
	return nil
}

// Remarks returns the remarks on a run, the oldest first.
func (s *Store) Remarks(run string) (list []Remark, err error) {
	err = s.read("reading the notes on run "+run, func(c *conn) error {
		list = nil
		return each(c, func(scan func(...any) error) error {
			var written int64
			var one Remark
			err := scan(&written, &one.Text)
			one.Written = time.Unix(0, written).UTC()
			list = append(list, one)
			return err
		}, "SELECT written, text FROM remark WHERE run = (SELECT number FROM run WHERE id = ?) ORDER BY id", run)
	})
	return list, err
}

// labelsOf are the labels of a remark, in lower case.
func labelsOf(text string) (labels []string) {
	for _, word := range strings.Fields(text) {
		name, ok := strings.CutPrefix(word, "#")
		name = strings.TrimRightFunc(strings.ToLower(name), func(r rune) bool { return unicode.IsPunct(r) })
		if ok && name != "" {
			labels = append(labels, name)
		}
	}
	return labels
}
