package script

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"whichfs/internal/fault"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
)

// databaseJudge opens the database that was found with sqlite3. It works on a copy
// in memory, so that the filesystem under test does not change, and caches the
// result for contents that it has seen: recovery depends on nothing else.
type databaseJudge struct {
	script  Script
	program string

	lock sync.Mutex
	seen map[uint64]databaseState
}

// databaseState is sqlite3's view of a database.
type databaseState struct {
	last   int    // the number of the last transaction found
	broken string // key of the broken promise; else empty
	what   string
}

func newDatabaseJudge(s Script) (Judge, error) {
	if _, err := settings(s); err != nil {
		return nil, err
	}
	program, err := sqlite(s)
	if err != nil {
		return nil, err
	}
	return &databaseJudge{script: s, program: program, seen: map[uint64]databaseState{}}, nil
}

// databaseFiles are the files of a database. The first connection recreates the
// shared memory of a write-ahead log.
var databaseFiles = []string{databaseFile, databaseFile + "-journal", databaseFile + "-wal"}

// Judge opens a copy of the database and examines its contents.
func (j *databaseJudge) Judge(began, acked int, found Tree, _ string) ([]fault.Breach, int) {
	one := func(promise string, o fault.Outcome, what string) ([]fault.Breach, int) {
		return []fault.Breach{{Promise: promise, Path: databaseFile, Outcome: o, What: what}}, 1
	}
	if root := found[""]; root.Err != "" {
		return []fault.Breach{{Promise: PromiseReadable, Outcome: fault.IOError, What: "the root directory cannot be read: " + root.Err}}, 1
	}
	if _, ok := found[databaseFile]; !ok {
		return one(PromiseKept, fault.Lost, "the database is gone")
	}
	for _, name := range databaseFiles {
		if f, ok := found[name]; ok && (f.Err != "" || f.Kind != kindFile) {
			return []fault.Breach{{Promise: PromiseReadable, Path: name, Outcome: fault.IOError, What: "it cannot be read: " + orKind(f)}}, 1
		}
	}
	st, err := j.state(found)
	switch {
	case err != nil:
		// The state is unknown and must not count as kept.
		return one(PromiseNotJudged, fault.IOError, err.Error())
	case st.broken != "":
		return one(st.broken, fault.Wrong, st.what)
	case st.last < acked:
		promise := PromiseCommitted
		if j.script.Careless {
			promise = PromiseClaimed // SQLite does not promise it with these settings
		}
		b, _ := one(promise, fault.Lost, fmt.Sprintf("%d transactions were acknowledged, and %d are there", acked, st.last))
		return b, 2 + acked
	case st.last > began:
		return one(PromiseInvented, fault.Wrong, fmt.Sprintf("%d transactions had begun, and %d are there", began, st.last))
	}
	return nil, 2 + acked
}

func orKind(f Found) string {
	if f.Err != "" {
		return f.Err
	}
	return "it is a " + f.Kind
}

// state opens a copy of the files found, unless their state is cached.
func (j *databaseJudge) state(found Tree) (databaseState, error) {
	h := fnv.New64a()
	for _, name := range databaseFiles {
		f, ok := found[name]
		fmt.Fprintf(h, "%s %v %d;", name, ok, len(f.Data))
		_, _ = h.Write(f.Data) // never fails
	}
	key := h.Sum64()
	j.lock.Lock()
	st, ok := j.seen[key]
	j.lock.Unlock()
	if ok {
		return st, nil
	}
	st, err := j.open(found)
	if err == nil {
		j.lock.Lock()
		j.seen[key] = st
		j.lock.Unlock()
	}
	return st, err
}

// open runs sqlite3. An error is a failure of our own machinery.
func (j *databaseJudge) open(found Tree) (st databaseState, err error) {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	dir, lock, err := owner.Dir(base, "database")
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir), lock.Close()) }()
	for _, name := range databaseFiles {
		if f, ok := found[name]; ok {
			if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
				return st, err
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseLimit)
	defer cancel()
	r, err := command.Run(ctx, command.Options{}, j.program, "-batch", "-bail", "-list", filepath.Join(dir, databaseFile),
		"PRAGMA integrity_check;SELECT 'last',turn FROM last;SELECT 'row',id,turn,text FROM rows ORDER BY id;")
	if r.Status < 0 {
		return st, fmt.Errorf("it could not be examined: %w", err)
	}
	if err != nil {
		return databaseState{broken: PromiseIntegrity, what: "sqlite3 cannot open it: " + strings.TrimSpace(r.Stderr)}, nil
	}
	return readDatabase(r.Stdout), nil
}

// readDatabase parses the answer to open's queries.
func readDatabase(text string) databaseState {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "ok" {
		return databaseState{broken: PromiseIntegrity, what: "its integrity check says: " + lines[0]}
	}
	st := databaseState{last: -1}
	var rows []string
	for _, line := range lines[1:] {
		if number, ok := strings.CutPrefix(line, "last|"); ok {
			if n, err := strconv.Atoi(number); err == nil && st.last < 0 {
				st.last = n
				continue
			}
		}
		rows = append(rows, line)
	}
	if st.last < 0 || st.last*databaseRows > len(rows) {
		return databaseState{broken: PromiseTransaction, what: fmt.Sprintf("there are %d rows and %d transactions (-1: not told)", len(rows), st.last)}
	}
	var want []string
	for turn := 1; turn <= st.last; turn++ {
		for row := range databaseRows {
			want = append(want, fmt.Sprintf("row|%d|%d|%s", turn*databaseRows+row, turn, databaseText(turn, row)))
		}
	}
	if !slices.Equal(rows, want) {
		return databaseState{broken: PromiseTransaction, what: fmt.Sprintf("%d transactions are counted, and their %d rows are not all there as they were written (%d rows)", st.last, len(want), len(rows))}
	}
	return st
}
