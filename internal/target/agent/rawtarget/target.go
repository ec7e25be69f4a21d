// Package rawtarget is a block device as package probe wants it: every request
// goes past the page cache, alone and at once, and is timed on the monotonic
// clock from just before the system call to just after it.
//
// What disturbs such timings is kept away as far as it can be: requests are
// made by threads of their own, with real-time priority where that is allowed,
// on memory that is there already; the collector of this program only runs
// between requests. Requests larger than the device takes at once (queue/
// max_sectors_kb in sysfs) are cut up by the kernel, as those of any program
// would be.
//
// A device may hang: a request that does not return in time is an error, and
// its thread is left to its fate, since nothing can call it back.
package rawtarget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/probe"
)

var _ probe.Target = (*Target)(nil)

const (
	// MaxRequest is the longest request, in bytes.
	MaxRequest = 64 << 20
	// maxDepth is how many requests can be under way at a time.
	maxDepth = 256
	// slowest is the rate, in bytes per second, that any device that works at
	// all is trusted to keep up: what is allowed on top of Options.Limit for
	// long requests.
	slowest = 256 << 10
)

// Options of Open; the zero value reads.
type Options struct {
	// Writable is the device opened for writing, past the page cache, by whoever
	// has the right to. Open takes it over: closing the device may wait for ever
	// where it hangs, and only the target knows that. nil: the device is opened
	// for reading alone.
	Writable *os.File
	// Limit is how long a request may take before the device counts as
	// hanging, besides what its length needs on the slowest device; default 60 s.
	Limit time.Duration
	// Check is asked after an error whether this is still the same device; nil
	// asks nobody. Its error takes the place of the device's.
	Check func() error
}

// Target is an open device. Its methods are not to be called from several
// goroutines at once.
type Target struct {
	ctx      context.Context
	o        Options
	path     string
	fd       int
	size     int64 // B
	block    int64 // B, of a logical block
	opened   time.Time
	memory   memory
	workers  []*worker
	timer    *time.Timer
	requests uint64
	wrote    bool
	lost     error // a request never returned: nothing works any more
	warnings []string
	collect  int               // the collector's setting before
	heap     [1]metrics.Sample // its size
}

