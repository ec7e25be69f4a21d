package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// Another version measures with another agent: one run has figures of one.
func TestResumeWithAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	tree := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(tree, "file"), []byte("text"), 0o600))
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	begun := &App{Path: path, Version: "v1", Note: func(string) {}}
	j, err := begun.Begin(t.Context(), Ask{Study: "bootlin-2023", Scale: "quick", Machine: "fake", Candidates: []string{"ext4"}, Storage: []string{"ram:1G"}, Margin: 0.1,
		Data: tree})
	must.Do(t, err)
	j.Close()
	resume := func(version string) error {
		a := &App{Path: path, Version: version, Note: func(string) {}}
		j, _, err := a.Resume("last", 0, Permission{})
		if err == nil {
			j.Close()
		}
		return err
	}
	err = resume("v2")
	f := result.FailureOf(err)
	if f == nil || f.Outcome != result.Refused || !strings.Contains(f.Reason, "begun by whichfs v1, and this is v2") || !strings.Contains(f.Hint, "begin it anew") {
		t.Errorf("%v", err)
	}
	for _, same := range []string{"v1", "unknown"} {
		if err := resume(same); err != nil {
			t.Errorf("%s: %v", same, err)
		}
	}
}
