package machinetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// GivenPrograms tests that a machine starts programs of the user's in place of its own. The programs are
// this host's mke2fs under another name, and a script that fails.
func GivenPrograms(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	dir := t.TempDir()
	failing, made := filepath.Join(dir, "mkfs.ext2"), filepath.Join(dir, "mine")
	must.Do(t, os.WriteFile(failing, []byte("#!/bin/sh\necho 'this program was given' >&2\nexit 7\n"), 0o700)) //nolint:gosec // it is started
	own, err := os.ReadFile("/sbin/mke2fs")
	must.Do(t, err)
	must.Do(t, os.WriteFile(made, own, 0o600)) // whichfs makes it executable
	s := openFor(t, fresh, func(spec *machine.Spec) { spec.Given = []string{failing, "mkfs.ext4=" + made} })
	conditions := s.Ready().Conditions
	for name, file := range map[string]string{"program mkfs.ext2": "mkfs.ext2, ", "program mkfs.ext4": "mine, "} {
		if !slices.ContainsFunc(conditions, func(c result.Condition) bool {
			return c.Group == "tools" && c.Name == name && c.Matters && strings.HasPrefix(c.Value, file) && strings.Contains(c.Value, " bytes, sha256 ")
		}) {
			t.Errorf("no %q among conditions %v", name, conditions)
		}
	}
	plan := scenario.Scenario{{Work: "discard"}, {Work: "mkfs", Phase: "mkfs"}, {Work: "mount", Phase: "mount"}, {Work: "unmount", Phase: "unmount"}}
	if d := CarryOut(t, s, "ext2", plan).Done; d.Outcome != result.SubjectFailed || d.Phase != "mkfs" || !strings.Contains(d.Reason, "this program was given") {
		t.Errorf("ext2: %+v", d)
	}
	if d := CarryOut(t, s, "ext4", plan).Done; d.Outcome != result.Done {
		t.Errorf("ext4: %+v", d)
	}
	// The session's programs are its own.
	if d := CarryOut(t, s, "ext3", plan).Done; d.Outcome != result.Done {
		t.Errorf("ext3: %+v", d)
	}
}
