package store

import (
	"context"
	"database/sql/driver"
	"strconv"
	"time"
)

// OpenWaiting is Open with a different timeout for locks.
func OpenWaiting(path string, wait time.Duration) (*Store, error) {
	set := defaults()
	set.wait = wait
	return open(path, set)
}

// OpenNext is Open in a later version of whichfs, with these additional migrations.
func OpenNext(path string, steps ...string) (*Store, error) { return open(path, next(steps)) }

// OpenReadOnlyNext is OpenReadOnly in such a version.
func OpenReadOnlyNext(path string, steps ...string) (*Store, error) {
	return openReadOnly(path, next(steps))
}

func next(steps []string) settings {
	set := defaults()
	set.migrations = append([]migration(nil), set.migrations...)
	for _, sql := range steps {
		set.migrations = append(set.migrations, migration{len(set.migrations) + 1, sql})
	}
	return set
}

// LimitPages makes the store full at n pages.
func (s *Store) LimitPages(n int) error {
	var now int
	return s.db.QueryRow("PRAGMA max_page_count = " + strconv.Itoa(n)).Scan(&now)
}

// Count counts the rows of a table.
func (s *Store) Count(table string) (n int, err error) {
	err = s.db.QueryRow("SELECT count(*) FROM " + table).Scan(&n)
	return n, err
}

// OpenWatched is Open with a callback for each synced directory, at that
// moment.
func OpenWatched(path string, synced func(dir string)) (*Store, error) {
	set := defaults()
	set.sync = func(dir string) error {
		synced(dir)
		return syncDir(dir)
	}
	return open(path, set)
}

// Setting is the value of one of SQLite's settings on a new connection.
func (s *Store) Setting(name string) (value int, err error) {
	conn, err := s.db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	// The previous connection is discarded: the next one must be set up as well.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	err = s.db.QueryRow("PRAGMA " + name).Scan(&value)
	return value, err
}

// SetArtifacts replaces the packed body of the stored output.
func (s *Store) SetArtifacts(body []byte) error {
	return s.write("replacing", func(t *tx) error {
		_, err := t.Exec("UPDATE artifact SET body = ?", body)
		return err
	})
}

// Ahead is the clock of a machine that is ahead by an hour.
type Ahead struct{}

// Now is that clock's time.
func (Ahead) Now() time.Time { return time.Now().Add(time.Hour) }

// NowOrNil is that clock's time.
func (a Ahead) NowOrNil() *time.Time { now := a.Now(); return &now }

// By has the fleet's jobs made by another clock.
func (f *Fleet) By(clock Ahead) { f.clock = clock }
