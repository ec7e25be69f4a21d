package lab

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whichfs/internal/sys/cache"
)

// The remains of a killed build are found when no build is running.
func TestUnfinished(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	if got := Unfinished(); len(got) > 0 {
		t.Errorf("in no cache: %v", got)
	}
	home, err := Home()
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(home, "0123456789abcdef")
	kernel, image := filepath.Join(home, kernelsFolder, UnfinishedPrefix+"1"), filepath.Join(home, UnfinishedPrefix+"2")
	for _, dir := range []string{whole, kernel, image} {
		if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := cache.Lock(filepath.Join(home, lockName), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Unfinished(); len(got) > 0 || RemoveUnfinished(image) == nil {
		t.Errorf("of a running build: %v", got)
	}
	unlock()
	if got := Unfinished(); !slices.Equal(got, []string{image, kernel}) {
		t.Errorf("%v", got)
	}
	for _, dir := range []string{image, kernel} {
		if err := RemoveUnfinished(dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(whole); err != nil || len(Unfinished()) > 0 {
		t.Error(err, Unfinished())
	}
}
