package workload

import (
	"context"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// FillSize writes copies of a tree into DIR/1, DIR/2, … until the contents of their files are a
// Share of the size of the storage, and waits until the filesystem reports them on storage. The
// last copy is partial: whole files, as many as fit.
//
// Unlike Fill it does not ask the filesystem how much is in use, so each one gets the same files,
// whatever space they take there. A filesystem that cannot hold them fails, and the failure says
// how much it took: that is a result.
var FillSize = Kind{Name: "fill-size", Setup: setupFillSize}

func setupFillSize(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	w, err := newTreeWriter(env, step)
	if err != nil {
		return Job{}, err
	}
	l, err := env.layoutFor(step, w.plan)
	if err != nil {
		return Job{}, err
	}
	if err := w.target.makeDir(); err != nil {
		return Job{}, err
	}
	env.remember(step, l)
	return Job{
		Run:   func(t *Tally) error { return w.fillSize(l, t) },
		After: func() (Extra, error) { return w.plan.extra(), nil },
	}, nil
}

// layoutFor is the layout that a step fills its directory with.
func (env *Env) layoutFor(step scenario.Step, p *plan) (*layout, error) {
	if !(step.Share > 0 && step.Share <= 1) {
		return nil, result.Refuse("", "step %q: a share of %v; it must be above 0 and at most 1", step.Work, step.Share)
	}
	size, err := env.storageSize()
	if err != nil {
		return nil, err
	}
	goal := int64(step.Share * float64(size))
	if p.written <= 0 || goal/p.written > 1_000_000 {
		return nil, result.Refuse("", "the tree %q has %d bytes of file contents, too few to fill %d bytes with", step.Data, p.written, goal)
	}
	l := filledLayout(step.Data, p, goal)
	if l.amount == 0 {
		return nil, result.Refuse("give a larger share, or a larger partition",
			"no file of the tree %q fits into %d bytes, %g %% of the storage", step.Data, goal, 100*step.Share)
	}
	return l, nil
}

func (w *treeWriter) fillSize(l *layout, t *Tally) error {
	if err := w.target.open(); err != nil {
		return err
	}
	defer w.target.close()
	defer w.closeAll()
	if err := w.layOut(l, t); err != nil {
		return err
	}
	switch errno := syncfs(w.target.mountFD); errno {
	case 0:
		return nil
	case unix.ENOSPC: // reported late, by delayed allocation
		return l.tooMuch(errOp("syncfs", ".", errno), t)
	default:
		return errOp("syncfs", ".", errno)
	}
}
