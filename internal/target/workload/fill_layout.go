package workload

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// layout describes what fills a directory: copies of a tree in DIR/1, DIR/2 and so on, or the tree
// itself.
type layout struct {
	data   string // name of the tree
	plan   *plan
	names  [][]byte // of the copies, with NUL; nil: the directory is the only copy
	last   []bool   // by step of the plan: whether the last copy has it; nil: all
	files  int64    // number of regular files, each hard link counted
	bytes  int64    // to read through those names
	amount int64    // B of contents to write
}

// wholeLayout is that of n whole copies, or of the tree itself.
func wholeLayout(data string, p *plan, n int, numberedCopies bool) *layout {
	l := &layout{data: data, plan: p, files: int64(n) * p.files, bytes: int64(n) * p.bytes, amount: int64(n) * p.written}
	for i := range n {
		if numberedCopies {
			l.names = append(l.names, numbered(i+1))
		}
	}
	return l
}

// filledLayout is the layout of as many copies as hold goal bytes of contents. The last one has
// every directory and link, and those of its files, in the order of the plan, that still fit: it
// depends only on sizes.
func filledLayout(data string, p *plan, goal int64) *layout {
	whole := int(goal / p.written)
	l := wholeLayout(data, p, whole, true)
	left := goal - l.amount
	if left == 0 {
		return l
	}
	l.names = append(l.names, numbered(whole+1))
	l.last = make([]bool, len(p.ops))
	made := map[*byte]bool{} // first bytes of paths
	for i := range p.ops {
		o := &p.ops[i]
		switch o.kind {
		case opFile:
			if int64(len(o.data)) > left {
				continue
			}
			left -= int64(len(o.data))
			made[&o.path[0]] = true
			l.files++
			l.bytes += int64(len(o.data))
		case opLink:
			if !made[o.target] {
				continue
			}
			l.files++
			l.bytes += int64(len(o.entry.Data))
		}
		l.last[i] = true
	}
	l.amount = goal - left
	return l
}

// has reports whether a copy (from 0) has what a step of the plan makes.
func (l *layout) has(copy, step int) bool {
	return l.last == nil || copy < len(l.names)-1 || l.last[step]
}

// remember records what a step's directory was filled with.
func (env *Env) remember(step scenario.Step, l *layout) {
	if env.filled == nil {
		env.filled = map[string]*layout{}
	}
	env.filled[filepath.Clean(step.Dir)] = l
}

// layoutOf returns what a step's directory holds of the step's tree: what it was filled with in
// this trial, otherwise Count whole copies, or the tree itself if an image was made of it.
func layoutOf(env *Env, step scenario.Step) (*layout, error) {
	if l := env.filled[filepath.Clean(step.Dir)]; l != nil && l.data == step.Data {
		return l, nil
	}
	tree, err := treeOf(env, step)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(tree, env.lacks())
	if err != nil {
		return nil, err
	}
	return wholeLayout(step.Data, p, copies(step), !env.imaged()), nil
}

func (env *Env) imaged() bool { return env.FS.ReadOnly || env.Way.Image() || env.Image != "" }

// storageSize is the size of the device, or of the partition of the chip. The size that the
// filesystem reports differs.
func (env *Env) storageSize() (int64, error) {
	if env.Size > 0 {
		return env.Size, nil
	}
	path, unit := filepath.Join("/sys/class/block", env.Name, "size"), int64(512)
	if env.Raw {
		path, unit = filepath.Join("/sys/class/mtd", env.Name, "size"), 1
	}
	n, err := readNumber(path)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("size of %s: %s says %d, %w", env.Name, path, n, err)
	}
	return n * unit, nil
}

// layOut writes everything, copy by copy.
func (w *treeWriter) layOut(l *layout, t *Tally) error {
	for copy, name := range l.names {
		if call, errno := w.down(w.target.dirFD, &name[0], 0o755); errno != 0 {
			return w.full(call, name, nil, errno, l, t)
		}
		for i := range w.plan.ops {
			if !l.has(copy, i) {
				continue
			}
			o := &w.plan.ops[i]
			if call, errno := w.make(o, false, t); errno != 0 {
				return w.full(call, name, o.path, errno, l, t)
			}
		}
		w.closeAll()
	}
	return nil
}

// full reports how much a filesystem took before it ran out of space.
func (w *treeWriter) full(call string, name, path []byte, errno unix.Errno, l *layout, t *Tally) error {
	err := w.fail(call, name, path, errno)
	if errno == unix.ENOSPC {
		return l.tooMuch(err, t)
	}
	return err
}

func (l *layout) tooMuch(err error, t *Tally) error {
	f := Subject("full after %d of %d bytes of file contents: %v", t.Bytes, l.amount, err)
	f.Hint = "this is a result; a smaller share or a larger partition leaves room"
	return f
}
