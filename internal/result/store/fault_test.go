package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	run "whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
)

// filled makes a closed store with one run of a few thousand figures.
func filled(t *testing.T, path string) {
	t.Helper()
	must.Do(t, storetest.Fill(path, 1, storetest.Usual()))
}

// asNobody runs f with the file permissions of an ordinary user.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread() // filesystem credentials belong to the thread
	defer runtime.UnlockOSThread()
	must.Do(t, unix.Setfsgid(nobody))
	must.Do(t, unix.Setfsuid(nobody))
	defer func() {
		must.Do(t, unix.Setfsuid(0))
		must.Do(t, unix.Setfsgid(0))
	}()
	f()
}

// public is a temporary directory that every user may enter and read.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	dir := public(t)
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	asNobody(t, func() {
		for _, path := range []string{filepath.Join(dir, "results.db"), filepath.Join(dir, "sub", "results.db")} {
			_, err := store.Open(path)
			refused(t, err, store.ErrNotWritable, path, "cannot be written", "WHICHFS_STORE")
		}
		_, err := store.OpenReadOnly(filepath.Join(dir, "results.db"))
		refused(t, err, store.ErrMissing, "none yet", "whichfs run")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error("not fs.ErrNotExist")
		}
	})
	_, err := store.Open(filepath.Join("/dev/null", "results.db"))
	refused(t, err, store.ErrNotWritable)
}

func TestReportNeedsNoPermissionToWrite(t *testing.T) {
	dir := public(t)
	path := filepath.Join(dir, "results.db")
	filled(t, path)
	must.Do(t, os.Chmod(path, 0o444))
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	asNobody(t, func() {
		_, err := store.Open(path)
		refused(t, err, store.ErrNotWritable, path)
		s, err := store.OpenReadOnly(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = s.Close() }()
		if trials, err := s.Trials("fill-0001"); err != nil || len(trials) != 36 {
			t.Errorf("%d trials, %v", len(trials), err)
		}
	})
	must.Do(t, os.Chmod(path, 0o000))
	asNobody(t, func() {
		for _, open := range []func(string) (*store.Store, error){store.Open, store.OpenReadOnly} {
			_, err := open(path)
			refused(t, err, store.ErrNotReadable, path, "cannot be read")
		}
	})
}

// fillUp stores trials until that fails, and returns how many were stored.
func fillUp(t *testing.T, s *store.Store) (stored int, err error) {
	t.Helper()
	must.Do(t, s.CreateRun(example("r"), 1000))
	for place := 1; place < 100_000; place++ {
		id, err := s.BeginTrial("r", result.Trial{Round: 1, Place: place, Candidate: "ext4", Attempt: 1})
		if err != nil {
			return stored, err
		}
		trial := numbered(place)
		trial.ID = id
		if err := s.FinishTrial(trial); err != nil {
			return stored, err
		}
		stored = place
	}
	t.Fatal("the store never fills up")
	return 0, nil
}

// holds requires that the store contains exactly the first trials, as many as were stored.
func holds(t *testing.T, s *store.Store, stored int) {
	t.Helper()
	trials, err := s.Trials("r")
	must.Do(t, err)
	for i, trial := range trials {
		switch {
		case i < stored:
			whole(t, trial, 1)
		case i > stored || trial.Outcome != "" || len(trial.Measurements) > 0:
			t.Errorf("place %d should not be there", trial.Place)
		}
	}
	if len(trials) < stored {
		t.Errorf("the store has only %d of %d trials", len(trials), stored)
	}
}

func TestDiskFull(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, size := range []string{"320k", "512k"} {
		dir := t.TempDir()
		must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size))
		path := filepath.Join(dir, "data", "results.db")
		s, err := store.Open(path)
		must.Do(t, err)
		stored, err := fillUp(t, s)
		refused(t, err, store.ErrFull, "mounted at "+dir+" (", "is full", "free space there", path)
		t.Logf("%s: %d trials; %v", size, stored, err)
		if stored < 2 {
			t.Errorf("%s: only %d trials fitted", size, stored)
		}
		holds(t, s, stored)
		must.Do(t, s.Close())
		// Still full.
		r, err := store.OpenReadOnly(path)
		must.Do(t, err)
		holds(t, r, stored)
		must.Do(t, r.Close())
		must.Do(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=8M"))
		s, err = store.Open(path)
		must.Do(t, err)
		holds(t, s, stored)
		id, err := s.BeginTrial("r", result.Trial{Round: 1, Place: stored + 1, Candidate: "ext4", Attempt: 1})
		must.Do(t, err)
		trial := numbered(stored + 1)
		trial.ID = id
		must.Do(t, s.FinishTrial(trial))
		holds(t, s, stored+1)
		must.Do(t, s.Close())
		must.Do(t, unix.Unmount(dir, 0))
	}
}

