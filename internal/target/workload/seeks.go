package workload

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Seeks reads Ops pieces of Block bytes (8 KiB) at random places of the file that FileWrite has
// written, with Jobs (3) seekers at once, and writes a Share of them back with one byte changed.
// Each seeker has its own descriptor and takes the next place when it has finished one. At the end
// each syncs the file (fsync) and closes it.
//
// It is the test of Bonnie++ 1.96 to 2.00 (bon_io.cpp), where the seekers are processes that read
// their orders from a pipe; here they are threads that increment a number. As in the original, the
// figure is from the first start to the last end, fsyncs included, and parts of the file in the
// page cache are read from there: see cached. Latencies are of one read, or of one read and write.
var Seeks = Kind{Name: "seeks", Setup: setupSeeks}

// seekers are the threads and their shared state.
type seekers struct {
	*bigFile
	orders []int64 // places in the file; -1-place where it is written back
	next   atomic.Int64
	begin  atomic.Uint32 // 1: the seekers may start
	ended  atomic.Uint32 // how many have ended
	start  time.Time
	path   []byte
	each   []seeker
	procs  int // of the runtime, before
}

type seeker struct {
	lat   latencies
	buf   []byte
	ops   int64
	call  string
	errno unix.Errno
}

// maxSeekers is more than any device needs to be kept busy.
const maxSeekers = 64

func setupSeeks(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	f, err := newBigFile(env, step)
	if err != nil {
		return Job{}, err
	}
	jobs := step.Jobs
	if jobs == 0 {
		jobs = 3
	}
	if step.Ops < 1 || step.Ops > 1<<24 || jobs < 1 || jobs > maxSeekers || !(step.Share >= 0 && step.Share <= 1) {
		return Job{}, result.Refuse("", "step %q: %d seeks by %d at once, a share of %v rewritten (1 to %d seeks, at most %d at once, a share from 0 to 1)",
			step.Work, step.Ops, step.Jobs, step.Share, 1<<24, maxSeekers)
	}
	var st unix.Stat_t
	path := join(env.Mount, join(step.Dir, string(bigFileName[:len(bigFileName)-1])))
	if err := unix.Stat(path, &st); err != nil || st.Size < step.Size {
		return Job{}, result.Refuse("", "step %q: there is no file of %d bytes in %q (file-write makes one)", step.Work, step.Size, step.Dir)
	}
	f.cached = newCached(step)
	s := &seekers{bigFile: f, orders: seekOrders(step, f.pieces), path: terminated(path), each: make([]seeker, jobs)}
	for i := range s.each {
		s.each[i].buf = buffer(len(f.buf))
	}
	s.assemble()
	return Job{Run: s.run, After: s.after}, nil
}

// seekOrders draws the places, all equally likely.
func seekOrders(step scenario.Step, pieces int64) []int64 {
	source := rand.New(rand.NewPCG(step.Seed, 0))
	orders := make([]int64, step.Ops)
	for i := range orders {
		orders[i] = source.Int64N(pieces)
		if source.Float64() < step.Share {
			orders[i] = -1 - orders[i]
		}
	}
	return orders
}

// assemble starts the threads; they wait for run. Each has a processor of the runtime to itself, so
// that none waits until the runtime notices another's system call.
func (s *seekers) assemble() {
	s.procs = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(s.procs, len(s.each)+1))
	var ready atomic.Uint32
	for i := range s.each {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			add(&ready, 1)
			await(&s.begin, 1)
			s.each[i].seek(s)
			add(&s.ended, 1)
		}()
	}
	await(&ready, uint32(len(s.each)))
}

func (s *seekers) run(t *Tally) error {
	s.start = time.Now()
	add(&s.begin, 1)
	await(&s.ended, uint32(len(s.each)))
	for i := range s.each {
		one := &s.each[i]
		t.Ops += one.ops
		t.Bytes += one.ops * s.step.Block
		if one.errno != 0 {
			runtime.GOMAXPROCS(s.procs)
			return s.fail(one.call, one.errno)
		}
	}
	return nil
}

func (s *seekers) after() (Extra, error) {
	runtime.GOMAXPROCS(s.procs)
	for i := range s.each {
		s.lat.merge(&s.each[i].lat)
	}
	return s.bigFile.after()
}

// seek is the whole work of one seeker.
func (k *seeker) seek(s *seekers) {
	fd, errno := openat(unix.AT_FDCWD, &s.path[0], readFlags|unix.O_RDWR, 0)
	if errno != 0 {
		k.call, k.errno = "open", errno
		return
	}
	at := time.Since(s.start)
	for {
		n := s.next.Add(1) - 1
		if n >= int64(len(s.orders)) {
			break
		}
		if k.call, k.errno = k.piece(fd, s.orders[n], s.step.Block); k.errno != 0 {
			_ = closefd(fd)
			return
		}
		at = k.lat.lap(s.start, at)
		k.ops++
	}
	if k.errno = flush(fd); k.errno != 0 {
		k.call = "fsync"
	}
	if errno := closefd(fd); errno != 0 && k.errno == 0 {
		k.call, k.errno = "close", errno
	}
}

// piece reads the piece of an order, and writes it back if the order says so.
func (k *seeker) piece(fd int, order, block int64) (string, unix.Errno) {
	place := max(order, -1-order)
	for have := 0; have < len(k.buf); {
		n, err := unix.Pread(fd, k.buf[have:], place*block+int64(have))
		if err != nil {
			if err == unix.EINTR { //nolint:errorlint // an errno as it is
				continue
			}
			return "read", err.(unix.Errno) //nolint:errorlint,forcetypeassert // likewise
		}
		if n == 0 {
			return "read to the end of", unix.ENODATA
		}
		have += n
	}
	if order >= 0 {
		return "", 0
	}
	k.buf[place%block]--
	for done := 0; done < len(k.buf); {
		n, err := unix.Pwrite(fd, k.buf[done:], place*block+int64(done))
		if err != nil && err != unix.EINTR { //nolint:errorlint // an errno as it is
			return "write", err.(unix.Errno) //nolint:errorlint,forcetypeassert // likewise
		}
		done += max(n, 0)
	}
	return "", 0
}

// await sleeps until a counter has reached a value; add increases it and wakes the waiters. Both
// call the kernel directly (futex(2)): the runtime's own primitives may start threads and allocate
// for them.
func await(counter *atomic.Uint32, value uint32) {
	for {
		now := counter.Load()
		if now >= value {
			return
		}
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(counter)), futexWait, uintptr(now), 0, 0, 0)
	}
}

func add(counter *atomic.Uint32, n uint32) {
	counter.Add(n)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(counter)), futexWake, 1<<30, 0, 0, 0)
}

// FUTEX_WAIT and FUTEX_WAKE within one process.
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)
