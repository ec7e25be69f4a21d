// Package app implements the commands of whichfs independently of the caller, be it a command line,
// a page or a fleet: it plans and carries out runs, probes and crash explorations, and loads
// measurements. It has no flags, no terminal and no exit status.
package app

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/cache"
)

// App is the context of every operation.
type App struct {
	// Path of the result store, or the URL of a database; empty: the usual place.
	Path string
	// Version of whichfs, recorded in runs and reports.
	Version string
	// AgentPath is where boards have the agent; empty: it is sent to them.
	AgentPath string
	// Judging judges runs for comparisons and recommendations; nil: each is judged anew.
	Judging Judging
	// Note passes a message to the user, separate from the answer.
	Note func(text string)
}

// StorePath is the path of the result store. It need not exist yet.
func (a *App) StorePath() (string, error) {
	if a.Path != "" {
		return a.Path, nil
	}
	return store.DefaultPath()
}

// Store opens the result store for writing. The caller closes it.
func (a *App) Store() (*store.Store, error) {
	path, err := a.StorePath()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(path)
	if err == nil {
		st.Notify(a.Note)
	}
	return st, err
}

// ExistingStore opens an existing result store for writing. The caller closes it.
func (a *App) ExistingStore() (*store.Store, error) {
	path, err := a.StorePath()
	if err != nil {
		return nil, err
	}
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return nil, err
	}
	if err == nil {
		_ = st.Close()
	}
	return a.Store() // opening reports or repairs any other fault
}

// onRun does something to a run in the store, and returns its ID.
func (a *App) onRun(name string, do func(*store.Store, result.Run) error) (id string, err error) {
	st, err := a.ExistingStore()
	if err != nil {
		return "", err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	r, err := st.Run(name)
	if err != nil {
		return "", err
	}
	return r.ID, do(st, r)
}

// DeleteRun deletes a run that no process is carrying out, and returns its ID.
func (a *App) DeleteRun(name string) (id string, err error) {
	return a.onRun(name, func(st *store.Store, r result.Run) error {
		release, err := hold(st, []result.Run{r}, nil)
		if err != nil {
			return err
		}
		defer release()
		return st.DeleteRun(r.ID)
	})
}

// DeleteProbe deletes a probe, and returns its ID.
func (a *App) DeleteProbe(name string) (id string, err error) {
	st, err := a.ExistingStore()
	if err != nil {
		return "", err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	if id, _, err = st.Probe(name); err != nil {
		return "", err
	}
	return id, st.DeleteProbe(id)
}

// ReadStore opens the result store for reading. The caller closes it. A store of an older whichfs
// is upgraded if permissions allow.
func (a *App) ReadStore() (*store.Store, error) {
	path, err := a.StorePath()
	if err != nil {
		return nil, err
	}
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrVersion) {
		if updated, second := store.Open(path); second == nil {
			return updated, nil
		}
	}
	return st, err
}

// Evidence is the directory for what a run keeps in addition to its figures.
func (a *App) Evidence(run string) (string, error) {
	path, err := a.StorePath()
	if err != nil {
		return "", err
	}
	dir, err := store.Dir(path)
	return filepath.Join(dir, "evidence", run), err
}

// workDir returns the directory for loop files and lab disks: the named one, which must exist, or the
// usual one, which it creates.
func workDir(on, named string) (string, error) {
	if err := checkWork(on, named); err != nil {
		return "", err
	}
	switch {
	case plan.OnBoard(on):
		return named, nil
	case named != "":
		return filepath.Abs(named)
	}
	dir, err := UsualWork()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// checkWork refuses a directory that a user names and this host does not have.
func checkWork(on, named string) error {
	if named == "" || plan.OnBoard(on) {
		return nil
	}
	info, err := os.Stat(named)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", named)
	}
	if err != nil {
		return result.Refuse("", "--work: %v", err)
	}
	return nil
}

// UsualWork is the directory for loop files and lab disks where none is named.
func UsualWork() (string, error) {
	dir, err := cache.Dir()
	return filepath.Join(dir, "work"), err
}

// NewID names a run or a probe by its start time. Two of the same second are distinguished by a
// random suffix, not by a seed, which both may share.
func NewID(began time.Time) string {
	return fmt.Sprintf("%s-%04x", began.UTC().Format("20060102-150405"), rand.Uint32N(1<<16))
}
