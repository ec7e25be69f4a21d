package store

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"whichfs/internal/result"
)

// A run that a fleet carries out is a row of the table fleet, and a queue of River whose jobs are its
// trials. River gives each job to one worker; what becomes of a worker is ours, since River measures
// that by how long a job takes, and a trial may take hours. A job whose worker is gone is cancelled, and
// a new one does the rest of it: whatever the old worker still says of its job then has no effect.

// fleetVersion is the schema's version that has fleets, and riverVersion River's that belongs to it.
const (
	fleetVersion = 6
	riverVersion = 8
)

//go:embed fleet.sql
var fleetTables string

// silent is for River, which would write to standard output; what fails shows in the run.
var silent = slog.New(slog.DiscardHandler)

// migrateRiver makes River's tables, by its own migrator.
func (p *postgres) migrateRiver() error {
	ctx := context.Background()
	c, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return c.Raw(func(raw any) error {
		own, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T", raw)
		}
		m, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: p.schema, Logger: silent})
		if err != nil {
			return err
		}
		// A step may use what the one before it has committed.
		for version := 1; version <= riverVersion && err == nil; version++ {
			err = pgx.BeginFunc(ctx, own.Conn(), func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
					return err
				}
				_, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version})
				return err
			})
		}
		return err
	})
}

// Job is what one worker does at a time: trials of a round that share a guest, or with the wall clock the
// whole round.
type Job struct {
	Run    string `json:"run"`
	Round  int    `json:"round"`
	Places []int  `json:"places"`
	// Check: the trials are there already; they are done again, on another worker, and compared.
	Check bool `json:"check,omitempty"`
	// Lost counts the workers that began it and went away or failed.
	Lost int `json:"lost,omitempty"`
}

// Kind is River's name of the kind of job.
func (Job) Kind() string { return "trials" }

// MostLost is how many workers may go away or fail with a job.
const MostLost = 5

// Needs are what a run needs of a worker.
type Needs struct {
	Machine string   `json:"machine"`
	Version string   `json:"version"`
	Labels  []string `json:"labels,omitempty"`
}

// Shared is a run that a fleet carries out.
type Shared struct {
	Run   string
	Queue string
	Needs Needs
	// Jobs by state; Failed have lost too many workers.
	Waiting, Running, Failed int
	Again                    int
}

// Open reports whether any of its jobs is not done.
func (s Shared) Open() bool { return s.Waiting+s.Running > 0 }

// Fleet is the part of a store in a database that several workers share. The caller closes it.
type Fleet struct {
	store *Store
	p     *postgres
	pool  *pgxpool.Pool
	clock rivertype.TimeGenerator // of this machine; nil: River's own
}

// Fleet opens it. Nothing is connected before the first use.
func (s *Store) Fleet() (*Fleet, error) {
	p, ok := s.engine.(*postgres)
	if !ok {
		return nil, result.Refuse("name one: --store postgres://USER@HOST/DATABASE", "a fleet needs a store in a database, and %s is a file", s.path)
	}
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = p.config.Copy()
	config.MaxConns = 2 // besides that on which River listens
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, s.wrap(err, "opening the fleet")
	}
	return &Fleet{store: s, p: p, pool: pool}, nil
}

// Close closes what the store does not.
func (f *Fleet) Close() { f.pool.Close() }

// Client is River's, for those who work on a queue; without workers it only inserts.
func (f *Fleet) Client(config river.Config) (*river.Client[pgx.Tx], error) {
	config.Schema, config.Logger = f.p.schema, silent
	// River would hand a job back by its age; see Sweep. Only an owner may rebuild indexes.
	config.JobTimeout, config.ReindexerIndexNames, config.Test.Time = -1, []string{}, f.clock
	return river.NewClient(riverpgxv5.New(f.pool), &config)
}

