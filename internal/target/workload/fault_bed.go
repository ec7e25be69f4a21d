package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// bed is the disk that a step's faults happen on: a disk in memory with a filesystem of the
// candidate, made once and restored before each iteration.
//
// The disk is as small as possible, because restoring and checking it take time: the least that the
// filesystem can be made on plus four times the data, at least 64 MiB, and never more than the
// storage under test. That leaves room for the copies, logs and reserves of filesystems that never
// write in place.
type bed struct {
	ctx     context.Context
	env     *Env
	options []string // all that it is mounted with
	size    int64
	stage   *aftermath.Stage   // nil: closed
	stages  int                // made so far
	image   fault.Image        // the start of each iteration: as mkfs left it
	fresh   *blockdev.Contents // the same, ready to use
	tally   *aftermath.Tally
}

// faultPatience: the slowest calls observed, under emulation, take five seconds. Tests of hangs use
// less.
var faultPatience = aftermath.Patience{Call: 45 * time.Second, Tool: 2 * time.Minute}

// leastBed is the size of the smallest disk, in bytes.
const leastBed = 64 << 20

func bedSize(least, data, storage int64) (int64, error) {
	size := max(least+4*data, leastBed) + 1<<20 - 1
	size -= size % (1 << 20)
	if storage > 0 {
		size = min(size, storage&^4095)
	}
	if size < max(least, data) {
		return 0, result.Refuse("give a larger --storage, or a smaller scale",
			"a disk in memory of %d bytes, as large as the storage, is too small for the filesystem (%d) or the data (%d)", size, least, data)
	}
	return size, nil
}

// unfit says why faults cannot be made with a filesystem; "" where they can.
func (env *Env) unfit() string {
	switch {
	case env.Raw:
		return "faults need a block device, and this is raw flash"
	case env.FS.ReadOnly || env.FS.Make == nil:
		return "nothing is written to " + env.FS.Title
	case env.Candidate.Forgets() != "":
		return env.Candidate.Forgets()
	}
	return ""
}

// absentCase is the job of a case that cannot be tried.
func absentCase(why string) Job { return Job{Absent: why, AbsentMetrics: []string{fault.Tried}} }

// newBed makes a disk for size bytes of data, with a filesystem on it. mapped: another device will
// be stacked on it.
func newBed(ctx context.Context, env *Env, step scenario.Step, data int64, mapped bool) (*bed, error) {
	if err := LoadForFaults(env.Modules, env.Candidate); err != nil {
		return nil, err
	}
	if mapped {
		if err := blockdev.Missing(); err != nil {
			return nil, err
		}
	}
	storage, err := env.storageSize()
	if err != nil {
		return nil, err
	}
	least := env.FS.MinSize(env.Candidate)
	b := &bed{ctx: ctx, env: env, options: append(env.mountOptions(), step.Options...), tally: aftermath.NewTally(step.Seed)}
	if b.size, err = bedSize(least, data, storage); err != nil {
		return nil, err
	}
	if err := b.newStage(); err != nil {
		return nil, err
	}
	if err = runTool(ctx, env.FS.Make(env.Candidate, b.stage.Disk().Path())); err == nil {
		b.image, b.fresh, err = b.stage.Contents()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bed) newStage() (err error) {
	b.stages++
	b.stage, err = aftermath.NewStage(aftermath.Settings{FS: b.env.FS, Options: b.options, Size: b.size,
		Dir: filepath.Join(b.env.Work, fmt.Sprintf("fault-%d", b.stages)), Patience: faultPatience, Alone: true})
	return err
}

// restore gives the disk these contents, except for some blocks. It makes a new disk if a call on
// the last one hangs.
func (b *bed) restore(c *blockdev.Contents, changed []states.Block) error {
	if b.stage.Left() {
		b.close()
		if err := b.newStage(); err != nil {
			return fmt.Errorf("a new disk in memory to replace one that hangs: %w", err)
		}
	}
	if err := b.stage.Set(c, changed); err != nil {
		return fmt.Errorf("restoring a disk in memory: %w", err)
	}
	return nil
}

// close may be called more than once.
func (b *bed) close() {
	if b.stage == nil {
		return
	}
	b.env.Hung = b.env.Hung || b.stage.Left()
	_ = b.stage.Close()
	b.stage = nil
}

// judge records the state of the filesystem on the disk, of which its own tool checks every one,
// even where nothing seems to be wrong. number is that of the iteration, from 1.
func (b *bed) judge(number int, judge aftermath.Judge) error {
	s, err := b.stage.Examine(b.ctx, judge, aftermath.Tools{Check: true, Damage: true})
	if err == nil {
		b.tally.Count(number, s)
	}
	return err
}

// chance is the source of random draws of an iteration, for one purpose.
func chance(seed uint64, number int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(number)<<8|purpose))
}

// job does the iterations of a step.
func (b *bed) job(step scenario.Step, one func(number int) error) Job {
	return Job{Simulates: true, Run: func(t *Tally) error {
		err := b.repeat(copies(step), one)
		t.Ops = b.tally.Iterations()
		return err
	}, After: func() (Extra, error) {
		return Extra{Measurements: b.tally.Measurements(), Notes: b.tally.Notes()}, nil
	}}
}

// timeShare is the share of a step's time after which no more iterations begin: a step that ends
// early keeps its results; one that is killed loses them.
const timeShare = 0.85

// repeat runs count iterations, or as many as the step's time allows. Errors are those of our own
// machinery, or of a filesystem before any fault.
func (b *bed) repeat(count int, one func(number int) error) (err error) {
	// The meter has turned the collector off, and this code allocates a lot.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	defer b.close()
	start := time.Now()
	deadline, limited := b.ctx.Deadline()
	for number := 1; number <= count; number++ {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		if limited && number > 1 && time.Since(start) > time.Duration(timeShare*float64(deadline.Sub(start))) {
			b.tally.Note(fmt.Sprintf("%d of %d iterations were done before the step's time ended", number-1, count))
			break
		}
		err := one(number)
		var hung *aftermath.Hung
		switch {
		case errors.As(err, &hung):
			b.tally.Count(number, aftermath.Hanging(hung))
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		case err != nil:
			return fmt.Errorf("iteration %d (seed %d): %w", number, b.tally.Seed, err)
		}
	}
	return nil
}

// LoadForFaults loads a candidate's driver and the modules for devices that record and corrupt. What is for another
// processor is skipped.
func LoadForFaults(m *Modules, c filesystem.Candidate) error {
	if err := LoadFor(m, blockdev.Needs()...); err != nil {
		return err
	}
	env := &Env{Candidate: c, FS: c.Filesystem()}
	for _, name := range env.driver() {
		if err := LoadFor(m, name); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
	}
	return nil
}
