package workload

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// TreePipe reads the copy of a tree in DIR/1 as one stream into a pipe, as tar -c DIR | CONSUMER
// does: a block of 512 bytes for every entry, followed by the contents of a file, in records of 10
// KiB that are filled and written one after the other. A separate thread empties the pipe and reads
// every byte of it. A file with several names is read once. If the step names a tree, the copy must
// hold exactly that tree.
//
// Contents are read as GNU tar reads them, into the rest of a record: how well a filesystem handles
// reads of that size is part of the figure. On a read-only filesystem, whose image is the tree
// itself, DIR holds it.
var TreePipe = Kind{Name: "tree-pipe", Setup: setupTreePipe}

// Units of GNU tar (Basic Tar Format in its manual), in bytes.
const (
	tarBlock  = 512
	tarRecord = 20 * tarBlock
)

func setupTreePipe(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, copyOf(env, step))
	if err != nil {
		return Job{}, err
	}
	want, err := wantedOf(env, step)
	if err != nil {
		return Job{}, err
	}
	p := &piper{
		dir: target.dir, walk: newWalk(target.name), names: newNames(env.Trees[step.Data]), link: make([]byte, unix.PathMax),
		record: buffer(tarRecord), drain: newDrainer(), want: want,
	}
	// A job that never runs must leave no thread behind.
	context.AfterFunc(ctx, p.drain.end)
	return Job{Run: p.run, After: func() (Extra, error) { p.drain.end(); return Extra{}, nil }}, nil
}

type piper struct {
	dir    []byte // absolute, with NUL
	walk   *walk
	names  *names
	link   []byte
	st     unix.Stat_t
	record []byte
	used   int // of the record
	pipe   int // the write end
	sent   int64
	drain  *drainer

	files, bytes int64
	want         wanted
}

func (p *piper) run(t *Tally) error {
	var errno unix.Errno
	if p.pipe, errno = p.drain.open(); errno != 0 {
		return &opError{op: "make", path: "pipe", errno: errno}
	}
	err := p.stream(t)
	_ = closefd(p.pipe)
	drained, errno := p.drain.wait()
	switch {
	case errno != 0:
		return &opError{op: "read", path: "pipe", errno: errno}
	case err != nil:
		return err
	case drained != p.sent:
		return fmt.Errorf("%d bytes were read from the pipe, but %d were written to it", drained, p.sent)
	}
	t.Bytes = p.bytes
	return p.want.check(p.files, p.bytes)
}

func (p *piper) stream(t *Tally) error {
	w := p.walk
	defer w.closeAll()
	if err := w.enter(unix.AT_FDCWD, &p.dir[0]); err != nil {
		return err
	}
	for w.depth > 0 {
		name, _, err := w.next()
		if err != nil {
			return err
		}
		if name == nil {
			if err := w.leave(); err != nil {
				return err
			}
			continue
		}
		t.Files++
		if err := p.entry(w.top().fd, name); err != nil {
			return err
		}
	}
	// The end of an archive: two empty blocks, and padding to a full record.
	if errno := p.block(nil); errno != 0 {
		return p.lost(errno)
	}
	if errno := p.block(nil); errno != 0 {
		return p.lost(errno)
	}
	clear(p.record[p.used:])
	p.used = tarRecord
	if errno := p.flush(); errno != 0 {
		return p.lost(errno)
	}
	return nil
}

func (p *piper) entry(dir int, name *byte) error {
	w := p.walk
	if errno := statat(dir, name, &p.st); errno != 0 {
		return w.fail("stat", errno)
	}
	if errno := p.block(w.top().name); errno != 0 {
		return p.lost(errno)
	}
	switch p.st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return w.enter(dir, name)
	case unix.S_IFLNK:
		if _, errno := readlinkat(dir, name, p.link); errno != 0 {
			return w.fail("readlink", errno)
		}
	case unix.S_IFREG:
		p.files++
		if p.st.Nlink > 1 && p.names.first(uint64(p.st.Dev), p.st.Ino, w) != nil { //nolint:unconvert // its width differs by architecture
			return nil
		}
		return p.file(dir, name)
	}
	return nil
}

func (p *piper) file(dir int, name *byte) error {
	fd, errno := openat(dir, name, readFlags, 0)
	if errno != 0 {
		return p.walk.fail("open", errno)
	}
	err := p.contents(fd)
	if errno := closefd(fd); errno != 0 && err == nil {
		return p.walk.fail("close", errno)
	}
	return err
}

// contents reads as many bytes as the file's length promises, into the rest of records.
func (p *piper) contents(fd int) error {
	for left := p.st.Size; left > 0; {
		if p.used == tarRecord {
			if errno := p.flush(); errno != 0 {
				return p.lost(errno)
			}
		}
		room := p.record[p.used:]
		n, errno := readfd(fd, room[:min(int64(len(room)), left)])
		if errno != 0 {
			return p.walk.fail("read", errno)
		}
		if n == 0 {
			return Subject("%q ends %d bytes short of its length", p.walk.path(), left)
		}
		left -= int64(n)
		p.bytes += int64(n)
		p.used += n
	}
	// The rest of the last block is empty.
	whole := (p.used + tarBlock - 1) &^ (tarBlock - 1)
	clear(p.record[p.used:whole])
	p.used = whole
	return nil
}

// block puts an entry's block into the record.
func (p *piper) block(name []byte) unix.Errno {
	if p.used == tarRecord {
		if errno := p.flush(); errno != 0 {
			return errno
		}
	}
	b := p.record[p.used : p.used+tarBlock]
	clear(b[copy(b, name):])
	p.used += tarBlock
	return 0
}

// flush writes a full record.
func (p *piper) flush() unix.Errno {
	p.sent += int64(p.used)
	n := p.used
	p.used = 0
	return writeAll(p.pipe, p.record[:n])
}

// lost is the error of writing into the pipe, for which no filesystem is to blame.
func (p *piper) lost(errno unix.Errno) error {
	return &opError{op: "write", path: "pipe", errno: errno}
}
