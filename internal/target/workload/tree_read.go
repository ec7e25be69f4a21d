package workload

import (
	"context"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// readBuffer is the size of the buffer that reads files of trees, in bytes.
const readBuffer = 256 << 10

// TreeRead reads every byte of every file below DIR, in the order in which the filesystem lists
// them, and every symbolic link. Caches are up to the scenario: a remount beforehand makes the read
// cold. If the step names a tree, DIR must hold exactly what fill-size filled it with, or otherwise
// Count copies of the tree as written by tree-copy.
//
// The comparison that this step comes from used "tar cf /dev/null" for it; GNU tar, however, reads
// no contents when its archive is /dev/null.
var TreeRead = Kind{Name: "tree-read", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	r := &treeReader{dir: target.dir, walk: newWalk(target.name), buf: buffer(readBuffer), link: make([]byte, unix.PathMax)}
	if step.Data != "" {
		l, err := layoutOf(env, step)
		if err != nil {
			return Job{}, err
		}
		r.known, r.wantFiles, r.wantBytes = true, l.files, l.bytes
	}
	return Job{Run: r.run}, nil
}}

type treeReader struct {
	dir       []byte
	walk      *walk
	buf, link []byte

	known                bool
	wantFiles, wantBytes int64
}

func (r *treeReader) run(t *Tally) error {
	w := r.walk
	if err := w.enter(unix.AT_FDCWD, &r.dir[0]); err != nil {
		return err
	}
	defer w.closeAll()
	var files, bytes int64
	for w.depth > 0 {
		name, kind, err := w.next()
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
		dir := w.top().fd
		switch kind {
		case unix.DT_DIR:
			if err := w.enter(dir, name); err != nil {
				return err
			}
		case unix.DT_REG:
			n, call, errno := readFile(dir, name, r.buf)
			if errno != 0 {
				return w.fail(call, errno)
			}
			files++
			bytes += n
			t.Bytes += n
		case unix.DT_LNK:
			if _, errno := readlinkat(dir, name, r.link); errno != 0 {
				return w.fail("readlink", errno)
			}
		}
	}
	if r.known && (files != r.wantFiles || bytes != r.wantBytes) {
		return Subject("%d files with %d bytes were read, but %d files with %d bytes were written", files, bytes, r.wantFiles, r.wantBytes)
	}
	return nil
}

// readFile reads a file to its end and returns its length, or the name of the call that failed.
func readFile(dir int, name *byte, buf []byte) (int64, string, unix.Errno) {
	fd, errno := openat(dir, name, readFlags, 0)
	if errno != 0 {
		return 0, "open", errno
	}
	n, errno := drain(fd, buf)
	if errno != 0 {
		_ = closefd(fd)
		return n, "read", errno
	}
	return n, "close", closefd(fd)
}

// drain reads to the end and returns the number of bytes.
func drain(fd int, buf []byte) (int64, unix.Errno) {
	var sum int64
	for {
		n, errno := readfd(fd, buf)
		if errno != 0 || n == 0 {
			return sum, errno
		}
		sum += int64(n)
	}
}
