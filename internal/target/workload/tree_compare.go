package workload

import (
	"bytes"
	"context"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// TreeCompare reads every file and link that was written into DIR, by fill-size, by tree-copy or
// with an image, and compares it with the tree in memory, byte by byte. Damage does not make it
// fail: the damage is its result. It ignores anything else in DIR.
var TreeCompare = Kind{Name: "tree-compare", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	l, err := layoutOf(env, step)
	if err != nil {
		return Job{}, err
	}
	c := &comparer{layout: l, dir: target.dir, name: target.name, buf: buffer(readBuffer), link: make([]byte, unix.PathMax)}
	return Job{Run: c.run, After: func() (Extra, error) { return c.extra(env), nil }}, nil
}}

// comparer keeps its findings, and allocates nothing while it works.
type comparer struct {
	layout    *layout
	dir       []byte // absolute, with NUL
	name      string // below the mount point
	buf, link []byte

	whole  int64
	counts [damageKinds]int64
	told   [damageTold]damage
	n      int // of told

	depth int
	dirs  [maxDepth + 2]level
}

// level is a directory on the path: open, or the reason why not.
type level struct {
	fd    int
	call  string
	errno unix.Errno
}

func (c *comparer) run(t *Tally) error {
	defer c.closeAll()
	c.enter(level{fd: unix.AT_FDCWD}, &c.dir[0])
	if c.layout.names == nil {
		c.copy(0, t)
	}
	for i, name := range c.layout.names {
		c.enter(c.dirs[0], &name[0])
		c.copy(i, t)
		c.leave()
	}
	return nil
}

func (c *comparer) enter(in level, name *byte) {
	p := level{fd: -1, call: in.call, errno: in.errno}
	if in.errno == 0 {
		p.fd, p.errno = openat(in.fd, name, listFlags, 0)
		p.call = "open its directory"
	}
	c.dirs[c.depth] = p
	c.depth++
}

func (c *comparer) leave() {
	c.depth--
	if p := c.dirs[c.depth]; p.errno == 0 {
		_ = closefd(p.fd)
	}
}

func (c *comparer) closeAll() {
	for c.depth > 0 {
		c.leave()
	}
}

func (c *comparer) copy(number int, t *Tally) {
	for i := range c.layout.plan.ops {
		if !c.layout.has(number, i) {
			continue
		}
		o := &c.layout.plan.ops[i]
		in := c.dirs[c.depth-1]
		switch o.kind {
		case opDir:
			c.enter(in, o.name)
			continue
		case opUp:
			c.leave()
			continue
		}
		d := damage{copy: number, path: o.path, call: in.call, errno: in.errno, link: o.kind == opSymlink}
		same := false
		switch {
		case in.errno != 0:
		case o.kind == opSymlink:
			same = c.symlink(in.fd, o, &d)
		default:
			same = c.file(in.fd, o, &d, t)
		}
		t.Files++
		if same {
			c.whole++
			continue
		}
		c.found(&d)
	}
}

func (c *comparer) found(d *damage) {
	switch {
	case d.errno == unix.ENOENT:
		d.kind = fileMissing
	case d.errno != 0:
		d.kind = fileUnreadable
	}
	c.counts[d.kind]++
	if c.n < damageTold {
		c.told[c.n] = *d
		c.n++
	}
}

func (c *comparer) symlink(dir int, o *op, d *damage) bool {
	want := o.entry.Target[:len(o.entry.Target)-1]
	d.want = int64(len(want))
	n, errno := readlinkat(dir, o.name, c.link)
	if d.call, d.errno = "readlink", errno; errno != 0 {
		return false
	}
	d.length, d.at = int64(n), int64(apart(c.link[:n], want))
	return bytes.Equal(c.link[:n], want)
}

// file compares one file. The contents of hard links are those of the entry that they link to.
func (c *comparer) file(dir int, o *op, d *damage, t *Tally) bool {
	want := o.entry.Data
	d.want = int64(len(want))
	fd, errno := openat(dir, o.name, readFlags, 0)
	if d.call, d.errno = "open", errno; errno != 0 {
		return false
	}
	defer closefd(fd) //nolint:errcheck // read only
	same, pos := true, int64(0)
	for {
		n, errno := readfd(fd, c.buf)
		if errno != 0 {
			d.call, d.errno, d.at = "read", errno, pos
			return false
		}
		if n == 0 {
			break
		}
		t.Bytes += int64(n)
		part := want[min(pos, d.want):min(pos+int64(n), d.want)]
		if same && !bytes.Equal(c.buf[:n], part) {
			same, d.at = false, pos+int64(apart(c.buf[:n], part))
		}
		pos += int64(n)
	}
	if same && pos < d.want {
		same, d.at = false, pos
	}
	d.length = pos
	return same
}

// apart is the first offset at which two texts differ.
func apart(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
