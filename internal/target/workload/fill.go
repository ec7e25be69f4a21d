package workload

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Fill writes copies of a tree into DIR/1, DIR/2, … until Share of the filesystem's space is in use
// according to statfs (as in Space), and waits until the filesystem reports them on storage. The
// last copy is partial: whole files, without those that would exceed the share by more than half a
// percent of the space.
//
// Only the filesystem knows how much space a file takes, and some report it only once the file is
// on storage. So half of what is missing is written at a time, and statfs is called again. A
// filesystem that fills up earlier is left in that state, and a warning says so.
var Fill = Kind{Name: "fill", Setup: setupFill}

// As shares of the filesystem's space: how exactly the share is met, and the least that is written
// between two calls of statfs.
const (
	fillWithin = 0.005
	fillAtOnce = 0.005
)

// fillLimit bounds the amount written, as a multiple of what was missing: compression never comes
// near it, while clones of existing data would go on forever without filling anything.
const fillLimit = 64

func setupFill(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if !(step.Share > 0 && step.Share <= 1) {
		return Job{}, result.Refuse("", "step %q: a share of %v; it must be above 0 and at most 1", step.Work, step.Share)
	}
	w, err := newTreeWriter(env, step)
	if err != nil {
		return Job{}, err
	}
	f := &filler{treeWriter: *w}
	if err := unix.Statfs(env.Mount, &f.st); err != nil {
		return Job{}, Subject("statfs: %v", err)
	}
	f.total = f.unit() * int64(f.st.Blocks)
	f.goal = int64(step.Share * float64(f.total))
	f.missing = f.goal - f.used()
	if f.plan.written <= 0 || f.plan.written > f.missing {
		return Job{}, result.Refuse("give a larger --storage, a larger share, or a smaller tree",
			"the tree %q of %d bytes cannot fill the filesystem: %d bytes are missing to %g %% of its space",
			step.Data, f.plan.written, max(0, f.missing), 100*step.Share)
	}
	if err := f.target.makeDir(); err != nil {
		return Job{}, err
	}
	return Job{Run: f.run, After: func() (Extra, error) { return f.extra(step.Share), nil }}, nil
}

// filler writes copies until there is enough.
type filler struct {
	treeWriter
	st                   unix.Statfs_t
	total, goal, missing int64 // B; missing when it began

	number  int // of the current copy
	digits  [20]byte
	name    []byte // of the copy: digits and a NUL
	next    int    // step of the plan
	here    bool   // the copy's directory is open
	wrote   bool   // a file of this copy was written
	skipped bool   // a file of this copy was left out
	stopped bool   // nothing more fits
	full    bool   // the filesystem said so
}

func (f *filler) unit() int64 { return int64(f.st.Bsize) } //nolint:unconvert // 32 bits wide on some processors
func (f *filler) used() int64 { return f.unit() * int64(f.st.Blocks-f.st.Bfree) }

func (f *filler) run(t *Tally) error {
	if err := f.target.open(); err != nil {
		return err
	}
	defer f.target.close()
	defer f.closeAll()
	for !f.stopped {
		left := f.goal - f.used()
		if left <= int64(fillWithin*float64(f.total)) || t.Bytes > fillLimit*f.missing {
			break
		}
		if err := f.write(t, min(left, max(left/2, int64(fillAtOnce*float64(f.total)))), left); err != nil {
			return err
		}
		if err := f.account(); err != nil {
			return err
		}
	}
	return f.account()
}

// account syncs the filesystem and asks how much is in use.
func (f *filler) account() error {
	if err := f.target.sync(); err != nil {
		return err
	}
	if err := unix.Fstatfs(f.target.mountFD, &f.st); err != nil {
		return errOp("statfs", ".", err.(unix.Errno)) //nolint:errorlint,forcetypeassert // an errno as it is
	}
	return nil
}

// write continues the copies until about that much has been written; it begins no file that is
// larger than the rest.
func (f *filler) write(t *Tally, about, left int64) error {
	slack := int64(fillWithin * float64(f.total))
	for about > 0 && !f.stopped {
		if !f.here {
			f.number++
			f.nameCopy()
			if op, errno := f.down(f.target.dirFD, &f.name[0], 0o755); errno != 0 {
				return f.ended(op, nil, errno)
			}
			f.here, f.next, f.wrote, f.skipped = true, 0, false, false
		}
		if f.next == len(f.plan.ops) {
			f.closeAll()
			f.here, f.stopped = false, !f.wrote
			continue
		}
		o := &f.plan.ops[f.next]
		f.next++
		size := int64(len(o.data))
		if o.kind == opFile && size > left+slack {
			f.skipped = true
			continue
		}
		if call, errno := f.make(o, f.skipped, t); errno != 0 {
			return f.ended(call, o, errno)
		}
		if o.kind == opFile {
			f.wrote = true
			size = (size + f.unit() - 1) / f.unit() * f.unit()
			about, left = about-size, left-size
		}
	}
	return nil
}

// ended interprets a failure: no space is the wanted result.
func (f *filler) ended(call string, o *op, errno unix.Errno) error {
	if errno == unix.ENOSPC {
		f.full, f.stopped = true, true
		return nil
	}
	var path []byte
	if o != nil {
		path = o.path
	}
	return f.fail(call, f.name, path, errno)
}

// nameCopy writes the copy's number, with NUL, without allocating.
func (f *filler) nameCopy() {
	i := len(f.digits) - 1
	f.digits[i] = 0
	for n := f.number; n > 0; n /= 10 {
		i--
		f.digits[i] = byte('0' + n%10)
	}
	f.name = f.digits[i:]
}

func (f *filler) extra(share float64) Extra {
	x := f.plan.extra()
	inUse := full(float64(f.used()), float64(f.total))
	x.Measurements = append(x.Measurements, inUse)
	note := func(level result.Level, format string, args ...any) {
		x.Notes = append(x.Notes, result.Note{Level: level, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case f.full:
		note(result.Warning, "the filesystem was full at %.1f %% of its space, before it reached %.1f %%", 100*inUse.Value, 100*share)
	case inUse.Value < share-2*fillWithin:
		note(result.Warning, "%.1f %% of the space is in use instead of %.1f %%: no more of the tree's files fit, or writing them takes no space", 100*inUse.Value, 100*share)
	case inUse.Value > share+2*fillWithin:
		note(result.Warning, "%.1f %% of the space is in use instead of %.1f %%: the files take more than their length", 100*inUse.Value, 100*share)
	}
	return x
}
