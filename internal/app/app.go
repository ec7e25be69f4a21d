// Package app is what whichfs does for whoever asks, be it a command line, a
// page or a fleet: it plans and carries out runs, probes and crash
// explorations, and loads what was measured. It has no flags, no terminal and no
// exit status.
package app

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"whichfs/internal/cache"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// App is what everything is done with.
type App struct {
	// Path of the result store; empty: the usual place.
	Path string
	// Version of whichfs, which runs and reports keep.
	Version string
	// Note tells whoever asked something besides the answer.
	Note func(text string)
}

// StorePath is where the result store lies. It need not exist yet.
func (a *App) StorePath() (string, error) {
	if a.Path != "" {
		return a.Path, nil
	}
	return store.DefaultPath()
}

// Store opens the result store for writing; close it.
func (a *App) Store() (*store.Store, error) {
	path, err := a.StorePath()
	if err != nil {
		return nil, err
	}
	return store.Open(path)
}

// ExistingStore opens the result store for writing where there is one; close it.
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
	return store.Open(path) // whatever else is wrong, this says or mends it
}

// DeleteRun deletes a run that nobody is carrying out, and returns its ID.
func (a *App) DeleteRun(name string) (id string, err error) {
	st, err := a.ExistingStore()
	if err != nil {
		return "", err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	r, err := st.Run(name)
	if err != nil {
		return "", err
	}
	release, err := a.hold([]result.Run{r})
	if err != nil {
		return "", err
	}
	defer release()
	return r.ID, st.DeleteRun(r.ID)
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

// ReadStore opens the result store for reading; close it. One of an older
// whichfs is brought up to date, where that is permitted.
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

// Evidence is the directory for what a run keeps besides its figures.
func (a *App) Evidence(run string) (string, error) {
	path, err := a.StorePath()
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(filepath.Dir(path), "evidence", run))
}

// workDir is the directory for loop files and lab disks, which is made.
func workDir(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := UsualWork()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// UsualWork is the directory for loop files and lab disks where none is named.
func UsualWork() (string, error) {
	dir, err := cache.Dir()
	return filepath.Join(dir, "work"), err
}

// NewID names a run or a probe by when it began. What tells two of one second
// apart is chance, and not a seed, which both may have been given.
func NewID(began time.Time) string {
	return fmt.Sprintf("%s-%04x", began.UTC().Format("20060102-150405"), rand.Uint32N(1<<16))
}
