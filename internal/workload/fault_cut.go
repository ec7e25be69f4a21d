package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// PowerCut writes, replaces and removes files as SyncFiles does, and cuts the
// power, Count times: on a disk in memory, mounted with the candidate's options
// and Options, below which all that the filesystem sends is recorded. Size is
// how much the files may take together (512 KiB), Seed draws everything.
//
// A cut is at a random place of the record, behind the first promise; each
// place between two requests is as likely. What the device had been told to make
// durable is there. Of what it had been sent besides, nothing is there after a
// third of the cuts; after a third all of it but a part of the last; after a
// third any of it, each request by the toss of a coin: a device's cache is
// written out in any order. Five cuts are made of one recorded run, each at its
// own place, which saves time; each has its own remains.
//
// A promise is given when fsync of a file and then of its directory return. On a
// filesystem mounted with sync files are not synced besides, with dirsync the
// directory is not: the option promises it.
//
// Then what is left is mounted and judged as SyncVerify does it.
//
// With Fault "kill" nothing that was sent is lost: the disk is copied behind a
// random operation. It is the control that must not lose anything, whatever the
// options, since a machine that dies is no power cut.
var PowerCut = Kind{Name: "power-cut", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return Job{Absent: why}, nil
	}
	if step.Size == 0 {
		step.Size = cutSpace
	}
	if step.Fault != "" && step.Fault != cutKill {
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
	return Job{Simulates: true, Run: func(t *Tally) error {
		err := b.repeat(copies(step), c.one)
		t.Ops = int64(b.tally.tried)
		return err
	}, After: b.tally.extra}, nil
}}

const (
	cutSpace = 512 << 10
	cutKill  = "kill"
	cutDir   = "files"
	// cutOpsLeast and cutOpsMost are how many operations a run has, both included.
	cutOpsLeast, cutOpsMost = 24, 56
	// cutsPerRun is how many cuts are made of one recorded run.
	cutsPerRun = 5
	// cutLogMost is how much of a run is recorded, in bytes.
	cutLogMost = 128 << 20
)

// cutting is a step of power cuts.
type cutting struct {
	*bed
	step scenario.Step
	run  *cutRun
}

// cutRun is a run that was recorded.
type cutRun struct {
	step   scenario.Step // as the verifier wants it: with the run's seed
	log    writelog.Log
	marks  []int // index of the entry that is the mark of operation 1, 2, …
	points []int // where it is cut, ascending
	maker  *states.Maker
	kills  []kill // in place of log, marks and points
}

// kill is what a disk held behind an operation.
type kill struct {
	after int
	disk  *blockdev.Contents
}

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
	if c.step.Fault == cutKill {
		step.Ops = run.kills[turn].after
		err = c.restore(run.kills[turn].disk, nil)
	} else {
		point := run.points[turn]
		step.Ops = sortedBefore(run.marks, point)
		all := states.State{Point: point, Kept: states.Volatile(run.log, point)}
		changed, _ := run.maker.Make(remains(chance(c.step.Seed, number, 2), run.log, all))
		err = c.restore(c.fresh, changed)
	}
	if err != nil {
		return err
	}
	c.judge(number, func(root string) found { return verifySynced(filepath.Join(root, cutDir), step, c.env.FS.Name) })
	return nil
}

// sortedBefore is how many of ascending numbers are below n.
func sortedBefore(ascending []int, n int) int {
	i, _ := slices.BinarySearch(ascending, n)
	return i
}

// chance is what is drawn in an iteration, for one purpose.
func chance(seed uint64, number int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(number)<<8|purpose))
}

