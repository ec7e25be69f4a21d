// Package store keeps runs, trials and their figures in one SQLite file.
//
// Its point of view: a trial costs minutes and the machine under it may die at
// any moment, so a trial is either completely in the store and on disk, or not
// at all. Every write is one transaction, synced before the call returns. Two
// processes may write to one store at the same time; each waits for the other.
//
// Everything that can go wrong with the file (full disk, no permission, damage,
// a foreign or newer file, another process) is an *Error that says what to do.
package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Store is an open results store. It is safe for use by several goroutines;
// they take turns.
type Store struct {
	path     string
	readOnly bool
	db       *sql.DB

	mu    sync.Mutex
	words map[string]int64 // numbers of words known to be committed
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
// whichfs/results.db below $XDG_DATA_HOME, which is ~/.local/share if it is
// unset or (as its specification requires) relative.
func DefaultPath() (string, error) {
	if p := os.Getenv("WHICHFS_STORE"); p != "" {
		return p, nil
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("no place for the results store: neither WHICHFS_STORE, XDG_DATA_HOME nor HOME is set; set WHICHFS_STORE to a file")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "whichfs", "results.db"), nil
}

// Open opens the store for reading and writing, and creates it and its
// directories if they are missing. It verifies that it can write and that the
// content is sound, so that a run does not fail after its first trial. The
// caller closes it.
func Open(path string) (*Store, error) { return open(path, defaults()) }

// OpenReadOnly opens an existing store without needing permission to write to
// it or to its directory. If there is none the error is ErrMissing.
func OpenReadOnly(path string) (*Store, error) { return openReadOnly(path, defaults()) }

// Path is the absolute path of the store's file.
func (s *Store) Path() string { return s.path }

// Close closes the store. It may be called more than once.
func (s *Store) Close() error { return s.wrap(s.db.Close(), "closing") }

// Check reads the whole store and reports the first damage found, as
// ErrDamaged. It costs about 0.15 s for a million figures: little for Open,
// which does it before a run begins; too much for a report, which finds damage
// as it reads.
func (s *Store) Check() error {
	var first string
	if err := s.db.QueryRow("PRAGMA quick_check(1)").Scan(&first); err != nil {
		return s.wrap(err, "checking")
	}
	if first != "ok" {
		return damaged(s.path, errors.New(first))
	}
	return nil
}

// tx is one write transaction.
type tx struct {
	*sql.Tx
	store *Store
	fresh map[string]int64 // words that this transaction added or looked up
}

// write executes f in one transaction and returns when it is on disk. doing
// names the operation in messages.
func (s *Store) write(doing string, f func(*tx) error) error {
	sqlTx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return s.wrap(err, doing)
	}
	t := &tx{Tx: sqlTx, store: s, fresh: map[string]int64{}}
	if err := f(t); err != nil {
		// SQLite may have rolled back by itself, on a full disk for instance.
		_ = t.Rollback()
		return s.wrap(err, doing)
	}
	if err := t.Commit(); err != nil {
		return s.wrap(err, doing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, id := range t.fresh {
		s.words[text] = id
	}
	return nil
}

// read executes f on one consistent state of the store.
func (s *Store) read(doing string, f func(*sql.Conn) error) error {
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.wrap(err, doing)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return s.wrap(err, doing)
	}
	err = f(conn)
	if _, endErr := conn.ExecContext(ctx, "COMMIT"); err == nil {
		err = endErr
	}
	return s.wrap(err, doing)
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
	err := t.QueryRow("SELECT id FROM word WHERE text = ?", text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.QueryRow("INSERT INTO word (text) VALUES (?) RETURNING id", text).Scan(&id)
	}
	if err != nil {
		return 0, err
	}
	t.fresh[text] = id
	return id, nil
}
