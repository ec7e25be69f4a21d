package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whichfs/internal/result/store"
	"whichfs/internal/testing/must"
)

// A new store survives a power loss: the name of each new directory is durable
// in its parent before the store is created, and the store's own name right
// after.
func TestNamesAreDurable(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "a", "b", "results.db")
	var synced []string
	open := func() {
		t.Helper()
		synced = nil
		s, err := store.OpenWatched(path, func(dir string) {
			rel, err := filepath.Rel(top, dir)
			must.Do(t, err)
			if _, err := os.Stat(path); err == nil {
				rel += " with the store"
			}
			synced = append(synced, rel)
		})
		must.Do(t, err)
		must.Do(t, s.Close())
	}
	open()
	if want := []string{".", "a", "a/b with the store"}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	open()
	if want := []string{"a/b with the store"}; !slices.Equal(synced, want) {
		t.Errorf("an existing store: synced %q, want %q", synced, want)
	}
}

// On every connection a commit is on disk when it returns (synchronous is FULL,
// 2), and figures of deleted runs are deleted too.
func TestSettingsOfEveryConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	s, err := store.Open(path)
	must.Do(t, err)
	defer func() { must.Do(t, s.Close()) }()
	for range 2 {
		for name, want := range map[string]int{"synchronous": 2, "foreign_keys": 1, "cell_size_check": 1} {
			if got, err := s.Setting(name); err != nil || got != want {
				t.Errorf("%s is %d, want %d (%v)", name, got, want, err)
			}
		}
	}
}
