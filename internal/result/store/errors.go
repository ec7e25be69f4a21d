package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/sys/units"
)

// Kinds of store errors, for errors.Is.
var (
	ErrMissing     = errors.New("no store")
	ErrNotWritable = errors.New("store not writable")
	ErrNotReadable = errors.New("store not readable")
	ErrFull        = errors.New("disk full")
	ErrDamaged     = errors.New("store damaged")
	ErrForeign     = errors.New("not a store")
	ErrVersion     = errors.New("store of another version")
	ErrBusy        = errors.New("store locked")
	ErrDisk        = errors.New("disk error")
	ErrUnreachable = errors.New("database unreachable")
	// The name matches nothing, or more than one.
	ErrNoRun   = errors.New("no such run")
	ErrNoProbe = errors.New("no such probe")
)

// Error is a failure of the store. A named file that cannot be used is for the
// user to change; a failure of a good file is our own.
type Error struct {
	Kind error // one of the above
	*result.Failure
}

// Unwrap returns both the kind and the failure.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Failure} }

func trouble(kind error, o result.Outcome, path, reason, hint string, err error) error {
	return &Error{kind, &result.Failure{Outcome: o, Reason: "results store " + path + ": " + reason, Hint: hint, Err: err}}
}

// none is an error about something not found in a good store; kind is ErrNoRun or ErrNoProbe.
func none(kind error, hint, format string, args ...any) error {
	f := result.Refuse(hint, format, args...)
	f.Reason = kind.Error() + ": " + f.Reason
	return &Error{kind, f}
}

const elsewhere = "or name another file with WHICHFS_STORE"

func missing(path string) error {
	return trouble(ErrMissing, result.Refused, path, "there is none yet", "whichfs run creates it; WHICHFS_STORE can name another file", fs.ErrNotExist)
}

func notWritable(path string, err error) error {
	return trouble(ErrNotWritable, result.Refused, path, "it cannot be written", fmt.Sprintf("get permission to write to it and to the directory %s, %s", filepath.Dir(path), elsewhere), err)
}

func notReadable(path string, err error) error {
	return trouble(ErrNotReadable, result.Refused, path, "it cannot be read", "get permission to read it, "+elsewhere, err)
}

func foreign(path, why string) error {
	return trouble(ErrForeign, result.Refused, path, "this file is not a results store: "+why, "it was left unchanged; move it away, "+elsewhere, nil)
}

func newer(path string, version, known int) error {
	return trouble(ErrVersion, result.Refused, path, fmt.Sprintf("it was written by a newer whichfs (schema %d; this one supports up to %d)", version, known), "use that whichfs, "+elsewhere, nil)
}

func older(path string, version, known int) error {
	return trouble(ErrVersion, result.Refused, path, fmt.Sprintf("it was written by an older whichfs (schema %d; this one needs %d)", version, known), "whichfs resume or whichfs run upgrades it, with permission to write", nil)
}

func damaged(path string, err error) error {
	away := harmless.Word(path + ".damaged")
	move := "mkdir " + away + " && mv " + harmless.Word(path)
	for _, suffix := range []string{"-wal", "-shm", "-journal"} { // they belong together
		if _, err := os.Stat(path + suffix); err == nil {
			move += " " + harmless.Word(path+suffix)
		}
	}
	return trouble(ErrDamaged, result.LabFailed, path, "the file is damaged", "move it aside: "+move+" "+away+
		" ; the next run begins a new one, and sqlite3's .recover command can save what is left in the old one", err)
}

// wrap classifies an error of the database. Errors that are already classified, and those that are
// not about the store itself, are only prefixed with the operation.
func (s *Store) wrap(err error, doing string) error {
	var known *Error
	var failure *result.Failure
	if err == nil || errors.As(err, &known) || errors.As(err, &failure) {
		return err
	}
	return s.engine.wrap(err, doing)
}

func (f file) wrap(err error, doing string) error {
	var sqliteErr *sqlite.Error
	if !errors.As(err, &sqliteErr) {
		return fmt.Errorf("results store %s: %s: %w", f.path, doing, err)
	}
	switch sqliteErr.Code() & 0xff {
	case lib.SQLITE_FULL:
		return f.full(err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damaged(f.path, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return trouble(ErrBusy, result.LabFailed, f.path, "another process keeps it locked", "wait until it is done and try again, or end it (fuser -v "+f.path+" names it)", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		if free, ok := space(f.path); ok && free.Available == 0 {
			return f.full(err) // the files beside the store could not be created
		}
		return notWritable(f.path, err)
	case lib.SQLITE_IOERR:
		switch sqliteErr.Code() {
		case lib.SQLITE_IOERR_SHORT_READ, lib.SQLITE_IOERR_CORRUPTFS, lib.SQLITE_IOERR_DATA:
			return damaged(f.path, err)
		}
		// Not every shortage is reported as one: the log's index, a quota.
		if free, ok := space(f.path); ok && free.Available < 64<<10 {
			return f.full(err)
		}
		return trouble(ErrDisk, result.LabFailed, f.path, "reading or writing it failed", "check the kernel's messages (dmesg) for its disk, "+elsewhere, err)
	}
	return fmt.Errorf("results store %s: %s: %w", f.path, doing, err)
}

// full returns an error that names the full file system.
func (f file) full(err error) error {
	where := "the file system of " + filepath.Dir(f.path)
	if free, ok := space(f.path); ok {
		where = fmt.Sprintf("the file system mounted at %s (%s free of %s)", free.Mount, units.Value(float64(free.Available), "B"), units.Value(float64(free.Total), "B"))
	}
	return trouble(ErrFull, result.LabFailed, f.path, where+" is full: the latest data was not stored, everything before it was", "free space there and resume, or move the store and name it with WHICHFS_STORE", err)
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}
