package workload

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The work on one large file is that of Bonnie++ 1.96 to 2.00 (bonnie++.cpp, bon_io.cpp): the same
// calls on pieces of the same size, and each pass ends with fsync and close while the clock runs.
// The differences: the original opens the file before the first pass and closes it with fsync after
// the last one, while here each pass opens it again within its time; and the read-only pass opens
// it for reading and omits the fsync, which would have nothing to write.
//
// The contents are those of the original as well: a piece of zeros with one more byte incremented
// before each write, which compresses to almost nothing. So these passes say little about
// filesystems that compress.

// bigFile is a pass over a file that is laid out.
type bigFile struct {
	target *target
	step   scenario.Step
	buf    []byte
	pieces int64
	lat    latencies
	cached *cached
}

// bigFileName is the name of the file in the step's directory.
var bigFileName = terminated("file")

// defaultPiece is the default size of one read or write, in bytes.
const defaultPiece = 8 << 10

func newBigFile(env *Env, step scenario.Step) (*bigFile, error) {
	t, err := newTarget(env, step)
	if err != nil {
		return nil, err
	}
	if step.Block == 0 {
		step.Block = defaultPiece
	}
	if step.Block < 256 || step.Block > maxWrite || step.Size < step.Block || step.Size%step.Block != 0 {
		return nil, result.Refuse("", "step %q: a file of %d bytes in pieces of %d (whole pieces of 256 bytes to %d)", step.Work, step.Size, step.Block, maxWrite)
	}
	return &bigFile{target: t, step: step, buf: buffer(int(step.Block)), pieces: step.Size / step.Block}, nil
}

// FileWrite writes a file of Size bytes in pieces of Block (8 KiB), until it is on storage.
var FileWrite = Kind{Name: "file-write", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	f, err := newBigFile(env, step)
	if err != nil {
		return Job{}, err
	}
	if limit := env.lacks().MaxFile; limit > 0 && step.Size > limit {
		return Job{}, result.Refuse("use a smaller scale", "a file of %s has at most %d bytes, not %d", env.FS.Name, limit, step.Size)
	}
	if err := room(env, "the file does not fit", step.Size); err != nil {
		return Job{}, err
	}
	if err := f.target.makeDir(); err != nil {
		return Job{}, err
	}
	clear(f.buf)
	return Job{Run: f.pass(createFlags&^unix.O_WRONLY|unix.O_RDWR, f.write), After: f.after}, nil
}}

// FileRewrite reads the file in pieces, changes one byte of each and writes it back, until all is
// on storage. Its amount of data is the size of the file, counted once.
var FileRewrite = Kind{Name: "file-rewrite", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	f, err := newBigFile(env, step)
	if err != nil {
		return Job{}, err
	}
	f.cached = newCached(step)
	return Job{Run: f.pass(readFlags|unix.O_RDWR, f.rewrite), After: f.after}, nil
}}

// FileRead reads the file from start to end in pieces.
var FileRead = Kind{Name: "file-read", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	f, err := newBigFile(env, step)
	if err != nil {
		return Job{}, err
	}
	return Job{Run: f.pass(readFlags, f.read), After: f.after}, nil
}}

// pass opens the file, does one thing to every piece in order, and closes it.
func (f *bigFile) pass(flags int, piece func(fd int, i int64) (string, unix.Errno)) func(*Tally) error {
	return func(t *Tally) error {
		if err := f.target.open(); err != nil {
			return err
		}
		defer f.target.close()
		fd, errno := openat(f.target.dirFD, &bigFileName[0], flags, 0o600)
		if errno != 0 {
			return f.fail("open", errno)
		}
		call := ""
		start := time.Now()
		var at time.Duration
		for i := int64(0); i < f.pieces && errno == 0; i++ {
			if call, errno = piece(fd, i); errno != 0 {
				break
			}
			at = f.lat.lap(start, at)
			t.Bytes += f.step.Block
			t.Ops++
		}
		if flags&unix.O_RDWR != 0 && errno == 0 {
			call, errno = "fsync", flush(fd)
		}
		if closed := closefd(fd); errno == 0 && closed != 0 {
			call, errno = "close", closed
		}
		if errno != 0 {
			return f.fail(call, errno)
		}
		return nil
	}
}

func (f *bigFile) write(fd int, i int64) (string, unix.Errno) {
	f.buf[i%f.step.Block]++
	return "write", writeRaw(fd, f.buf)
}

func (f *bigFile) rewrite(fd int, i int64) (string, unix.Errno) {
	if call, errno := f.read(fd, i); errno != 0 {
		return call, errno
	}
	f.buf[i%f.step.Block]++
	if errno := seekBack(fd, f.step.Block); errno != 0 {
		return "seek", errno
	}
	return "write", writeRaw(fd, f.buf)
}

func (f *bigFile) read(fd int, _ int64) (string, unix.Errno) {
	for have := 0; have < len(f.buf); {
		n, errno := readRaw(fd, f.buf[have:])
		if errno != 0 {
			return "read", errno
		}
		if n == 0 {
			return "read to the end of", unix.ENODATA // shorter than it was written
		}
		have += n
	}
	return "", 0
}

// after syncs what fsync left unwritten (it promises the file, but not all metadata of the
// filesystem), so that the next pass does not pay for it.
func (f *bigFile) after() (Extra, error) {
	if err := f.target.open(); err != nil {
		return Extra{}, err
	}
	defer f.target.close()
	if err := f.target.sync(); err != nil {
		return Extra{}, err
	}
	return Extra{Measurements: f.lat.measurements(), Notes: f.cached.notes()}, nil
}

// flush waits until the file is on storage.
func flush(fd int) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_FSYNC, uintptr(fd), 0, 0)
		if errno != unix.EINTR {
			return errno
		}
	}
}

func (f *bigFile) fail(call string, errno unix.Errno) error {
	return errOp(call, join(f.target.name, string(bigFileName[:len(bigFileName)-1])), errno)
}
