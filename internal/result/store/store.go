// Package store keeps runs, trials and their figures in one SQLite file, or in a
// PostgreSQL database that several machines share.
//
// Its point of view: a trial costs minutes and the machine under it may die at
// any moment, so a trial is either completely in the store and on disk, or not
// at all. Every write is one transaction, synced before the call returns. Two
// processes may write to one store at the same time; each waits for the other.
//
// Everything that can go wrong with the file (full disk, no permission, damage,
// a foreign or newer file, another process) is an *Error that says what to do.
// A lost connection to a database is none: it is made again, and what was lost
// with it is done again, once.
//
// Queries are written for SQLite; see engine for what differs.
package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Store is an open results store. It is safe for use by several goroutines;
// they take turns.
type Store struct {
	path     string // a URL's without its password
	readOnly bool
	db       *sql.DB
	engine   engine
	marker   marker
	// patience is how long a lost connection is tried again; 0: not at all.
	patience time.Duration
	notify   func(text string)

	turn    sync.Mutex // of the writer
	written int64      // transactions begun

	mu    sync.Mutex
	words map[string]int64 // numbers of words known to be committed
}

// engine is what differs between the databases.
type engine interface {
	// say turns a query and its arguments, written for SQLite, into the engine's.
	say(query string, args []any) (string, []any)
	// heard turns what was scanned back.
	heard(into []any)
	// begin is the beginning of a write transaction; numbers only grow. done: an earlier attempt at this
	// number was committed after all.
	begin(tx *sql.Tx, number int64) (done bool, err error)
	// end follows the last transaction.
	end(db *sql.DB)
	// wrap classifies an error of the engine.
	wrap(err error, doing string) error
	check(db *sql.DB) error
}

// settings are what tests vary.
type settings struct {
	wait       time.Duration // for another process's lock
	migrations []migration
	// sync makes the names in a directory durable.
	sync func(dir string) error
}

func defaults() settings { return settings{wait: 10 * time.Second, migrations: all, sync: syncDir} }

// DefaultPath is the default place of the store: $WHICHFS_STORE, or
// results.db in the directory of the user's data.
func DefaultPath() (string, error) {
	if p := os.Getenv("WHICHFS_STORE"); p != "" {
		return p, nil
	}
	dir, err := dataDir()
	return filepath.Join(dir, "results.db"), err
}

// Dir is where files belong that accompany the store at path.
func Dir(path string) (string, error) {
	if isURL(path) {
		return dataDir()
	}
	return filepath.Abs(filepath.Dir(path))
}

// dataDir is whichfs below $XDG_DATA_HOME, which is ~/.local/share if it is
// unset or (as its specification requires) relative.
func dataDir() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("no place for the results store: neither WHICHFS_STORE, XDG_DATA_HOME nor HOME is set; set WHICHFS_STORE to a file")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "whichfs"), nil
}

// Open opens the store for reading and writing, and creates it and its
// directories if they are missing. It verifies that it can write and that the
// content is sound, so that a run does not fail after its first trial. The
// caller closes it. A path that begins with postgres:// is the URL of a database,
// whose tables are created if they are missing.
func Open(path string) (*Store, error) { return open(path, defaults()) }

// OpenReadOnly opens an existing store without needing permission to write to
// it or to its directory. If there is none the error is ErrMissing.
func OpenReadOnly(path string) (*Store, error) { return openReadOnly(path, defaults()) }

// Path is the absolute path of the store's file, or the URL without its password.
func (s *Store) Path() string { return s.path }

// Close closes the store. It may be called more than once.
func (s *Store) Close() error {
	if s.written > 0 {
		s.engine.end(s.db)
	}
	return s.wrap(s.db.Close(), "closing")
}

// Check reads the whole store and reports the first damage found, as
// ErrDamaged. It costs about 0.15 s for a million figures: little for Open,
// which does it before a run begins; too much for a report, which finds damage
// as it reads. A database server checks what it reads by itself.
func (s *Store) Check() error { return s.wrap(s.engine.check(s.db), "checking") }

// tx is one write transaction.
type tx struct {
	tx    *sql.Tx
	store *Store
	fresh map[string]int64 // words that this transaction added or looked up
}

