// Package rawtarget is a block device for package probe: every request bypasses the page cache, is
// issued alone and at once, and is timed on the monotonic clock from just before the system call to
// just after it.
//
// It avoids disturbing such timings as far as possible: requests are made by dedicated threads,
// with real-time priority where that is allowed, on preallocated memory; this program's garbage
// collector only runs between requests. The kernel splits requests larger than the device accepts
// (queue/max_sectors_kb in sysfs), like those of any program.
//
// A device may hang: a request that does not return in time is an error, and its thread is
// abandoned, since a request cannot be cancelled.
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
	// maxDepth is the largest number of requests in flight.
	maxDepth = 256
	// slowest is the rate, in bytes per second, that any working device reaches: long requests are
	// allowed correspondingly more time than Options.Limit.
	slowest = 256 << 10
)

// Options of Open; the zero value reads.
type Options struct {
	// Writable is the device opened for writing, bypassing the page cache, by the holder of the
	// right to write. Open takes ownership: closing a hung device may block forever, and only the
	// target knows that it hangs. nil: the device is opened for reading only.
	Writable *os.File
	// Limit is how long a request may take before the device counts as hanging, in addition to the
	// time that its length needs on the slowest device; default 60 s.
	Limit time.Duration
	// Check is called after an error and verifies that this is still the same device; nil: no
	// check. Its error replaces the device's.
	Check func() error
}

// Target is an open device. Its methods must not be called concurrently.
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
	collect  int               // the garbage collector's previous setting
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
		_ = o.Writable.Close() // the copy stays open
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
		t.warnings = append(t.warnings, fmt.Sprintf("real-time priority was refused (%v): other work on this machine can delay single requests", why))
	}
	t.heap[0].Name = "/memory/classes/heap/objects:bytes"
	t.collect = debug.SetGCPercent(-1)
	t.opened = time.Now()
	return t, nil
}

// Wrote reports whether any request could have changed the device.
func (t *Target) Wrote() bool { return t.wrote }

// Warnings are reasons why the timings are not as good as they could be.
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

// Write implements probe.Target. The bytes depend on their place and on the number of the request,
// so that writing a place again changes it.
func (t *Target) Write(offset, length int64) (time.Duration, error) {
	if err := t.prepare(true, offset, length); err != nil {
		return 0, err
	}
	b := t.memory.bytes[:length]
	fill(b, offset, t.requests)
	return t.one(request{op: opWrite, offset: offset, buffer: b})
}

// WriteCached implements probe.Cached. The pages that it leaves in the page cache are dropped,
// untimed.
func (t *Target) WriteCached(offset, length, block int64) (time.Duration, error) {
	if block <= 0 {
		return 0, fmt.Errorf("blocks of %d bytes", block)
	}
	if err := t.prepare(true, offset, length); err != nil {
		return 0, err
	}
	// The same device that may be written to, opened again without direct I/O; the open may have
	// found another medium in it.
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
	// A device that advertises discard and then rejects it (above all USB bridges) answers with the
	// latter.
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

// Close ends the target. A request that never returned keeps its memory, and the file is closed
// whenever the kernel gets to it.
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
		go func(fd int) { _ = unix.Close(fd) }(t.fd) // the error has no reader
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

var errReadOnly = errors.New("it was opened for reading only")

// inside checks that a request is possible at all.
func (t *Target) inside(offset, length int64) error {
	if offset%t.block != 0 || length%t.block != 0 {
		return probe.ErrUnsupported // this device has larger blocks
	}
	if offset < 0 || length <= 0 || offset > t.size-length {
		return fmt.Errorf("a request of %d bytes at offset %d of %s, which has %d", length, offset, t.path, t.size)
	}
	return nil
}

// prepare allocates the memory of a request, outside its timing.
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
