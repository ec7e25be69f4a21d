package rawtarget

import (
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Error is a failure of the device: the failed request and the system's error.
type Error struct {
	Op             string // "reading", "writing", "flushing", "discarding", "opening"
	Device         string
	Offset, Length int64 // B; not used if Length is 0
	Err            error
	Also           string // findings made afterwards
}

func (e *Error) Error() string {
	where := e.Device
	if e.Length > 0 {
		where = fmt.Sprintf("%d bytes at offset %d of %s", e.Length, e.Offset, e.Device)
	}
	text := fmt.Sprintf("%s %s: %v", e.Op, where, e.Err)
	if e.Also != "" {
		text += "; " + e.Also
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// ErrHangs is wrapped by the error of a request that did not return.
var ErrHangs = errors.New("the device hangs")

var words = map[op]string{opRead: "reading", opWrite: "writing", opFlush: "flushing", opDiscard: "discarding", opCached: "writing through the page cache"}

// one has the first worker make one request, and waits for it.
func (t *Target) one(r request) (time.Duration, error) {
	if t.lost != nil {
		return 0, t.lost
	}
	t.collectGarbage()
	t.requests++
	if r.op != opCached {
		r.fd = t.fd
	}
	limit := t.limit(r.length())
	if r.op == opDiscard {
		limit = 10 * t.o.Limit // some erase for minutes
	}
	t.timer.Reset(limit)
	w := t.workers[0]
	w.todo <- r
	select {
	case a := <-w.done:
		if a.err != nil || a.n != len(r.buffer) {
			return 0, t.failed(r, a)
		}
		return a.ended.Sub(a.began), nil
	case <-t.timer.C:
		return 0, t.hangs(r, limit)
	}
}

func (r *request) length() int64 {
	if r.op == opDiscard {
		return int64(r.span[1]) //nolint:gosec // it was an int64
	}
	return int64(len(r.buffer))
}

// limit is how long a request of a given length may take.
func (t *Target) limit(length int64) time.Duration {
	return t.o.Limit + time.Duration(length)*time.Second/slowest
}

func (t *Target) hangs(r request, limit time.Duration) error {
	t.lost = &Error{Op: words[r.op], Device: t.path, Offset: r.offset, Length: r.length(),
		Err: fmt.Errorf("no answer within %.3g s: %w", limit.Seconds(), ErrHangs)}
	return t.lost
}

// failed explains a request that failed. If the device has disappeared, or was replaced, that is
// the better explanation of any error.
func (t *Target) failed(r request, a answer) error {
	if t.o.Check != nil {
		if err := t.o.Check(); err != nil {
			return err
		}
	}
	e := &Error{Op: words[r.op], Device: t.path, Offset: r.offset, Length: r.length(), Err: a.err}
	if a.err == nil {
		e.Err = fmt.Errorf("only %d bytes were read: %w", a.n, io.ErrUnexpectedEOF)
		if r.op == opWrite {
			e.Err = fmt.Errorf("only %d bytes were written: %w", a.n, io.ErrShortWrite)
		}
	}
	if now, err := sizeOf(t.fd); err != nil {
		e.Also = fmt.Sprintf("and its size can no longer be read: %v", err)
	} else if now != t.size {
		e.Also = fmt.Sprintf("it had %d bytes when it was opened and has %d now", t.size, now)
	}
	return e
}

// sizeOf is the size of a block device in bytes.
func sizeOf(fd int) (int64, error) {
	var size uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKGETSIZE64, uintptr(unsafe.Pointer(&size))); errno != 0 {
		return 0, errno
	}
	return int64(size), nil //nolint:gosec // devices are far smaller
}
