package workload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/sys/units"
)

// HoldMemory takes memory until at most Size bytes are left for caches, so that a file which is
// written in seconds is still larger than the page cache, as files were on the machines of a study.
// The memory is held until ReleaseMemory, or the end of the trial.
//
// It does so only where the machine is ours alone (a lab guest, whose first process is the agent):
// elsewhere other programs would run out of memory. There, the steps that read report how much the
// cache can hold.
var HoldMemory = Kind{Name: "hold-memory", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if step.Size < leastMemory {
		return Job{}, result.Refuse("", "step %q: at least %s must be left", step.Work, units.Size(leastMemory))
	}
	if !guest.Ours() {
		return Job{Run: func(*Tally) error { return nil }}, nil
	}
	Release()
	if err := env.dropCaches(); err != nil {
		return Job{}, err
	}
	return Job{Run: func(*Tally) error {
		if err := hold(step.Size, memoryLeft); err != nil {
			return err
		}
		return limitUnwritten(dirtyRatio)
	}, After: func() (Extra, error) {
		available, total, err := memoryLeft()
		return Extra{Notes: []result.Note{{Level: result.Info, Text: fmt.Sprintf("%s of %s of memory is left for caches, the rest is held back",
			units.Size(available), units.Size(total))}}}, err
	}}, nil
}}

// FreeMemory frees what HoldMemory took.
var FreeMemory = Kind{Name: "release-memory", Setup: func(context.Context, *Env, scenario.Step) (Job, error) {
	return Job{Run: func(*Tally) error { Release(); return nil }}, nil
}}

// leastMemory is what must be left, in bytes: with 16 MiB a guest's kernel was
// deadlocked on memory once in twenty trials.
const leastMemory = 24 << 20

// holdPiece is how much is taken between two checks of the rest, in bytes.
const holdPiece = 512 << 10

var held struct {
	sync.Mutex
	pieces [][]byte
}

// hold takes memory until no more than left bytes are available, as look finds.
func hold(left int64, look func() (available, total int64, err error)) error {
	for {
		available, _, err := look()
		if err != nil {
			return err
		}
		if available <= left {
			return nil
		}
		// Populated: a guest has no swap.
		piece, err := unix.Mmap(-1, 0, holdPiece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			return fmt.Errorf("holding memory back: %w", err)
		}
		held.Lock()
		held.pieces = append(held.pieces, piece)
		held.Unlock()
	}
}

// dirtyRatio is how much of the memory may be unwritten data, in percent.
const dirtyRatio = "/proc/sys/vm/dirty_ratio"

// limitUnwritten has the kernel limit unwritten data by the memory that is left, as on a machine that never
// had more. By itself it follows that slowly (a 32nd of the difference in 0.2 s, domain_update_dirty_limit in
// mm/page-writeback.c): unwritten data then fills all caches, and the kernel finds no page that it could take
// back. It sets the limit when the ratio changes (dirty_ratio_handler).
func limitUnwritten(ratio string) error {
	text, err := os.ReadFile(ratio)
	if err != nil {
		return fmt.Errorf("the limit of unwritten data: %w", err)
	}
	percent, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("the limit of unwritten data: %w", err)
	}
	if percent == 0 {
		return nil // it is a number of bytes
	}
	for _, n := range []int{percent%100 + 1, percent} {
		if err := os.WriteFile(ratio, []byte(strconv.Itoa(n)), 0); err != nil {
			return fmt.Errorf("the limit of unwritten data: %w", err)
		}
	}
	return nil
}

// Release frees all memory that is held. It may be called at any time.
func Release() {
	held.Lock()
	defer held.Unlock()
	for _, piece := range held.pieces {
		_ = unix.Munmap(piece)
	}
	held.pieces = nil
}