// Open opens a block device. ctx ends pauses. The caller closes the target.
func Open(ctx context.Context, path string, o Options) (*Target, error) {
	if o.Limit <= 0 {
		o.Limit = 60 * time.Second
	}
	var fd int
	var err error
	if o.Writable != nil {
		fd, err = unix.FcntlInt(o.Writable.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		_ = o.Writable.Close() // the copy stays
	} else {
		fd, err = unix.Open(path, unix.O_DIRECT|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &Error{Op: "opening", Device: path, Err: err}
	}
	t := &Target{ctx: ctx, o: o, path: path, fd: fd, timer: time.NewTimer(time.Hour)}
	if t.size, err = sizeOf(fd); err == nil {
		var n int
		n, err = unix.IoctlGetInt(fd, unix.BLKSSZGET)
		t.block = int64(n)
	}
	if err == nil && o.Writable != nil {
		var protected int
		if protected, err = unix.IoctlGetInt(fd, unix.BLKROGET); err == nil && protected != 0 {
			err = unix.EROFS
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, &Error{Op: "opening", Device: path, Err: err}
	}
	if err := t.memory.grow(1 << 20); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	t.workers = []*worker{newWorker()}
	if why := t.workers[0].priority; why != nil {
		t.warnings = append(t.warnings, fmt.Sprintf("real-time priority was refused (%v): other work of this machine can delay single requests", why))
	}
	t.heap[0].Name = "/memory/classes/heap/objects:bytes"
	t.collect = debug.SetGCPercent(-1)
	t.opened = time.Now()
	return t, nil
}

// Wrote says whether anything was asked of the device that changes it.
func (t *Target) Wrote() bool { return t.wrote }

// Warnings are what keeps the timings from being as good as they could be.
func (t *Target) Warnings() []string { return t.warnings }

// Size implements probe.Target.
func (t *Target) Size() int64 { return t.size }

// BlockSize implements probe.Blocks: the device's logical block.
func (t *Target) BlockSize() int64 { return t.block }

// Writable implements probe.Target.
func (t *Target) Writable() bool { return t.o.Writable != nil }

// Elapsed implements probe.Target.
func (t *Target) Elapsed() time.Duration { return time.Since(t.opened) }

// Pause implements probe.Target.
func (t *Target) Pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// Read implements probe.Target.
func (t *Target) Read(offset, length int64) (time.Duration, error) {
	if err := t.prepare(false, offset, length); err != nil {
		return 0, err
	}
	return t.one(request{op: opRead, offset: offset, buffer: t.memory.bytes[:length]})
}

// Write implements probe.Target. The bytes follow from their place and from the
// number of the request, so that writing a place again changes it.
func (t *Target) Write(offset, length int64) (time.Duration, error) {
	if err := t.prepare(true, offset, length); err != nil {
		return 0, err
	}
	b := t.memory.bytes[:length]
	fill(b, offset, t.requests)
	return t.one(request{op: opWrite, offset: offset, buffer: b})
}

// WriteCached implements probe.Cached. What it leaves in the page cache is
// dropped, untimed.
func (t *Target) WriteCached(offset, length, block int64) (time.Duration, error) {
	if block <= 0 {
		return 0, fmt.Errorf("blocks of %d bytes", block)
	}
	if err := t.prepare(true, offset, length); err != nil {
		return 0, err
	}
	// The very device that may be written to, once more without direct I/O; the
	// opening may have met another medium in it.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", t.fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &Error{Op: "opening", Device: t.path, Err: err}
	}
	if t.o.Check != nil {
		if err := t.o.Check(); err != nil {
			return 0, errors.Join(err, unix.Close(fd))
		}
	}
	b := t.memory.bytes[:length]
	fill(b, offset, t.requests)
	t.wrote = true
	d, err := t.one(request{op: opCached, fd: fd, offset: offset, buffer: b, block: int(block)})
	if t.lost != nil { // the request may still be using it
		return d, err
	}
	return d, errors.Join(err, unix.Fadvise(fd, offset, length, unix.FADV_DONTNEED), unix.Close(fd))
}

// Flush implements probe.Target.
func (t *Target) Flush() (time.Duration, error) {
	if err := t.mayWrite(); err != nil {
		return 0, err
	}
	return t.one(request{op: opFlush})
}

// Discard implements probe.Target.
func (t *Target) Discard(offset, length int64) (time.Duration, error) {
	if err := t.mayWrite(); err != nil {
		return 0, err
	}
	if err := t.inside(offset, length); err != nil {
		return 0, err
	}
	d, err := t.one(request{op: opDiscard, offset: offset, span: [2]uint64{uint64(offset), uint64(length)}})
	// A device that promises to discard and then refuses (USB bridges above
	// all) answers with the latter.
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EREMOTEIO) {
		return 0, probe.ErrUnsupported
	}
	return d, err
}

// Load implements probe.Target.
func (t *Target) Load(offset int64, into []byte) error {
	for len(into) > 0 {
		from := offset / t.block * t.block
		skip := offset - from
		length := min((skip+int64(len(into))+t.block-1)/t.block*t.block, 1<<20)
		if _, err := t.Read(from, length); err != nil {
			return err
		}
		n := copy(into, t.memory.bytes[skip:length])
		into, offset = into[n:], offset+int64(n)
	}
	return nil
}

// Store implements probe.Target.
func (t *Target) Store(offset int64, from []byte) error {
	for len(from) > 0 {
		length := min(int64(len(from)), 1<<20)
		if err := t.prepare(true, offset, length); err != nil {
			return err
		}
		b := t.memory.bytes[:length]
		copy(b, from)
		if _, err := t.one(request{op: opWrite, offset: offset, buffer: b}); err != nil {
			return err
		}
		from, offset = from[length:], offset+length
	}
	_, err := t.Flush()
	return err
}

// Close ends the target. What never returned keeps its memory, and the file is
// closed whenever the kernel gets to it.
func (t *Target) Close() error {
	if errors.Is(t.lost, errClosed) {
		return nil
	}
	debug.SetGCPercent(t.collect)
	t.timer.Stop()
	for _, w := range t.workers {
		close(w.todo)
	}
	t.workers = nil
	hung := t.lost != nil
	t.lost = errClosed
	if hung {
		go func(fd int) { _ = unix.Close(fd) }(t.fd) // nobody is there to be told
		return nil
	}
	return errors.Join(t.memory.free(), unix.Close(t.fd))
}

var errClosed = errors.New("the device was closed")

func (t *Target) mayWrite() error {
	if t.o.Writable == nil {
		return &Error{Op: "writing to", Device: t.path, Err: errReadOnly}
	}
	t.wrote = true
	return nil
}

var errReadOnly = errors.New("it was opened for reading alone")

// inside checks that a request can be made at all.
func (t *Target) inside(offset, length int64) error {
	if offset%t.block != 0 || length%t.block != 0 {
		return probe.ErrUnsupported // this device has larger blocks
	}
	if offset < 0 || length <= 0 || offset > t.size-length {
		return fmt.Errorf("a request of %d bytes at offset %d of %s, which has %d", length, offset, t.path, t.size)
	}
	return nil
}

// prepare has memory ready for a request, outside its timing.
func (t *Target) prepare(write bool, offset, length int64) error {
	if write {
		if err := t.mayWrite(); err != nil {
			return err
		}
	}
	if err := t.inside(offset, length); err != nil {
		return err
	}
	if length > MaxRequest {
		return fmt.Errorf("a request of %d bytes; the longest is %d", length, int64(MaxRequest))
	}
	return t.memory.grow(length)
}
