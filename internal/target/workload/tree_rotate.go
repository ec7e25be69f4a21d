package workload

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// TreeRotate does Count times what an updated device does: it removes the oldest copy of the tree,
// DIR/i, and copies the oldest remaining one, DIR/(i+1), to DIR/(i+Count) by reading and writing;
// then it waits until the filesystem reports everything on storage. DIR/1 to DIR/Count must exist,
// Count at least 2.
var TreeRotate = Kind{Name: "tree-rotate", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if step.Count < 2 {
		return Job{}, result.Refuse("", "step %q: a count of %d; it must be at least 2, so that a copy remains when the oldest is removed", step.Work, step.Count)
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	r := &rotation{target: target, count: step.Count}
	for i := range 2 * step.Count {
		r.names = append(r.names, numbered(i+1))
		r.copies = append(r.copies, join(step.Dir, fmt.Sprint(i+1)))
	}
	r.walk = newWalk("")
	r.within = newWithin("", false)
	return Job{Run: r.run}, nil
}}

type rotation struct {
	target *target
	count  int
	names  [][]byte // of copies 1 to 2·count
	copies []string // their paths, for messages
	walk   *walk
	within *within
}

func (r *rotation) run(t *Tally) error {
	if err := r.target.open(); err != nil {
		return err
	}
	defer r.target.close()
	for i := range r.count {
		oldest, next, last := &r.names[i][0], &r.names[i+1][0], &r.names[i+r.count][0]
		r.walk.base = r.copies[i]
		if err := removeIn(r.walk, r.target.dirFD, oldest, t); err != nil {
			return err
		}
		if errno := unlinkat(r.target.dirFD, oldest, unix.AT_REMOVEDIR); errno != 0 {
			return errOp("rmdir", r.copies[i], errno)
		}
		t.Files++
		r.within.walk.base = r.copies[i+1]
		if err := r.within.copy(r.target.dirFD, next, last, t); err != nil {
			return err
		}
	}
	return r.target.sync()
}