// A disk that is too small for the schema.
func TestDiskFullFromTheStart(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"))
	_, err := store.Open(filepath.Join(dir, "results.db"))
	refused(t, err, store.ErrFull, dir, "is full")
	must.Do(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=8M"))
	s, err := store.Open(filepath.Join(dir, "results.db"))
	must.Do(t, err)
	must.Do(t, s.Close())
	must.Do(t, unix.Unmount(dir, 0))
}

// SQLite's page limit ends in the same error as a full disk, and needs no mount.
func TestStoreFull(t *testing.T) {
	s, path := temporary(t)
	must.Do(t, s.LimitPages(60))
	stored, err := fillUp(t, s)
	refused(t, err, store.ErrFull, "is full", path)
	holds(t, s, stored)
	must.Do(t, s.LimitPages(6000))
	id, err := s.BeginTrial("r", result.Trial{Round: 1, Place: stored + 1, Candidate: "ext4", Attempt: 1})
	must.Do(t, err)
	trial := numbered(stored + 1)
	trial.ID = id
	must.Do(t, s.FinishTrial(trial))
	holds(t, s, stored+1)
}

func TestUnsoundStoreFiles(t *testing.T) {
	garbage := bytes.Repeat([]byte{0xa5, 0x5a, 0x13}, 2000)
	overwrite := func(offset int64, length int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			filled(t, path)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must.Do(t, err)
			_, err = f.WriteAt(garbage[:length], offset)
			must.Do(t, errors.Join(err, f.Close()))
		}
	}
	for name, c := range map[string]struct {
		make  func(*testing.T, string)
		kind  error
		words []string
	}{
		"text":            {func(t *testing.T, p string) { must.Do(t, os.WriteFile(p, []byte("hello\n"), 0o644)) }, store.ErrForeign, []string{"not a results store"}},
		"long text":       {func(t *testing.T, p string) { must.Do(t, os.WriteFile(p, garbage, 0o644)) }, store.ErrForeign, []string{"not a results store", "overwritten"}},
		"directory":       {func(t *testing.T, p string) { must.Do(t, os.Mkdir(p, 0o755)) }, store.ErrForeign, []string{"not a regular file"}},
		"other database":  {otherDatabase, store.ErrForeign, []string{"SQLite database of another program", "left unchanged"}},
		"magic gone":      {overwrite(0, 16), store.ErrDamaged, []string{"damaged", "mkdir", "mv", ".recover"}},
		"header gone":     {overwrite(0, 100), store.ErrForeign, []string{"overwritten"}},
		"header's middle": {overwrite(16, 8), store.ErrDamaged, []string{"damaged"}},
		"schema gone":     {overwrite(100, 3000), store.ErrDamaged, []string{"damaged"}},
		"pages gone":      {overwrite(40*4096, 6000), store.ErrDamaged, []string{"damaged"}},
		"cut short": {func(t *testing.T, p string) {
			filled(t, p)
			must.Do(t, os.Truncate(p, 20*4096+100))
		}, store.ErrDamaged, []string{"damaged"}},
		"cut to nearly nothing": {func(t *testing.T, p string) {
			filled(t, p)
			must.Do(t, os.Truncate(p, 80))
		}, store.ErrDamaged, []string{"damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "results.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := store.Open(path)
			refused(t, err, c.kind, append(c.words, path)...)
			after, _ := os.ReadFile(path)
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			s, err := store.OpenReadOnly(path)
			if err == nil {
				_, err = s.Trials("fill-0001")
				if err == nil {
					err = s.Check()
				}
				_ = s.Close()
			}
			refused(t, err, c.kind, append(c.words, path)...)
		})
	}
}

