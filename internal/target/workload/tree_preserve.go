package workload

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
)

// TreePreserve writes Count copies of a tree from memory into DIR/1 to DIR/Count as cp -a does:
// with times, owners, extended attributes and modes, including set-user-ID bits, whatever the
// umask; several names of one file stay hard links. Then it waits until the filesystem reports them
// on storage.
//
// What the filesystem cannot hold is left out and counted as in tree-copy (see plan); rejected
// extended attributes are counted separately.
var TreePreserve = Kind{Name: "tree-preserve", Setup: setupTreePreserve}

// margin is the least overhead of a tree, as a share of its contents: every filesystem needs at
// least that for its own structures.
const margin = 0.02

func setupTreePreserve(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	w, err := newTreeWriter(env, step)
	if err != nil {
		return Job{}, err
	}
	n := copies(step)
	what := fmt.Sprintf("%d copies of the tree %q with a margin of %.0f %% do not fit", n, step.Data, 100*margin)
	if err := room(env, what, int64(float64(n)*(1+margin)*float64(w.plan.written))); err != nil {
		return Job{}, err
	}
	if err := inodes(env, step.Data, int64(n)*w.plan.entries); err != nil {
		return Job{}, err
	}
	if err := w.target.makeDir(); err != nil {
		return Job{}, err
	}
	p := &preserver{treeWriter: *w, owners: !env.lacks().Owners, counts: env.Counts}
	for i := range n {
		p.names = append(p.names, numbered(i+1))
	}
	return Job{Run: p.run, After: func() (Extra, error) { return p.extra(n), nil }}, nil
}

// inodes checks that the filesystem has room for so many entries, if its number of inodes is fixed.
func inodes(env *Env, tree string, need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(env.Mount, &st); err != nil {
		return Subject("statfs: %v", err)
	}
	if st.Files == 0 || need <= int64(st.Ffree) {
		return nil
	}
	return result.Refuse("give a larger --storage, a smaller scale, or more inodes to mkfs",
		"the tree %q does not fit: %d inodes are needed and %d are free", tree, need, st.Ffree)
}

// preserver writes copies of a planned tree with all metadata.
type preserver struct {
	treeWriter
	owners  bool // the filesystem has owners and modes
	times   [2]unix.Timespec
	refused int64 // extended attributes that the filesystem rejected
	counts  bool  // the machine's clock counts instructions
	copied  time.Duration
}

func (p *preserver) run(t *Tally) error {
	if err := p.target.open(); err != nil {
		return err
	}
	defer p.target.close()
	defer p.closeAll()
	start := time.Now()
	for _, name := range p.names {
		if err := p.copy(name, t); err != nil {
			return err
		}
	}
	p.copied = time.Since(start)
	return p.target.sync()
}

func (p *preserver) copy(name []byte, t *Tally) error {
	if op, errno := p.down(p.target.dirFD, &name[0], 0o755); errno != 0 {
		return p.fail(op, name, nil, errno)
	}
	for i := range p.plan.ops {
		o := &p.plan.ops[i]
		dir := p.dirs[p.depth-1]
		var errno unix.Errno
		call := "make"
		switch o.kind {
		case opFile:
			call, errno = p.file(dir, o)
			t.Bytes += int64(len(o.data))
		case opDir:
			// Others may not access it before it is finished.
			call, errno = p.down(dir, o.name, 0o700)
		case opUp:
			p.depth--
			if call, errno = "close", closefd(dir); errno == 0 {
				call, errno = p.directory(p.dirs[p.depth-1], o)
			}
		case opSymlink:
			if call, errno = "symlink", symlinkat(o.target, dir, o.name); errno == 0 {
				call, errno = p.named(dir, o)
			}
			p.refused += int64(len(o.entry.Attributes)) // user attributes are for files and directories
		case opLink:
			call, errno = "link", linkat(p.dirs[0], o.target, dir, o.name)
		}
		if errno != 0 {
			return p.fail(call, name, o.path, errno)
		}
		if o.kind != opUp {
			t.Files++
		}
	}
	p.closeAll()
	return nil
}

// file makes a file with its contents and metadata. The mode comes after the owner: chown clears
// set-user-ID bits.
func (p *preserver) file(dir int, o *op) (string, unix.Errno) {
	fd, errno := openat(dir, o.name, createFlags, 0o600)
	if errno != 0 {
		return "create", errno
	}
	call := "write"
	if errno = writeAll(fd, o.data); errno == 0 {
		call, errno = "set the times of", utimesat(fd, nil, p.timesOf(o.entry))
	}
	if p.owners && errno == 0 {
		call, errno = "chown", fchown(fd, o.entry.UID, o.entry.GID)
	}
	if errno == 0 {
		call, errno = "set an attribute of", p.attributes(fd, o.entry)
	}
	if p.owners && errno == 0 {
		call, errno = "chmod", fchmod(fd, o.mode)
	}
	if errno != 0 {
		_ = closefd(fd)
		return call, errno
	}
	return "close", closefd(fd)
}

// directory finishes a directory: creating entries in it changes its times.
func (p *preserver) directory(parent int, o *op) (string, unix.Errno) {
	if len(o.entry.Attributes) > 0 {
		fd, errno := openat(parent, o.name, listFlags, 0)
		if errno != 0 {
			return "open", errno
		}
		errno = p.attributes(fd, o.entry)
		_ = closefd(fd)
		if errno != 0 {
			return "set an attribute of", errno
		}
	}
	if call, errno := p.named(parent, o); errno != 0 {
		return call, errno
	}
	if !p.owners {
		return "", 0
	}
	return "chmod", chmodat(parent, o.name, o.mode)
}

// named sets times and owner of entries that cannot be opened to set them.
func (p *preserver) named(dir int, o *op) (string, unix.Errno) {
	if errno := utimesat(dir, o.name, p.timesOf(o.entry)); errno != 0 {
		return "set the times of", errno
	}
	if !p.owners {
		return "", 0
	}
	return "chown", chownat(dir, o.name, o.entry.UID, o.entry.GID)
}

func (p *preserver) timesOf(e *memory.Entry) *[2]unix.Timespec {
	p.times[0] = unix.NsecToTimespec(e.Time)
	p.times[1] = p.times[0]
	return &p.times
}

func (p *preserver) attributes(fd int, e *memory.Entry) unix.Errno {
	for i := range e.Attributes {
		a := &e.Attributes[i]
		switch errno := setxattr(fd, &a.Name[0], a.Value); errno {
		case 0:
		case unix.EOPNOTSUPP:
			p.refused++
		default:
			return errno
		}
	}
	return 0
}

// extra is that of the plan, plus the attributes missing from one copy and the
// time before it waited for the storage.
func (p *preserver) extra(n int) Extra {
	x := p.plan.extra()
	left := p.refused / int64(n)
	untimed := ""
	if p.counts {
		untimed = "the clock counts instructions"
	}
	x.Measurements = append(x.Measurements, result.Figure(result.LeftOutAttributes, float64(left)),
		result.FigureOr(result.CopiedAfter, p.copied.Seconds(), untimed))
	if left > 0 {
		x.Notes = append(x.Notes, result.Note{Level: result.Info,
			Text: fmt.Sprintf("in each copy of the tree: %d extended attributes left out, which this filesystem rejects", left)})
	}
	return x
}
