package workload

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// drainBuffer is the size of the buffer that reads the pipe, in bytes: cat's.
const drainBuffer = 128 << 10

// drainer is a thread that empties a pipe. It exists before the clock starts and waits in the
// kernel, because starting a thread allocates memory; starting its work and waiting for its end
// allocate nothing (see await).
type drainer struct {
	state atomic.Uint32
	ends  [2]int32 // of the pipe: reading, writing
	buf   []byte
	bytes int64
	errno unix.Errno

	once  sync.Once
	procs int // of the runtime, before
}

// States of a drainer; waiting for one succeeds at any later one.
const (
	drainWaits uint32 = iota
	drainReads
	drainDone
	drainQuits
)

// drainProcs is how many threads the runtime must let run: the one that writes into the pipe, the
// one that reads, and one for everything else. With fewer, a thread that returns from the kernel
// waits until the runtime notices, milliseconds later, that the other one is in the kernel.
const drainProcs = 3

func newDrainer() *drainer {
	d := &drainer{buf: buffer(drainBuffer), procs: runtime.GOMAXPROCS(0)}
	if d.procs < drainProcs {
		runtime.GOMAXPROCS(drainProcs)
	}
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(ready)
		d.run()
	}()
	<-ready
	return d
}

func (d *drainer) run() {
	await(&d.state, drainReads)
	if d.state.Load() == drainQuits {
		return
	}
	d.bytes, d.errno = drain(int(d.ends[0]), d.buf)
	_ = closefd(int(d.ends[0]))
	add(&d.state, drainDone-drainReads)
}

// open makes the pipe, lets the thread read it, and returns the end for writing, which the caller
// closes before it calls wait.
func (d *drainer) open() (int, unix.Errno) {
	if _, _, errno := unix.RawSyscall(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&d.ends)), unix.O_CLOEXEC, 0); errno != 0 {
		return -1, errno
	}
	if !d.state.CompareAndSwap(drainWaits, drainReads) { // it was ended meanwhile
		_ = closefd(int(d.ends[0]))
		_ = closefd(int(d.ends[1]))
		return -1, unix.ECANCELED
	}
	add(&d.state, 0) // wakes it
	return int(d.ends[1]), 0
}

// wait waits until the pipe is empty and returns how many bytes came out of it.
func (d *drainer) wait() (int64, unix.Errno) {
	await(&d.state, drainDone)
	return d.bytes, d.errno
}

// end releases what newDrainer allocated. It may be called more than once, and from another
// goroutine; a thread that is reading continues until it has read everything.
func (d *drainer) end() {
	d.once.Do(func() {
		if d.state.CompareAndSwap(drainWaits, drainQuits) {
			add(&d.state, 0) // wakes it
		}
		if d.procs < drainProcs {
			runtime.GOMAXPROCS(d.procs)
		}
	})
}
