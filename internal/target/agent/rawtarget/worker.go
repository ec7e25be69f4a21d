package rawtarget

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

type op uint8

const (
	opRead op = iota + 1
	opWrite
	opFlush
	opDiscard
	opCached // through the page cache, and synced
)

// request is one system call.
type request struct {
	op     op
	fd     int
	offset int64
	buffer []byte
	span   [2]uint64 // of a discard
	block  int       // of a cached write, B
}

// answer is the outcome of a request.
type answer struct {
	began, ended time.Time
	n            int
	err          error
}

// worker is a thread that makes requests, one at a time.
type worker struct {
	todo     chan request
	done     chan answer // buffered, so that a late answer does not block
	series   chan *series
	priority error // why it has no real-time priority
}

// newWorker starts a worker; closing todo ends it.
func newWorker() *worker {
	w := &worker{todo: make(chan request), done: make(chan answer, 1), series: make(chan *series)}
	ready := make(chan struct{})
	go func() {
		// A locked thread ends with its goroutine, and so does its priority.
		runtime.LockOSThread()
		w.priority = realTime()
		close(ready)
		w.work()
	}()
	<-ready
	return w
}

func (w *worker) work() {
	for {
		select {
		case r, ok := <-w.todo:
			if !ok {
				return
			}
			w.done <- r.carryOut()
		case s := <-w.series:
			s.share()
		}
	}
}

// realTime gives the calling thread the lowest real-time priority: above all ordinary work, below
// threads that were deliberately given one. Threads that it starts do not inherit it.
func realTime() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1}, 0)
}

// carryOut makes the request. Only the system call is between the two clock readings, and nothing
// is allocated. A request interrupted by a signal is repeated, and timed again.
func (r *request) carryOut() (a answer) {
	for {
		a.n = len(r.buffer)
		a.began = time.Now()
		switch r.op {
		case opRead:
			a.n, a.err = unix.Pread(r.fd, r.buffer, r.offset)
		case opWrite:
			a.n, a.err = unix.Pwrite(r.fd, r.buffer, r.offset)
		case opFlush:
			a.err = unix.Fdatasync(r.fd)
		case opDiscard:
			a.err = discard(r.fd, &r.span)
		case opCached:
			a.n, a.err = cached(r)
		}
		a.ended = time.Now()
		if a.err != unix.EINTR { //nolint:errorlint // straight from the system call
			return a
		}
	}
}

// cached writes the buffer in blocks and syncs.
func cached(r *request) (n int, err error) {
	for n < len(r.buffer) {
		k, err := unix.Pwrite(r.fd, r.buffer[n:min(n+r.block, len(r.buffer))], r.offset+int64(n))
		if err == unix.EINTR { //nolint:errorlint // straight from the system call
			continue
		}
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, unix.Fdatasync(r.fd)
}

func discard(fd int, span *[2]uint64) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKDISCARD, uintptr(unsafe.Pointer(span))); errno != 0 {
		return errno
	}
	return nil
}