// remains draws what of the volatile writes has reached the medium. s has all of
// them.
func remains(r *rand.Rand, l writelog.Log, s states.State) states.State {
	switch all := s.Kept; r.IntN(3) {
	case 0:
		s.Kept = nil
	case 1:
		if len(all) == 0 {
			break
		}
		last := all[len(all)-1]
		if n := int(l.Entries[last].Sectors); n > 1 {
			s.Torn = &states.Torn{Entry: last, Sectors: 1 + r.IntN(n-1)}
		} else {
			s.Kept = all[:len(all)-1]
		}
	default:
		s.Kept = nil
		for _, entry := range all {
			if r.IntN(2) == 0 {
				s.Kept = append(s.Kept, entry)
			}
		}
	}
	return s
}

// record carries out a run and draws where it is cut.
func (c *cutting) record(number int) (*cutRun, error) {
	r := chance(c.step.Seed, number, 1)
	run := &cutRun{step: c.step}
	run.step.Seed, run.step.Dir = r.Uint64(), ""
	ops := cutOpsLeast + r.IntN(cutOpsMost-cutOpsLeast+1)
	if err := c.restore(c.fresh, nil); err != nil {
		return nil, err
	}
	if c.step.Fault == cutKill {
		for range cutsPerRun {
			run.points = append(run.points, 1+r.IntN(ops))
		}
		slices.Sort(run.points)
	}
	recorder, err := blockdev.Record(c.disk, cutLogMost)
	if err != nil {
		return nil, err
	}
	err = errors.Join(c.write(recorder, run, ops), recorder.Close())
	if err != nil || c.step.Fault == cutKill {
		return run, err
	}
	if run.marks, err = marksOf(run.log, ops); err != nil {
		return nil, err
	}
	first := run.marks[0] + 1
	for range cutsPerRun {
		run.points = append(run.points, first+r.IntN(len(run.log.Entries)-first+1))
	}
	slices.Sort(run.points)
	run.maker = states.NewMaker(c.image, run.log)
	return run, nil
}

// marksOf are the indices of the marks of so many operations.
func marksOf(l writelog.Log, ops int) ([]int, error) {
	var marks []int
	for i, e := range l.Entries {
		if e.Flags&writelog.Mark != 0 && string(e.Data) == strconv.Itoa(len(marks)+1) {
			marks = append(marks, i)
		}
	}
	if len(marks) != ops {
		return nil, fmt.Errorf("the record of %d operations has the marks of %d in their order", ops, len(marks))
	}
	return marks, nil
}

// write does so many operations on what a recorder passes on to the disk, and
// takes the record up to the last of them.
func (c *cutting) write(recorder *blockdev.Recorder, run *cutRun, ops int) error {
	root, err := c.mountFresh(recorder.Path())
	if err != nil {
		return err
	}
	plan, err := newSyncPlan(run.step)
	if err != nil {
		return err
	}
	w := syncWriter{plan: plan, dir: filepath.Join(root, cutDir), buf: make([]byte, syncMost+8),
		syncsFiles: slices.Contains(c.options, "sync"), syncsDirs: slices.Contains(c.options, "dirsync")}
	w.safe = func(n int64) error {
		for len(run.kills) < len(run.points) && run.points[len(run.kills)] == int(n) {
			_, disk, err := c.contents()
			if err != nil {
				return err
			}
			run.kills = append(run.kills, kill{after: int(n), disk: disk})
		}
		return recorder.Mark(strconv.FormatInt(n, 10))
	}
	err = c.call("writing files", func() error {
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
	})
	if errors.As(err, new(errHung)) {
		return err
	}
	if err == nil {
		run.log, err = recorder.Log()
	}
	return errors.Join(err, c.unmount(root))
}

// newDir makes a directory that is kept, and opens it.
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

// verifySynced compares a directory with what was written to it until operation
// Ops of a step.
func verifySynced(dir string, step scenario.Step, fs string) found {
	v := &syncVerifier{dir: dir, step: step, buf: make([]byte, syncMost+8), fs: fs}
	v.verify()
	return found{promises: v.expected + v.returned, broken: len(v.losses), losses: v.losses, readOnly: v.readOnly}
}