// otherDatabase is one with a pending write-ahead log: opening it would change
// it.
func otherDatabase(t *testing.T, path string) {
	t.Helper()
	away := path + ".away"
	db, err := sql.Open("sqlite", "file:"+away)
	must.Do(t, err)
	db.SetMaxOpenConns(1)
	for _, text := range []string{"CREATE TABLE a (b)", "PRAGMA journal_mode = WAL", "INSERT INTO a VALUES (1)"} {
		_, err = db.Exec(text)
		must.Do(t, err)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(away + suffix)
		must.Do(t, err)
		must.Do(t, os.WriteFile(path+suffix, data, 0o644))
	}
	must.Do(t, db.Close())
}

func TestEmptyFileBecomesAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	must.Do(t, os.WriteFile(path, nil, 0o644))
	_, err := store.OpenReadOnly(path)
	refused(t, err, store.ErrMissing, "none yet")
	s, err := store.Open(path)
	must.Do(t, err)
	must.Do(t, s.Close())
}

func TestVersions(t *testing.T) {
	places(t, func(t *testing.T, path string) {
		filled(t, path)
		const step = "ALTER TABLE run ADD COLUMN mood TEXT"
		_, err := store.OpenReadOnlyNext(path, step)
		refused(t, err, store.ErrVersion, "older whichfs", "schema 6", "needs 7")
		_, err = store.OpenNext(path, step, "CREATE TABLE half (a INTEGER); INSERT INTO nowhere VALUES (1)")
		refused(t, err, nil, "version 7 to 8", path)
		for range 2 { // the first migrates the store, the second finds it migrated
			s, err := store.OpenNext(path, step, "CREATE TABLE half (a INTEGER)") // the failed step left nothing
			must.Do(t, err)
			if trials, err := s.Trials("fill-0001"); err != nil || len(trials) != 36 {
				t.Errorf("%d trials, %v", len(trials), err)
			}
			must.Do(t, s.Close())
		}
		for _, open := range []func(string) (*store.Store, error){store.Open, store.OpenReadOnly} {
			_, err := open(path)
			refused(t, err, store.ErrVersion, "newer whichfs", "schema 8", "up to 6", "WHICHFS_STORE")
		}
	})
}

func TestLockedByAnotherProcess(t *testing.T) {
	s, path := temporary(t)
	must.Do(t, s.CreateRun(example("r"), 1))
	must.Do(t, s.Close())
	s, err := store.OpenWaiting(path, 30*time.Millisecond)
	must.Do(t, err)
	other, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "#", "%23", "%", "%25").Replace(path)+"?_txlock=immediate")
	must.Do(t, err)
	defer func() { _ = other.Close() }()
	tx, err := other.Begin()
	must.Do(t, err)
	_, err = s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
	refused(t, err, store.ErrBusy, path, "another process", "try again")
	_, err = store.OpenWaiting(path, 30*time.Millisecond)
	refused(t, err, store.ErrBusy, path)
	r, err := store.OpenReadOnly(path)
	must.Do(t, err)
	if _, err := r.Trials("r"); err != nil {
		t.Errorf("reading does not wait for a writer: %v", err)
	}
	must.Do(t, r.Close())
	must.Do(t, tx.Rollback())
	_, err = s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "ext4", Attempt: 1})
	must.Do(t, err)
	must.Do(t, s.Close())
}

// A disk that fails during writes appears as an I/O error, which any test can
// produce with a file size limit.
func TestDiskError(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "results.db")
	s, err := store.Open(path)
	must.Do(t, err)
	must.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 300 << 10, Max: 300 << 10}))
	stored, err := fillUp(t, s)
	if !errors.Is(err, store.ErrDisk) && !errors.Is(err, store.ErrFull) {
		t.Errorf("%v", err)
	}
	refused(t, err, nil, path)
	holds(t, s, stored)
	_ = s.Close()
}

// The command that moves a damaged store aside does so, log and all.
func TestDamagedStoreCanBeMovedAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a store.db")
	filled(t, path)
	must.Do(t, os.Truncate(path, 5000))
	must.Do(t, os.WriteFile(path+"-wal", nil, 0o600))
	_, err := store.Open(path)
	var trouble *store.Error
	if !errors.As(err, &trouble) {
		t.Fatal(err)
	}
	command, _, _ := strings.Cut(strings.TrimPrefix(trouble.Hint, "move it aside: "), " ; ")
	if _, err := run.Run(t.Context(), run.Options{}, "sh", "-c", command); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	s, err := store.Open(path)
	must.Do(t, err)
	must.Do(t, s.Close())
	if _, err := os.Stat(filepath.Join(path+".damaged", filepath.Base(path))); err != nil {
		t.Error(err)
	}
}
