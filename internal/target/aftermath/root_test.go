package aftermath

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
)

// ext4On is a stage with an ext4 that holds a file, and the contents of its disk.
func ext4On(t *testing.T, alone bool) (*Stage, fault.Image, *blockdev.Contents) {
	t.Helper()
	needs.Devices(t)
	c, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "stage")
	s, err := NewStage(Settings{FS: c.Filesystem(), Options: filesystem.MountData(c), Size: 16 << 20, Dir: dir, Patience: Patience{Call: time.Minute, Tool: time.Minute}, Alone: alone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) && !s.Left() {
			t.Errorf("%s was left behind: %v", dir, err)
		}
	})
	argv := s.FS.Make(c, s.Disk().Path())
	if _, err := command.Run(t.Context(), command.Options{}, argv...); err != nil {
		t.Fatal(err)
	}
	err = s.Use(t.Context(), s.Disk().Path(), func(root string) error { return os.WriteFile(filepath.Join(root, "a"), []byte("kept"), 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	im, held, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	return s, im, held
}

// judgeKept expects the file.
func judgeKept(root string) (f Found) {
	f.Promises = 1
	if data, err := os.ReadFile(filepath.Join(root, "a")); err != nil || string(data) != "kept" {
		f.Breaches = append(f.Breaches, fault.Breach{Promise: "fsync", Path: "a", Outcome: fault.Lost, What: "it is gone"})
	}
	return f
}

// A filesystem without any fault is whole; one that does not mount is checked, repaired and then
// judged; and an empty disk is beyond repair.
func TestExamine(t *testing.T) {
	s, im, held := ext4On(t, true)
	superblock := append([]byte(nil), im.Blocks[0]...)
	superblock[1024+0x150] ^= 1 // of what the checksum covers, and nothing else
	var empty []states.Block
	for n := range im.Blocks {
		empty = append(empty, states.Block{Number: n, Data: make([]byte, fault.BlockSize)})
	}
	for name, c := range map[string]struct {
		changed []states.Block
		tools   Tools
		want    fault.Outcome
		after   fault.Outcome
		checked bool
	}{
		"whole":       {nil, Tools{}, fault.Whole, 0, false},
		"checked":     {nil, Tools{Check: true, Damage: true}, fault.Whole, 0, true},
		"unmountable": {[]states.Block{{Data: superblock}}, Tools{}, fault.NeedsCheck, fault.Whole, true},
		"empty":       {empty, Tools{}, fault.Unmountable, fault.Unmountable, true},
	} {
		if err := s.Set(held, c.changed); err != nil {
			t.Fatal(err)
		}
		got, err := s.Examine(t.Context(), judgeKept, c.tools)
		if err != nil || got.Outcome != c.want || got.After != c.after || got.Checked != c.checked || got.Mounted != (c.want == fault.Whole) || got.Dirty != (c.want != fault.Whole && c.checked) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if (got.Promises == 1) != c.want.Kept() || len(got.Breaches) > 0 || (got.Words() == "") != got.Mounted {
			t.Errorf("%s: %+v, %q", name, got, got.Words())
		}
	}
	if err := s.Set(held, empty); err != nil {
		t.Fatal(err)
	}
	err := s.Use(t.Context(), s.Disk().Path(), func(string) error { return nil })
	var failure *result.Failure
	if !errors.As(err, &failure) || failure.Outcome != result.SubjectFailed || !strings.Contains(err.Error(), "failed before any fault: mount -t ext4: ") {
		t.Errorf("an empty disk is used: %v", err)
	}
}

// Breaches decide the outcome. They are damage, which is checked if requested; if the check finds
// no errors, nothing is repaired.
func TestExamineDamage(t *testing.T) {
	s, _, held := ext4On(t, true)
	for _, damage := range []bool{false, true} {
		if err := s.Set(held, nil); err != nil {
			t.Fatal(err)
		}
		got, err := s.Examine(t.Context(), func(root string) Found {
			_ = os.Remove(filepath.Join(root, "a"))
			return judgeKept(root)
		}, Tools{Damage: damage})
		if err != nil || got.Outcome != fault.Lost || got.Broken() != 1 || got.Checked != damage || got.Dirty || got.After != 0 {
			t.Errorf("with damage checked %v: %+v, %v", damage, got, err)
		}
	}
}

// A judge that does not return is a hang, after which the stage is unusable.
func TestExamineHang(t *testing.T) {
	s, _, held := ext4On(t, false)
	s.caller.limit = 3 * time.Second // a mount takes milliseconds
	if err := s.Set(held, nil); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	got, err := s.Examine(t.Context(), func(string) Found { <-release; return Found{Promises: 1} }, Tools{Check: true, Damage: true})
	if err != nil || got.Outcome != fault.Hang || !s.Left() || got.Promises != 0 || got.Checked || !strings.HasPrefix(got.Messages[len(got.Messages)-1], "it waits in:\n") && !strings.Contains(got.Words(), "did not return within 3s") {
		t.Errorf("%+v, %v", got, err)
	}
	close(release)
	if err := unix.Unmount(s.Dir, 0); err != nil && !errors.Is(err, unix.EBUSY) {
		t.Error(err)
	}
}

// A kernel that does not support the filesystem says nothing about it.
func TestExamineOnAKernelWithoutIt(t *testing.T) {
	s, _, held := ext4On(t, false)
	s.FS.Name = "nosuchfs"
	if err := s.Set(held, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Examine(t.Context(), judgeKept, Tools{}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("%+v, %v", got, err)
	}
	var failure *result.Failure
	if err := s.Use(t.Context(), s.Disk().Path(), func(string) error { return nil }); !errors.As(err, &failure) || failure.Outcome != result.Unsupported {
		t.Errorf("%v", err)
	}
}
