package workload

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
)

// The search ends after two sizes if the guess is right, and finds the size
// from any other.
func TestLeastThat(t *testing.T) {
	const unit = fault.BlockSize
	for _, c := range []struct {
		least, guess int64 // in blocks
		tries        int   // at most
	}{
		{75, 75, 2}, {1, 1, 1}, {75, 100, 10}, {99, 100, 10}, {100, 99, 9}, {75, 1, 15}, {1, 75, 10}, {75, 0, 15},
	} {
		tries := 0
		got, err := leastThat(c.guess*unit, func(size int64) (bool, error) {
			tries++
			if size%unit != 0 || size <= 0 {
				t.Errorf("%+v: %d bytes were tried", c, size)
			}
			return size >= c.least*unit, nil
		})
		if err != nil || got != c.least*unit || tries > c.tries {
			t.Errorf("%+v: %d bytes after %d tries, %v", c, got, tries, err)
		}
	}
	if got, err := leastThat(unit, func(int64) (bool, error) { return false, nil }); err == nil {
		t.Errorf("nothing fits, and %d bytes were found", got)
	}
	broken := errors.New("broken")
	if _, err := leastThat(unit, func(int64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// ext4 is found at the sizes of its file, with and without a journal, although
// the guess is wrong.
func TestSmallest(t *testing.T) {
	needs.Devices(t)
	for line, want := range map[string]int64{"ext4": 2 << 20, "ext4 -O ^has_journal": 104 << 10} {
		for _, guess := range []int64{want, 4 << 20} {
			env := makeEnv(t, t.TempDir(), nil)
			c, err := filesystem.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			env.Candidate, env.FS, env.Work = c, c.Filesystem(), t.TempDir()
			env.FS.MinSize = func(filesystem.Candidate) int64 { return guess }
			_, x := must(t, env, Smallest, scenario.Step{})
			figures := map[string]float64{}
			for _, m := range x.Measurements {
				figures[m.Metric] = m.Value
			}
			if figures[result.Smallest] != float64(want) || figures[result.SpaceAvailable] <= 0 || figures[result.SpaceAvailable] >= float64(want) || figures[result.Inodes] < 8 {
				t.Errorf("%s, from %d bytes: %v, want %d bytes", line, guess, figures, want)
			}
			if _, err := os.Stat(filepath.Join(env.Work, "smallest")); err == nil {
				t.Errorf("%s: the mount point is left behind", line)
			}
		}
	}
	// What no disk can hold is a fact that is missing.
	env := makeEnv(t, t.TempDir(), nil)
	c, _ := filesystem.Parse("ext4 -N 99999999999")
	env.Candidate, env.FS, env.Work = c, c.Filesystem(), t.TempDir()
	_, x := must(t, env, Smallest, scenario.Step{})
	if m := x.Measurements[0]; m.Absent == "" || m.Metric != result.Smallest {
		t.Errorf("%+v", x.Measurements)
	}
}

func TestDates(t *testing.T) {
	needs.Devices(t)
	for inode, want := range map[string][2]float64{"256": {1901, 2446}, "128": {1901, 2038}} {
		disk, err := blockdev.NewDisk(16 << 20)
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close() //nolint:errcheck // it disappears with the test
		run(t, "mkfs.ext4", "-q", "-I", inode, disk.Path())
		c, _ := filesystem.Parse("ext4")
		env := makeEnv(t, t.TempDir(), nil)
		env.Candidate, env.FS, env.Device, env.Name = c, c.Filesystem(), disk.Path(), disk.Name()
		call, err := env.mountCall()
		if err != nil {
			t.Fatal(err)
		}
		if err := env.mount(call); err != nil {
			t.Fatal(err)
		}
		_, x := must(t, env, Dates, scenario.Step{})
		if got := [2]float64{x.Measurements[0].Value, x.Measurements[1].Value}; got != want {
			t.Errorf("inodes of %s bytes: %v, want %v", inode, got, want)
		}
		if left, err := os.ReadDir(env.Mount); err != nil || len(left) != 1 || left[0].Name() != "lost+found" {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := env.unmount(call); err != nil {
			t.Error(err)
		}
	}
}

func TestYearOf(t *testing.T) {
	for seconds, want := range map[int64]float64{
		0: 1970, -1 << 31: 1901, 1<<31 - 1: 2038, 3<<32 + 1<<31 - 1: 2446, -1: 1969, 1<<63 - 1: 292277026596,
	} {
		if got := yearOf(seconds); got != want {
			t.Errorf("%d seconds: %v, want %v", seconds, got, want)
		}
	}
}