// inTx runs f in one transaction, again if the connection was lost: f must be one that may be repeated.
func (f *Fleet) inTx(ctx context.Context, doing string, do func(pgx.Tx) error) error {
	err := f.store.persist(func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return pgx.BeginFunc(ctx, f.pool, do)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f.store.wrap(err, doing)
}

// insert adds jobs to a queue. Those that compare come last.
func (f *Fleet) insert(ctx context.Context, tx pgx.Tx, queue string, jobs []Job) error {
	client, err := f.Client(river.Config{})
	if err != nil {
		return err
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		options := &river.InsertOpts{Queue: queue, MaxAttempts: 1, Priority: 1}
		if job.Check {
			options.Priority = 4
		}
		params[i] = river.InsertManyParams{Args: job, InsertOpts: options}
	}
	for some := range slices.Chunk(params, 1000) {
		if _, err := client.InsertManyFastTx(ctx, tx, some); err != nil {
			return err
		}
	}
	// River schedules by the clock of this machine, and fetches by the server's.
	_, err = tx.Exec(ctx, "UPDATE river_job SET scheduled_at = now() WHERE state = 'available' AND queue = $1 AND scheduled_at > clock_timestamp()", queue)
	return err
}

// Share gives the rest of a run, as jobs, to the workers that have what it needs. A run that they have
// already is left as it is.
func (f *Fleet) Share(ctx context.Context, run string, needs Needs, jobs []Job) error {
	text, err := json.Marshal(needs)
	if err != nil {
		return err
	}
	queue := "run-" + strings.ToLower(run)
	return f.inTx(ctx, "giving run "+run+" to the fleet", func(tx pgx.Tx) error {
		made, err := tx.Exec(ctx, `INSERT INTO fleet (run, queue, needs) SELECT number, $2, $3 FROM run WHERE id = $1 ON CONFLICT DO NOTHING`, run, queue, string(text))
		if err != nil || made.RowsAffected() == 0 {
			return err
		}
		var number int64
		if err := tx.QueryRow(ctx, "UPDATE run SET state = $2, ended = NULL WHERE id = $1 RETURNING number", run, string(result.Running)).Scan(&number); err != nil {
			return err
		}
		for _, step := range circumstances {
			if _, err := tx.Exec(ctx, strings.Replace(step, "?", "$1", 1), number); err != nil {
				return err
			}
		}
		return f.insert(ctx, tx, queue, jobs)
	})
}

// ShareAgain adds jobs for trials that are missing at the end, unless another process has done so.
func (f *Fleet) ShareAgain(ctx context.Context, s Shared, jobs []Job) error {
	return f.inTx(ctx, "giving the rest of run "+s.Run+" to the fleet", func(tx pgx.Tx) error {
		mine, err := tx.Exec(ctx, "UPDATE fleet SET again = again + 1 WHERE run = (SELECT number FROM run WHERE id = $1) AND again = $2", s.Run, s.Again)
		if err != nil || mine.RowsAffected() == 0 {
			return err
		}
		return f.insert(ctx, tx, s.Queue, jobs)
	})
}

// Alone calls do, which ends a run, unless another process is doing so: all workers see at the same time
// that a run has no open jobs, and its end reads all of its trials.
func (f *Fleet) Alone(ctx context.Context, run string, do func() error) error {
	var failed error
	err := f.inTx(ctx, "ending run "+run, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", f.p.key("end "+run)).Scan(&alone); err != nil || !alone {
			return err
		}
		failed = do()
		return nil
	})
	return cmp.Or(failed, err)
}

// Shared lists the runs that workers are carrying out, oldest first. It counts jobs up to a number: all
// of them take long.
func (s *Store) Shared(most int) (runs []Shared, err error) {
	if _, ok := s.engine.(*postgres); !ok {
		return nil, nil
	}
	err = s.read("reading the runs of the fleet", func(c *conn) error {
		runs = nil
		return each(c, func(scan func(...any) error) error {
			var one Shared
			var needs string
			if err := scan(&one.Run, &one.Queue, &needs, &one.Again, &one.Waiting, &one.Running, &one.Failed); err != nil {
				return err
			}
			runs = append(runs, one)
			return json.Unmarshal([]byte(needs), &runs[len(runs)-1].Needs)
		}, `SELECT run.id, queue, needs, again, waiting, running, failed FROM fleet JOIN run ON run.number = fleet.run, LATERAL (
				SELECT (SELECT count(*) FROM (SELECT FROM river_job j WHERE j.queue = fleet.queue AND j.state = 'available' LIMIT ?1) AS a) AS waiting,
					(SELECT count(*) FROM (SELECT FROM river_job j WHERE j.queue = fleet.queue AND j.state = 'running' LIMIT ?1) AS r) AS running,
					(SELECT count(*) FROM (SELECT FROM river_job j WHERE j.queue = fleet.queue AND j.state = 'discarded' LIMIT ?1) AS d) AS failed) AS jobs
			ORDER BY fleet.run`, most)
	})
	return runs, err
}

