package speed

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// turns is how often a run changes to the other thread, and back again.
const turns = 64

// switches has two threads of one processor wake each other through pipes.
type switches struct {
	there, back, own pipe
	shares           int           // of Go's processors before
	before           unix.CPUSet   // of this thread
	ended            chan struct{} // of the other thread; nil: it did not begin
}

// begin starts the other thread on the processor that this one is on now: of unequal ones the scheduler
// has found a fast one by then.
func (s *switches) begin() error {
	for _, p := range []*pipe{&s.there, &s.back, &s.own} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("a pipe: %w", err)
		}
	}
	var here uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&here)), 0, 0); errno != 0 {
		return fmt.Errorf("the processor of a thread: %w", errno)
	}
	var one unix.CPUSet
	one.Set(int(here))
	if err := errors.Join(unix.SchedGetaffinity(0, &s.before), unix.SchedSetaffinity(0, &one)); err != nil {
		return fmt.Errorf("one processor for a thread: %w", err)
	}
	// A thread that waits in a call that Go does not know of keeps its share.
	if s.shares = runtime.GOMAXPROCS(0); s.shares < 2 {
		runtime.GOMAXPROCS(2)
	}
	begun := make(chan error)
	s.ended = make(chan struct{})
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with it
		begun <- unix.SchedSetaffinity(0, &one)
		for s.there.read() {
			s.back.write()
		}
		close(s.ended)
	}()
	return <-begun
}

// end is also for what did not begin.
func (s *switches) end() {
	s.there.close(1)
	if s.ended != nil {
		<-s.ended
		runtime.GOMAXPROCS(s.shares)
		_ = unix.SchedSetaffinity(0, &s.before)
	}
	for _, p := range []*pipe{&s.there, &s.back, &s.own} {
		p.close(0)
		p.close(1)
	}
}

// turn changes to the other thread and back, and alone does the same calls without another thread.
func (s *switches) turn(seed uint32) uint32 {
	for range turns / 2 {
		s.there.write()
		s.back.read()
	}
	return seed
}

func (s *switches) alone(seed uint32) uint32 {
	for range turns {
		s.own.write()
		s.own.read()
	}
	return seed
}

// pipe is one, its reading end first.
type pipe [2]int

func (p *pipe) close(end int) {
	if p[end] > 0 {
		_ = unix.Close(p[end])
		p[end] = 0
	}
}

// read and write transfer a byte. Go's scheduler has no part in them. read returns false at the end.
func (p *pipe) read() bool {
	for {
		n, errno := p.transfer(unix.SYS_READ, p[0])
		if !errors.Is(errno, unix.EINTR) {
			return n == 1
		}
	}
}

func (p *pipe) write() {
	for {
		if _, errno := p.transfer(unix.SYS_WRITE, p[1]); !errors.Is(errno, unix.EINTR) {
			return
		}
	}
}

func (p *pipe) transfer(call uintptr, fd int) (uintptr, unix.Errno) {
	var b [1]byte
	n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1)
	return n, errno
}
