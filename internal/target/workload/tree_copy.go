package workload

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// TreeCopy writes Count copies of a tree from memory into DIR/1 to DIR/Count, then waits until the
// filesystem reports them on storage. It does what cp -r does from a directory in memory: modes are
// set at creation (less the umask); owners and times are not set. Unlike cp -r, which would write
// the data again, several names of one file stay hard links where the filesystem supports them. See
// plan for what is left out.
var TreeCopy = Kind{Name: "tree-copy", Setup: setupTreeCopy}

func setupTreeCopy(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	w, err := newTreeWriter(env, step)
	if err != nil {
		return Job{}, err
	}
	n := copies(step)
	what := fmt.Sprintf("%d copies of the tree %q do not fit", n, step.Data)
	if err := room(env, what, int64(n)*w.plan.written); err != nil {
		return Job{}, err
	}
	if err := w.target.makeDir(); err != nil {
		return Job{}, err
	}
	for i := range n {
		w.names = append(w.names, numbered(i+1))
	}
	return Job{Run: w.run, After: func() (Extra, error) { return w.plan.extra(), nil }}, nil
}

// treeWriter writes copies of a planned tree.
type treeWriter struct {
	target *target
	plan   *plan
	names  [][]byte // of the copies
	depth  int      // directories open
	dirs   [maxDepth + 1]int
}

// newTreeWriter plans the step's tree for its directory of the mounted filesystem, and writes
// nothing.
func newTreeWriter(env *Env, step scenario.Step) (*treeWriter, error) {
	tree, err := treeOf(env, step)
	if err != nil {
		return nil, err
	}
	target, err := newTarget(env, step)
	if err != nil {
		return nil, err
	}
	plan, err := newPlan(tree, env.lacks())
	if err != nil {
		return nil, err
	}
	return &treeWriter{target: target, plan: plan}, nil
}

func (w *treeWriter) run(t *Tally) error {
	if err := w.target.open(); err != nil {
		return err
	}
	defer w.target.close()
	defer w.closeAll()
	for _, name := range w.names {
		if err := w.copy(name, t); err != nil {
			return err
		}
	}
	return w.target.sync()
}

// down makes a directory and opens it.
func (w *treeWriter) down(parent int, name *byte, mode uint32) (string, unix.Errno) {
	if errno := mkdirat(parent, name, mode); errno != 0 {
		return "mkdir", errno
	}
	// O_PATH spares the filesystem an open without reads.
	fd, errno := openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errno != 0 {
		return "open", errno
	}
	w.dirs[w.depth] = fd
	w.depth++
	return "", 0
}

func (w *treeWriter) closeAll() {
	for w.depth > 0 {
		w.depth--
		_ = closefd(w.dirs[w.depth])
	}
}

func (w *treeWriter) copy(name []byte, t *Tally) error {
	if op, errno := w.down(w.target.dirFD, &name[0], 0o755); errno != 0 {
		return w.fail(op, name, nil, errno)
	}
	for i := range w.plan.ops {
		o := &w.plan.ops[i]
		if call, errno := w.make(o, false, t); errno != 0 {
			return w.fail(call, name, o.path, errno)
		}
	}
	w.closeAll()
	return nil
}

// writeFile makes a file with this content; it returns the name of the call that failed.
func writeFile(dir int, name *byte, data []byte, mode uint32) (string, unix.Errno) {
	fd, errno := openat(dir, name, createFlags, mode)
	if errno != 0 {
		return "create", errno
	}
	if errno := writeAll(fd, data); errno != 0 {
		_ = closefd(fd)
		return "write", errno
	}
	return "close", closefd(fd)
}

// fail names the path in a copy; both parts end in a NUL, path may be empty.
func (w *treeWriter) fail(call string, name, path []byte, errno unix.Errno) error {
	p := w.target.path(name)
	if len(path) > 1 {
		p = join(p, string(path[:len(path)-1]))
	}
	return errOp(call, p, errno)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