// shared reports whether workers are carrying out a run.
func (p *postgres) shared(id string) bool {
	var there bool
	err := p.db.QueryRow("SELECT EXISTS (SELECT FROM fleet JOIN run ON run.number = fleet.run WHERE run.id = $1)", id).Scan(&there)
	return err == nil && there
}

// EndShared ends a run of the fleet, with a state and notes. ended is false if it had ended before.
func (s *Store) EndShared(id string, state result.RunState, notes []result.Note) (ended bool, err error) {
	err = s.write("ending run "+id, func(t *tx) error {
		var number int64
		// Of several that end it, all but one wait here, and find nothing.
		err := t.QueryRow("SELECT fleet.run FROM fleet JOIN run ON run.number = fleet.run WHERE run.id = ? FOR UPDATE OF fleet", id).Scan(&number)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		// The server's clock: those of workers need not agree.
		if _, err := t.Exec(`UPDATE run SET state = ?, active = active + extract(epoch FROM now() - fleet.begun), ended = (extract(epoch FROM now()) * 1000000000)::bigint
			FROM fleet WHERE fleet.run = run.number AND run.number = ?`, string(state), number); err != nil {
			return err
		}
		var noted int
		if err := t.QueryRow("SELECT count(*) FROM run_note WHERE run = ?", number).Scan(&noted); err != nil {
			return err
		}
		if err := t.describe(number, nil, 0, notes, noted); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE state IN ('available', 'running', 'retryable', 'scheduled')
			AND queue = (SELECT queue FROM fleet WHERE run = ?)`, number); err != nil {
			return err
		}
		ended = true
		_, err = t.Exec("DELETE FROM fleet WHERE run = ?", number)
		return err
	})
	return ended, err
}

func (p *postgres) cancelShared(id string) error {
	s := &Store{path: p.url, engine: p, db: p.db, words: map[string]int64{}}
	_, err := s.EndShared(id, result.Interrupted, nil)
	return err
}

// ErrTaken: a job is no longer this worker's, or its trial is there already. Nothing was stored.
var ErrTaken = errors.New("another worker has taken the trial")

// AddTrial stores a trial that a worker has done for a job, if the job is still this worker's: all or
// nothing.
func (s *Store) AddTrial(run string, trial result.Trial, job int64) error {
	if err := s.learn(wordsIn(trial)); err != nil {
		return err
	}
	err := s.write("storing a trial", func(t *tx) error {
		number, err := t.owns(job, run)
		if err != nil {
			return err
		}
		return t.addTrial(number, trial)
	})
	if _, there := errors.AsType[*errFinished](err); there || errors.Is(err, ErrTaken) {
		return ErrTaken
	}
	return err
}

// owns requires that a job is not another worker's by now, until the transaction ends, and returns the
// number of its run.
func (t *tx) owns(job int64, run string) (number int64, err error) {
	err = t.QueryRow("SELECT run.number FROM river_job JOIN run ON run.id = ? WHERE river_job.id = ? AND river_job.state = 'running' FOR SHARE OF river_job", run, job).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrTaken
	}
	return number, err
}

// DropRound removes the trials of a round that another worker has begun and cannot finish: this one, whose
// job the round is, does all of it.
func (s *Store) DropRound(run string, round int, job int64) error {
	err := s.write("beginning a round again", func(t *tx) error {
		number, err := t.owns(job, run)
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM trial WHERE run = ? AND round = ?", number, round)
		return err
	})
	if errors.Is(err, ErrTaken) {
		return ErrTaken
	}
	return err
}

// EndedOf returns round, place, attempt and outcome of a round's trials, without anything else.
func (s *Store) EndedOf(run string, round int) (trials []result.Trial, err error) {
	err = s.read("reading run "+run, func(c *conn) error {
		trials = nil
		return each(c, func(scan func(...any) error) error {
			t := result.Trial{Round: round}
			err := scan(&t.Place, &t.Attempt, &t.Outcome, &t.Worker)
			trials = append(trials, t)
			return err
		}, "SELECT place, attempt, coalesce(outcome, ''), worker FROM trial WHERE run = (SELECT number FROM run WHERE id = ?) AND round = ?", run, round)
	})
	return trials, err
}

// Worker is one of the fleet.
type Worker struct {
	ID    string `json:"-"`
	Name  string `json:"name"`
	Lanes int    `json:"lanes"`
	// Machines by the names that runs give them, and labels.
	Machines []string `json:"machines"`
	Labels   []string `json:"labels,omitempty"`
	Version  string   `json:"version"`
	// Refuses has the reasons why it takes no jobs of runs that it could take, by run.
	Refuses map[string]string `json:"refuses,omitempty"`
	// Jobs under way, by their numbers, and what they are.
	Jobs []int64 `json:"-"`
	Does []Job   `json:"-"`
	// Seen is how long ago it wrote, in seconds; Lives: its connection is there.
	Seen  float64 `json:"-"`
	Lives bool    `json:"-"`
}

// Gone is how long a worker that is connected may be silent, in seconds.
const Gone = 60

// Can says why a worker cannot do what a run needs; "": it can.
func (w Worker) Can(n Needs, same func(a, b string) bool) string {
	if !slices.Contains(w.Machines, n.Machine) {
		return "no machine " + n.Machine
	}
	for _, label := range n.Labels {
		if !slices.Contains(w.Labels, label) {
			return "no label " + label
		}
	}
	if !same(w.Version, n.Version) {
		return "whichfs " + w.Version + " instead of " + n.Version
	}
	return ""
}

// mark is what a worker's lock is called.
func (w Worker) mark() string { return "worker " + w.ID }

// Attend marks a worker as alive until release is called: it must Beat meanwhile.
func (s *Store) Attend(w Worker) (release func(), err error) {
	if _, ok := s.engine.(*postgres); !ok {
		return nil, result.Refuse("name one: --store postgres://USER@HOST/DATABASE", "a worker needs a store in a database, and %s is a file", s.path)
	}
	unmark, err := s.Hold(w.mark(), nil)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = s.write("leaving the fleet", func(t *tx) error {
			_, err := t.Exec("DELETE FROM worker WHERE id = ?", w.ID)
			return err
		})
		unmark()
	}, nil
}

// Beat writes what a worker is and does.
func (s *Store) Beat(w Worker) error {
	p, ok := s.engine.(*postgres)
	if !ok {
		return errors.New("no database")
	}
	about, err := json.Marshal(w)
	if err != nil {
		return err
	}
	jobs, _ := json.Marshal(w.Jobs) //nolint:errchkjson // numbers
	list := "{" + strings.Trim(strings.TrimPrefix(string(jobs), "null"), "[]") + "}"
	return s.write("writing what worker "+w.Name+" does", func(t *tx) error {
		_, err := t.Exec(`INSERT INTO worker (id, mark, about, jobs) VALUES (?, ?, ?, ?::text::bigint[])
			ON CONFLICT (id) DO UPDATE SET about = excluded.about, jobs = excluded.jobs, seen = now()`, w.ID, p.key(w.mark()), string(about), list)
		return err
	})
}

// marked is whether the lock with the number worker.mark is held.
const marked = `EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
	AND (classid::bigint << 32 | objid::bigint) = worker.mark AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`

// Workers are those of the fleet, with what they do.
func (s *Store) Workers() (list []Worker, err error) {
	if _, ok := s.engine.(*postgres); !ok {
		return nil, result.Refuse("name one: --store postgres://USER@HOST/DATABASE", "a fleet needs a store in a database, and %s is a file", s.path)
	}
	err = s.read("reading the fleet", func(c *conn) error {
		list = nil
		at := map[string]int{}
		err := each(c, func(scan func(...any) error) error {
			var w Worker
			var about string
			if err := scan(&w.ID, &about, &w.Seen, &w.Lives); err != nil {
				return err
			}
			at[w.ID] = len(list)
			list = append(list, w)
			return json.Unmarshal([]byte(about), &list[len(list)-1])
		}, "SELECT id, about, extract(epoch FROM now() - seen)::float8, "+marked+" FROM worker ORDER BY about, id")
		if err != nil {
			return err
		}
		return each(c, func(scan func(...any) error) error {
			var id, args string
			var job Job
			if err := scan(&id, &args); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(args), &job); err != nil {
				return err
			}
			if i, there := at[id]; there {
				list[i].Does = append(list[i].Does, job)
			}
			return nil
		}, "SELECT attempted_by[array_length(attempted_by, 1)], args::text FROM river_job WHERE state = 'running' ORDER BY id")
	})
	return list, err
}

// abandoned are the running jobs whose worker is gone, hangs, or has done with them, but could not say so.
const abandoned = `SELECT river_job.id FROM river_job LEFT JOIN worker ON worker.id = attempted_by[array_length(attempted_by, 1)]
	WHERE river_job.state = 'running' AND (worker.id IS NULL
		OR worker.seen < now() - interval '5 s' AND NOT ` + marked + `
		OR worker.seen < now() - make_interval(secs => $1)
		OR worker.seen > attempted_at + interval '15 s' AND NOT river_job.id = ANY(worker.jobs))`

// Sweep hands on the jobs of workers that are gone. Only one process does at a time.
func (f *Fleet) Sweep(ctx context.Context) error {
	return f.inTx(ctx, "sweeping the fleet", func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", f.p.key("sweep")).Scan(&alone); err != nil || !alone {
			return err
		}
		rows, err := tx.Query(ctx, abandoned, Gone)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := f.handOn(ctx, tx, id, true); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "DELETE FROM file WHERE used < now() - interval '30 days'"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM worker WHERE seen < now() - interval '1 hour' AND NOT "+marked)
		return err
	})
}

// HandOn gives a job of this worker to another one: because it failed here (lost), or has to stop.
func (f *Fleet) HandOn(ctx context.Context, id int64, lost bool) error {
	return f.inTx(ctx, "handing on a job", func(tx pgx.Tx) error { return f.handOn(ctx, tx, id, lost) })
}

// handOn ends a running job, and adds a new one in its place.
func (f *Fleet) handOn(ctx context.Context, tx pgx.Tx, id int64, lost bool) error {
	var queue string
	var args []byte
	err := tx.QueryRow(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE id = $1 AND state = 'running' RETURNING queue, args`, id).Scan(&queue, &args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var job Job
	if err := json.Unmarshal(args, &job); err != nil {
		return err
	}
	if lost {
		job.Lost++
	}
	if job.Lost < MostLost {
		return f.insert(ctx, tx, queue, []Job{job})
	}
	_, err = tx.Exec(ctx, "UPDATE river_job SET state = 'discarded' WHERE id = $1", id)
	return err
}

// Repeat is a comparison of trials that two workers have done.
type Repeat struct {
	Round, Place     int
	Workers, Differs string
}

// AddRepeat stores one.
func (s *Store) AddRepeat(run string, r Repeat) error {
	return s.write("storing a comparison", func(t *tx) error {
		number, err := t.runNumber(run)
		if err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO repeat VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", number, r.Round, r.Place, r.Workers, r.Differs)
		return err
	})
}

// Repeats are those of a run.
func (s *Store) Repeats(run string) (list []Repeat, err error) {
	err = s.read("reading the comparisons of run "+run, func(c *conn) error {
		list = nil
		return each(c, func(scan func(...any) error) error {
			var r Repeat
			err := scan(&r.Round, &r.Place, &r.Workers, &r.Differs)
			list = append(list, r)
			return err
		}, "SELECT round, place, workers, differs FROM repeat WHERE run = (SELECT number FROM run WHERE id = ?) ORDER BY round, place", run)
	})
	return list, err
}

// filePart is how much of a file one row holds, in bytes.
const filePart = 1 << 20

// PutFile keeps a file for workers, unless one with its digest is there.
func (f *Fleet) PutFile(ctx context.Context, digest string, from io.ReaderAt, size int64) error {
	return f.inTx(ctx, "keeping a file for workers", func(tx pgx.Tx) error {
		made, err := tx.Exec(ctx, "INSERT INTO file (digest) VALUES ($1) ON CONFLICT (digest) DO NOTHING", digest)
		if err != nil {
			return err
		}
		if made.RowsAffected() == 0 {
			_, err := tx.Exec(ctx, "UPDATE file SET used = now() WHERE digest = $1", digest)
			return err
		}
		body := make([]byte, filePart)
		for part := range (size + filePart - 1) / filePart {
			n, err := from.ReadAt(body, part*filePart)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if _, err := tx.Exec(ctx, "INSERT INTO file_part VALUES ($1, $2, $3)", digest, part, body[:n]); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetFile writes a file that PutFile has kept; there is false if there is none. The digest is for the
// caller to check.
func (f *Fleet) GetFile(ctx context.Context, digest string, to io.WriterAt) (there bool, err error) {
	err = f.inTx(ctx, "fetching a file", func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM file WHERE digest = $1)", digest).Scan(&there); err != nil || !there {
			return err
		}
		for part := int64(0); ; part++ {
			var body []byte
			err := tx.QueryRow(ctx, "SELECT body FROM file_part WHERE digest = $1 AND part = $2", digest, part).Scan(&body)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			if _, err := to.WriteAt(body, part*filePart); err != nil {
				return err
			}
		}
	})
	return there, err
}

// Every is how often a worker writes that it lives, and hands on the jobs of others that do not.
const Every = 2 * time.Second
