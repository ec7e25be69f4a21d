package workload

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// PowerCut writes, replaces and removes files as SyncFiles does, and cuts the power, Count times:
// on a disk in memory, mounted with the candidate's options and Options, where every request of the
// filesystem is recorded. Size is how much the files may take together (512 KiB); Seed determines
// every random draw.
//
// A cut is at a random place of the record, after the first promise; each place between two
// requests is equally likely. Everything that the device had been told to make durable is there. Of
// the other writes it had received, nothing is there, or all but the end of the last write, or any
// subset (states.Remains). To save time, five cuts are made of one recorded run, each at its own
// place and with its own remains.
//
// A promise is made when fsync of a file and then of its directory have returned. On a filesystem
// mounted with sync, files are not synced in addition; with dirsync, the directory is not: the
// option makes the promise.
//
// Then the remains are mounted and judged as in SyncVerify.
//
// With Fault "kill" the processor is reset, as by a watchdog, and the device keeps its power: what
// was sent to it is there, and what the kernel had not sent is lost. The disk is copied after a
// random system call of a random operation.
var PowerCut = Kind{Name: fault.PowerCut, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return absentCase(why), nil
	}
	if step.Size == 0 {
		step.Size = cutSpace
	}
	if step.Fault != "" && step.Fault != fault.Kill {
		return Job{}, result.Refuse("", "step %q: unknown fault %q", step.Work, step.Fault)
	}
	if _, err := newSyncPlan(step); err != nil {
		return Job{}, err
	}
	b, err := newBed(ctx, env, step, step.Size+cutOpsMost*syncMost/8, true)
	if err != nil {
		return Job{}, err
	}
	c := &cutting{bed: b, step: step}
	return b.job(step, c.one), nil
}}

const (
	cutSpace = 512 << 10
	cutDir   = "files"
	// cutOpsLeast and cutOpsMost are how many operations a run has, both included.
	cutOpsLeast, cutOpsMost = 24, 56
	// cutsPerRun is the number of cuts per recorded run.
	cutsPerRun = 5
	// cutLogMost is the largest size of a record, in bytes.
	cutLogMost = 128 << 20
)

// cutting is a step of power cuts.
type cutting struct {
	*bed
	step scenario.Step
	run  *cutRun
}

// cutRun is a recorded run.
type cutRun struct {
	step     scenario.Step // as the verifier needs it: with the run's seed
	log      writelog.Log  // up to the last operation
	progress aftermath.Progress
	points   []int // where it is cut, ascending
	maker    *states.Maker
	kills    []kill // instead of a log, in order
}

// kill is a reset: the operation during which it happens, the number of its system calls before it,
// how many operations had returned, and the contents of the disk then.
type kill struct {
	op, call int
	acked    int
	disk     *blockdev.Contents
}

// callsMost is the number of system calls of the longest operation, before the last (syncWriter.do).
const callsMost = 4

// one makes one cut.
func (c *cutting) one(number int) error {
	turn := (number - 1) % cutsPerRun
	if turn == 0 || c.run == nil {
		c.run = nil
		run, err := c.record(number)
		if err != nil {
			return err
		}
		c.run = run
	}
	run, step := c.run, c.run.step
	var err error
	if c.step.Fault == fault.Kill {
		step.Ops = run.kills[turn].acked
		err = c.restore(run.kills[turn].disk, nil)
	} else {
		point := run.points[turn]
		_, step.Ops = run.progress.At(point)
		changed, _ := run.maker.Make(states.Remains(chance(c.step.Seed, number, 2), run.log, point))
		err = c.restore(c.fresh, changed)
	}
	if err != nil {
		return err
	}
	return c.judge(number, func(root string) aftermath.Found {
		return verifySynced(filepath.Join(root, cutDir), step, c.env.FS.Name)
	})
}

// record performs a run and draws the places of its cuts.
func (c *cutting) record(number int) (*cutRun, error) {
	r := chance(c.step.Seed, number, 1)
	run := &cutRun{step: c.step}
	run.step.Seed, run.step.Dir = r.Uint64(), ""
	ops := cutOpsLeast + r.IntN(cutOpsMost-cutOpsLeast+1)
	if err := c.restore(c.fresh, nil); err != nil {
		return nil, err
	}
	if c.step.Fault == fault.Kill {
		for range cutsPerRun { // after the first promise
			run.kills = append(run.kills, kill{op: 2 + r.IntN(ops-1), call: 1 + r.IntN(callsMost)})
		}
		slices.SortFunc(run.kills, func(a, b kill) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.call, b.call)) })
	}
	var err error
	run.log, err = c.stage.Record(c.ctx, cutLogMost, false, func(root string, mark func(string) error) error { return c.write(root, mark, run, ops) })
	if err != nil || c.step.Fault == fault.Kill {
		return run, err
	}
	run.progress = aftermath.ReadMarks(run.log)
	last := len(run.log.Entries)
	if _, acked := run.progress.At(last); acked != ops {
		return nil, fmt.Errorf("the record of %d operations has marks for %d", ops, acked)
	}
	first := sort.Search(last, func(point int) bool { _, acked := run.progress.At(point); return acked > 0 })
	for range cutsPerRun {
		run.points = append(run.points, first+r.IntN(last-first+1))
	}
	slices.Sort(run.points)
	run.maker = states.NewMaker(c.image, run.log)
	return run, nil
}

// write performs a number of operations, and marks each whose survival is promised.
func (c *cutting) write(root string, mark func(string) error, run *cutRun, ops int) error {
	plan, err := newSyncPlan(run.step)
	if err != nil {
		return err
	}
	w := syncWriter{plan: plan, dir: filepath.Join(root, cutDir), buf: make([]byte, syncMost+8),
		syncsFiles: slices.Contains(c.options, "sync"), syncsDirs: slices.Contains(c.options, "dirsync")}
	// The resets come in order, and one whose operation has fewer calls comes at the end of it.
	op, calls, done := 1, 0, 0
	copyDisk := func(ended bool) error {
		for ; done < len(run.kills) && run.kills[done].op == op && (ended || run.kills[done].call <= calls); done++ {
			_, disk, err := c.stage.Contents()
			if err != nil {
				return err
			}
			run.kills[done].disk, run.kills[done].acked = disk, op-1
			if ended {
				run.kills[done].acked = op
			}
		}
		return nil
	}
	w.called = func() error {
		calls++
		return copyDisk(false)
	}
	w.safe = func(n int64) error {
		if err := copyDisk(true); err != nil {
			return err
		}
		op, calls = int(n)+1, 0
		return mark(aftermath.End(n))
	}
	dir, err := newDir(w.dir)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // read only
	var t Tally
	for range ops {
		if err := w.do(dir, &t); err != nil {
			return err
		}
	}
	return nil
}

// newDir makes a durable directory and opens it.
func newDir(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, Subject("mkdir: %v", cause(err))
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, Subject("open a directory: %v", cause(err))
	}
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		_ = dir.Close()
		return nil, Subject("syncfs: %v", err)
	}
	return dir, nil
}