func (t *tx) Exec(query string, args ...any) (sql.Result, error) {
	query, args = t.store.engine.say(query, args)
	return t.tx.Exec(query, args...)
}

// QueryRow is for numbers and our own words: other text must be read with each.
func (t *tx) QueryRow(query string, args ...any) *sql.Row {
	query, args = t.store.engine.say(query, args)
	return t.tx.QueryRow(query, args...)
}

// write executes f in one transaction and returns when it is on disk. doing
// names the operation in messages. f is called again if the connection was lost.
func (s *Store) write(doing string, f func(*tx) error) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.written++
	return s.wrap(s.persist(func() error { return s.transact(s.written, f) }), doing)
}

func (s *Store) transact(number int64, f func(*tx) error) error {
	sqlTx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	t := &tx{tx: sqlTx, store: s, fresh: map[string]int64{}}
	done, err := s.engine.begin(sqlTx, number)
	if err == nil && !done {
		err = f(t)
	}
	if err != nil || done {
		// SQLite may have rolled back by itself, on a full disk for instance.
		_ = sqlTx.Rollback()
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, id := range t.fresh {
		s.words[text] = id
	}
	return nil
}

// conn is a connection in a transaction that only reads.
type conn struct {
	conn  *sql.Conn
	store *Store
}

// read executes f on one consistent state of the store; again if the connection
// was lost.
func (s *Store) read(doing string, f func(*conn) error) error {
	return s.wrap(s.persist(func() error {
		ctx := context.Background()
		c, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		begin, _ := s.engine.say("BEGIN", nil)
		if _, err := c.ExecContext(ctx, begin); err != nil {
			return err
		}
		err = f(&conn{c, s})
		if _, endErr := c.ExecContext(ctx, "COMMIT"); err == nil {
			err = endErr
		}
		return err
	}), doing)
}

// word returns the number of a word, adding it if it is new.
func (t *tx) word(text string) (int64, error) {
	if id, ok := t.fresh[text]; ok {
		return id, nil
	}
	t.store.mu.Lock()
	id, ok := t.store.words[text]
	t.store.mu.Unlock()
	if ok {
		return id, nil
	}
	err := t.number([]string{text})
	return t.fresh[text], err
}

// number adds to fresh the numbers of words, none of which is there twice, and adds those that are new.
func (t *tx) number(words []string) error {
	words, err := t.find(words)
	if p, ok := t.store.engine.(*postgres); ok && err == nil && len(words) > 0 {
		// One process at a time: many workers begin with the same words, each in another order, and would
		// wait for each other in circles.
		if _, err = t.Exec("SELECT pg_advisory_xact_lock(?)", p.key("words")); err == nil {
			words, err = t.find(words)
		}
	}
	if err != nil {
		return err
	}
	for _, text := range words {
		var id int64
		if err := t.QueryRow("INSERT INTO word (text) VALUES (?) RETURNING id", text).Scan(&id); err != nil {
			return err
		}
		t.fresh[text] = id
	}
	return nil
}

// find adds to fresh the numbers of those words that are there, and returns the others.
func (t *tx) find(words []string) (others []string, err error) {
	for some := range slices.Chunk(words, 500) {
		args := make([]any, len(some))
		for i, text := range some {
			args[i] = text
		}
		err := each(t, func(scan func(...any) error) error {
			var id int64
			var text string
			err := scan(&id, &text)
			t.fresh[text] = id
			return err
		}, "SELECT id, text FROM word WHERE text IN (?"+strings.Repeat(", ?", len(some)-1)+")", args...)
		if err != nil {
			return nil, err
		}
	}
	for _, text := range words {
		if _, there := t.fresh[text]; !there {
			others = append(others, text)
		}
	}
	return others, nil
}

// learn adds words in a transaction of its own: whoever adds one in the transaction of a trial lets all other
// workers wait for the trial.
func (s *Store) learn(words []string) error {
	slices.Sort(words)
	words = slices.Compact(words)
	s.mu.Lock()
	words = slices.DeleteFunc(words, func(text string) bool { _, known := s.words[text]; return known })
	s.mu.Unlock()
	if len(words) == 0 {
		return nil
	}
	return s.write("storing the names of figures", func(t *tx) error { return t.number(words) })
}
