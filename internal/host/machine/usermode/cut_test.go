package usermode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/host/machine/powercut"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

func TestCuts(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	machinetest.Cuts(t, func(t *testing.T, storage string) machine.Cutter {
		return begin(t, m, machine.Spec{Storage: storage, Seed: 1}).(machine.Cutter)
	})
}

// left is everything that cuts left: figures, notes, and the contents of storage that lost something.
type left struct {
	Figures map[string]result.Measurement
	Notes   string
	Files   map[string]string
}

// The same order cuts at the same instants and leaves the same to the last bit, with and without a
// processor, and beside other work on this host; another seed cuts elsewhere, which one of both shows.
// Nothing of the guests is left.
func TestCutsRepeat(t *testing.T) {
	for cpu, m := range map[string]*Machine{"": theLab(t, Options{}), "600MIPS": counting(t)} {
		var p *processor.Profile
		repeats := 2
		if cpu != "" {
			p, repeats = parse(t, cpu), 1
		}
		s := begin(t, m, machine.Spec{Storage: "sim:sd-basic,64M", Seed: 1, Processor: p})
		run := func(seed uint64) left {
			dir := t.TempDir()
			figures, notes := machinetest.Cut(t, s.(machine.Cutter), machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: repeats, Seed: seed, Unsynced: 0.1, Keep: dir})
			l := left{figures, strings.ReplaceAll(notes, dir, "DIR"), map[string]string{}}
			files, err := os.ReadDir(dir)
			must.Do(t, err)
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(dir, f.Name()))
				must.Do(t, err)
				l.Files[f.Name()] = string(text)
			}
			return l
		}
		first := run(7)
		if len(first.Files) != repeats {
			t.Errorf("%d of %d cuts are kept, though a tenth of the operations was not synced", len(first.Files), repeats)
		}
		before := openFiles(t)
		rest := busy(t)
		second := run(7)
		rest()
		if !cmp.Equal(first, second) {
			first.Files, second.Files = nil, nil
			t.Errorf("with processor %q they do not repeat:\n%s", cpu, cmp.Diff(first, second))
		}
		if cpu == "" {
			if third := run(8); cmp.Equal(first.Figures, third.Figures) || first.Notes == third.Notes {
				t.Error("another seed changes nothing")
			}
		}
		if after := openFiles(t); after > before {
			t.Errorf("%d files were open, now %d", before, after)
		}
		must.Do(t, s.Close())
		if n := tree(t, os.Getpid()); len(n) > 0 {
			t.Errorf("processes are left: %v", n)
		}
		nothingInMemory(t)
	}
}

// Cuts that are abandoned leave nothing, either.
func TestAbandonedCuts(t *testing.T) {
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,64M"})
	own := tree(t, os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := s.(machine.Cutter).Cut(ctx, machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 100}, machine.Events{})
		answer <- err
	}()
	var family []int
	wait.Until(t, "the agent of a guest to be cut runs a program", func() bool {
		family = slices.DeleteFunc(tree(t, os.Getpid()), func(pid int) bool { return slices.Contains(own, pid) })
		return slices.ContainsFunc(family, func(kernel int) bool { return len(tree(t, kernel)) >= 2 })
	})
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must.Do(t, s.Close())
	gone(t, slices.Concat(own, family))
	nothingInMemory(t)
}

// tree are the descendants of a process.
func tree(t *testing.T, pid int) (all []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	must.Do(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for word := range strings.FieldsSeq(string(text)) {
			var child int
			_, err := fmt.Sscan(word, &child)
			must.Do(t, err)
			all = append(append(all, child), tree(t, child)...)
		}
	}
	return all
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must.Do(t, err)
	return len(list)
}

// nothingInMemory fails if directories of this process's guests are left.
func nothingInMemory(t *testing.T) {
	t.Helper()
	if names, _ := filepath.Glob(fmt.Sprintf("/dev/shm/whichfs-guest-%d-*", os.Getpid())); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// A filesystem that does not wait for the device loses data it had promised when the device loses
// power, and nothing when only its guest ends at the same instant: that is not a power cut.
func TestCutLosesUnflushedData(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: machinetest.SlowDisk(t), Seed: 1}).(*Session)
	order := machine.Cut{Candidate: parsed.Candidate("ext4 -o nobarrier"), Repeats: 2, Seed: 5}
	for _, powered := range []bool{false, true} {
		cut := cutterFunc(func(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
			return powercut.Run(ctx, order, media.Storage{Kind: media.KindSim, Size: 64 << 20}, func(seed uint64) (powercut.Storage, error) {
				r := s.remains(seed)
				r.powered = powered
				return r, nil
			}, events)
		})
		if f, notes := machinetest.Cut(t, cut, order); (f[result.CutsWithLoss].Value > 0) == powered {
			t.Errorf("powered %v: %v cuts with losses: %s", powered, f[result.CutsWithLoss].Value, notes)
		}
	}
}

type cutterFunc func(context.Context, machine.Cut, machine.Events) (wire.Done, error)

func (f cutterFunc) Cut(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
	return f(ctx, order, events)
}

// A device goes on where it was when a guest with a clock of its own takes it over.
func TestLater(t *testing.T) {
	d := &clocked{}
	l := &later{d, time.Hour}
	if done, err := l.Submit(3*time.Second, flash.Request{}); err != nil || done != 4*time.Second || d.now != time.Hour+3*time.Second {
		t.Errorf("done at %v, sent at %v: %v", done, d.now, err)
	}
	if l.Cut(5 * time.Second); d.now != time.Hour+5*time.Second {
		t.Errorf("cut at %v", d.now)
	}
}

// clocked is a device of which each request takes a second.
type clocked struct {
	flash.Device
	now time.Duration
}

func (c *clocked) Submit(now time.Duration, _ flash.Request) (time.Duration, error) {
	c.now = now
	return now + time.Second, nil
}

func (c *clocked) Cut(now time.Duration) flash.Loss {
	c.now = now
	return flash.Loss{}
}

// What cannot be cut here is said, and nothing is started.
func TestImpossibleCuts(t *testing.T) {
	for storage, want := range map[string]string{
		"nand:64M":     "only guests under QEMU recover it",
		"sim:free,64M": "no cut can interrupt it",
		"ram:64M":      "not a power cut",
	} {
		s := &Session{spec: machine.Spec{Storage: storage}}
		if storage == "sim:free,64M" {
			s.model.Kind = flash.KindFree
		}
		done, err := s.Cut(t.Context(), machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1}, machine.Events{})
		if err != nil || done.Outcome != result.Unsupported || !strings.Contains(done.Reason, want) {
			t.Errorf("%s: %+v, %v", storage, done, err)
		}
	}
}
