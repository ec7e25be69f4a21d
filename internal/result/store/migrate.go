package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// applicationID marks the file as ours in its header: "wfsr" in ASCII.
const applicationID = 0x77667372

//go:embed migrations/*.sql
var files embed.FS

// migration is one step of the schema; version is the number it leads to.
type migration struct {
	version int
	sql     string
}

// all are the migrations in order. Once released, a file never changes: each
// change is a new file.
var all = mustReadMigrations(files)

// mustReadMigrations panics on a badly named file, which any test finds.
func mustReadMigrations(files fs.FS) []migration {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	var out []migration
	for i, name := range names { // in lexical order
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			panic(fmt.Sprintf("migration %s: expected number %04d", name, i+1))
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		out = append(out, migration{version, string(text)})
	}
	return out
}

func newest(m []migration) int { return m[len(m)-1].version }

// migrate updates the schema, each step in its own transaction. It takes the
// lock before it reads the version, so that of two processes that open a store
// at the same time only one migrates it.
func migrate(db *sql.DB, file string, steps []migration) error {
	for {
		again, err := migrateOnce(db, file, steps)
		if err != nil || !again {
			return err
		}
	}
}

func migrateOnce(db *sql.DB, file string, steps []migration) (again bool, err error) {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	version, err := schemaVersion(tx, file, steps)
	if err != nil || version == newest(steps) {
		return false, err
	}
	step := steps[version]
	if _, err := tx.Exec(step.sql); err != nil {
		return false, fmt.Errorf("bringing the schema from version %d to %d: %w", version, step.version, err)
	}
	// Pragmas take no parameters; both are our own numbers.
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, step.version)); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// querier is a transaction or a database.
type querier interface {
	QueryRow(query string, args ...any) *sql.Row
}

// schemaVersion returns the version of the schema, 0 for an empty file. A file
// that is not ours, or from a newer whichfs, is an error.
func schemaVersion(q querier, file string, steps []migration) (int, error) {
	var app, version, objects int
	for text, into := range map[string]*int{
		"PRAGMA application_id":              &app,
		"PRAGMA user_version":                &version,
		"SELECT count(*) FROM sqlite_schema": &objects,
	} {
		if err := q.QueryRow(text).Scan(into); err != nil {
			return 0, err
		}
	}
	switch {
	case app == 0 && version == 0 && objects == 0:
		return 0, nil
	case app != applicationID:
		return 0, foreign(file, "it is an SQLite database of another program")
	case version > newest(steps):
		return 0, newer(file, version, newest(steps))
	case version < 0:
		return 0, damaged(file, fmt.Errorf("its schema version is %d", version))
	}
	return version, nil
}
