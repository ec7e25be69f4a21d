package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// A board that cannot be used when it has started again spoils one cut, which is made anew; that one, and the
// session afterwards, find a board.
func TestSpoiledCut(t *testing.T) {
	// Not beside other tests: there a file under test once was gone in the middle of an operation, for a
	// reason that is not known.
	dir := t.TempDir()
	spoil := filepath.Join(dir, "spoil") // a line for each answer that is wrong: two sessions ask twice each
	script := fmt.Sprintf("#!/bin/sh\nif [ -s %[1]s ]; then sed -i 1d %[1]s; echo 1000; else exec /usr/bin/id \"$@\"; fi\n", spoil)
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Options: boardtest.Options{Tools: map[string]string{"id": script, "sudo": "#!/bin/sh\nexit 1\n", "doas": "#!/bin/sh\nexit 1\n"}}})
	disk, file := loop(t), filepath.Join(dir, "board.toml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "connect = %q\noff_seconds = 0\nstorage = %q\n%s", c.Name, disk, c.Power()), 0o644))
	o := installed(t)
	o.Agent = o.Installed
	o.Progress = func(text string) { t.Log(text) }
	m, err := board.New(file, o)
	must.Do(t, err)
	list, err := m.List(t.Context())
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	i := slices.IndexFunc(list, func(d wire.Device) bool { return d.Path == disk })
	s, err := m.Start(t.Context(), machine.Spec{Storage: disk, Destroy: list[i].ID})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	must.Do(t, os.WriteFile(spoil, []byte("1\n2\n3\n4\n"), 0o644))
	f, notes := machinetest.Cut(t, s.(machine.Cutter), machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Seed: 3})
	if f[result.CutsDone].Value != 1 || f[result.CutsMounted].Value != 1 || strings.Count(notes, "was made anew, since it failed for other reasons than the filesystem's: ") != 1 || !strings.Contains(notes, "no root rights") {
		t.Errorf("%+v: %s", f, notes)
	}
	if left, err := os.ReadFile(spoil); err != nil || len(left) > 0 {
		t.Errorf("%q was not spoiled, %v", left, err)
	}
	if _, err := s.Support(t.Context(), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	must.Do(t, s.Close())
	nothingLeft(t, c)
}
