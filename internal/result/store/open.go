package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func open(path string, set settings) (*Store, error) {
	if isURL(path) {
		return openPostgres(path, set)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("results store: %w", err)
	}
	if err := makeDir(filepath.Dir(path), set.sync); err != nil {
		return nil, notWritable(path, err)
	}
	if err := checkHeader(path); err != nil && !errors.Is(err, ErrMissing) {
		return nil, err
	}
	s, err := connect(path, set, url.Values{"mode": {"rwc"}})
	if err != nil {
		return nil, err
	}
	if err = s.Check(); err == nil {
		err = prepare(s.db, path, set)
	}
	if err != nil {
		err = s.wrap(err, "opening")
		_ = s.db.Close()
		return nil, err
	}
	return s, nil
}

// prepare creates or updates the schema and switches to write-ahead logging,
// which allows reports while a run writes. The schema comes first, so that the
// header that identifies the file goes into the file itself.
func prepare(db *sql.DB, path string, set settings) error {
	if err := migrate(db, path, set.migrations); err != nil {
		return err
	}
	// Switching does not wait for other processes by itself.
	deadline := time.Now().Add(set.wait)
	for {
		var mode string
		err := db.QueryRow("PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode == "wal" {
			break
		}
		if err == nil {
			return fmt.Errorf("write-ahead logging does not work here (the file system has no shared memory, like some network file systems): journal mode stays %q", mode)
		}
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return set.sync(filepath.Dir(path))
}

// makeDir creates a directory and its parents, and makes the name of each new
// one durable in its parent: a store on disk would be lost with a directory
// that is not.
func makeDir(dir string, sync func(string) error) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(dir, 0o755) // it exists, or something else is in the way
	}
	above := filepath.Dir(dir)
	if err := makeDir(above, sync); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(above)
}

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

func openReadOnly(path string, set settings) (*Store, error) {
	if isURL(path) {
		return openPostgresReadOnly(path, set)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("results store: %w", err)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	s, err := connectReading(path, set, url.Values{"mode": {"ro"}})
	if err == nil {
		return s, nil
	}
	// Readers of a write-ahead log need its index file. If that can neither be
	// found nor created, and there is no log, no other process has the store open,
	// and it can be read as it is.
	var known *Error
	if errors.As(err, &known) && known.Kind != ErrNotWritable && known.Kind != ErrFull {
		return nil, err
	}
	if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, err
	}
	if s, second := connectReading(path, set, url.Values{"mode": {"ro"}, "immutable": {"1"}}); second == nil {
		return s, nil
	}
	return nil, err
}

// connectReading connects for reading and checks that it works.
func connectReading(path string, set settings, query url.Values) (*Store, error) {
	s, err := connect(path, set, query)
	if err != nil {
		return nil, err
	}
	s.readOnly = true
	version, err := schemaVersion(s.db, path, set.migrations)
	switch {
	case err != nil:
	case version == 0:
		err = missing(path) // empty, or being created
	case version < newest(set.migrations):
		err = older(path, version, newest(set.migrations))
	}
	if err != nil {
		err = s.wrap(err, "opening")
		_ = s.db.Close()
		return nil, err
	}
	return s, nil
}

// connect prepares a connection; nothing is opened before its first use. There
// is only one connection: SQLite has one writer at a time anyway.
func connect(path string, set settings, query url.Values) (*Store, error) {
	query["_pragma"] = []string{
		fmt.Sprintf("busy_timeout(%d)", set.wait.Milliseconds()),
		"foreign_keys(1)",
		"synchronous(FULL)",  // a commit is on disk when it returns
		"cell_size_check(1)", // finds damage early
	}
	// A transaction that begins as a reader cannot always become a writer, so each
	// one that may write takes the lock at the start.
	query.Set("_txlock", "immediate")
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("results store %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return &Store{path: path, db: db, engine: file{path}, marker: file{path}, words: map[string]int64{}}, nil
}

// file is the engine of one SQLite file. Its other methods are in errors.go and
// hold.go.
type file struct{ path string }

func (file) say(query string, args []any) (string, []any) { return query, args }
func (file) heard([]any)                                  {}
func (file) begin(*sql.Tx, int64) (bool, error)           { return false, nil }
func (file) end(*sql.DB)                                  {}

func (f file) check(db *sql.DB) error {
	var first string
	if err := db.QueryRow("PRAGMA quick_check(1)").Scan(&first); err != nil {
		return err
	}
	if first != "ok" {
		return damaged(f.path, errors.New(first))
	}
	return nil
}

const headerMagic = "SQLite format 3\x00"

// checkHeader checks the file itself before SQLite may touch it, because SQLite
// would recover, and so change, a database that is not ours. An empty file is
// fine: a new store begins as one.
func checkHeader(path string) error {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(path)
	case errors.Is(err, fs.ErrPermission):
		return notReadable(path, err)
	case err != nil:
		return fmt.Errorf("results store %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("results store %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return foreign(path, "it is not a regular file")
	}
	if info.Size() == 0 {
		return nil
	}
	// With a rollback journal, left by a process that died while creating the
	// store, the file's content is not final.
	if journal, err := os.Stat(path + "-journal"); err == nil && journal.Size() > 0 {
		return nil
	}
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	ours := n >= 72 && binary.BigEndian.Uint32(head[68:]) == applicationID
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("results store %s: %w", path, err)
	case ours && string(head[:16]) != headerMagic, ours && n < len(head):
		return damaged(path, errors.New("its beginning was overwritten"))
	case !strings.HasPrefix(string(head[:n]), headerMagic):
		return foreign(path, "it is not an SQLite database, or its beginning was overwritten")
	case !ours:
		return foreign(path, "it is an SQLite database of another program")
	}
	return nil
}
