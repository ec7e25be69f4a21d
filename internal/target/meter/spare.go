package meter

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processors is how many the runtime may use. With a single one, its monitor takes that away from
// every long system call, and wakes up every 20 µs to do so. More than two would require more
// preparation: one thread does the work.
const processors = 2

// settle brings the runtime into a state in which it allocates nothing by itself, so that only the
// work allocates in a timed section. The state lasts as long as the process.
var settle = sync.OnceFunc(func() {
	runtime.GOMAXPROCS(processors)
	spareThreads()
	spareTimers()
})

// spareThreads makes the runtime start the threads that it may need later. It starts one, and
// allocates for it, whenever a system call takes long and no idle thread can take over.
func spareThreads() {
	const threads = 6
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		return // agent.mallocs will show it
	}
	var entered, left sync.WaitGroup
	for range threads {
		entered.Add(1)
		left.Add(1)
		go func() {
			defer left.Done()
			var b [1]byte
			entered.Done()
			// Each keeps a thread busy until the pipe is closed.
			_, _ = unix.Read(pipe[0], b[:])
		}()
	}
	entered.Wait()
	_ = unix.Close(pipe[1])
	left.Wait()
	_ = unix.Close(pipe[0])
}

// spareTimers makes room in the list of timers of each processor. The runtime's own background
// work, such as returning memory, sleeps by timers, and the first timers on a processor make its
// list grow.
func spareTimers() {
	const timers = 16
	var running atomic.Int32
	var left sync.WaitGroup
	for range processors {
		left.Add(1)
		go func() {
			defer left.Done()
			running.Add(1)
			for running.Load() < processors {
				nap()
			}
			var list [timers]*time.Timer
			for i := range list {
				list[i] = time.AfterFunc(time.Hour, func() {})
			}
			for _, t := range list {
				t.Stop()
			}
		}()
	}
	left.Wait()
}

// nap lets other threads run without giving up the runtime's processor, so that other goroutines run
// on other ones. The machine may have a single processor, and time may stand still while it is busy:
// only a thread that sleeps lets others run. Not inlined, it is where the runtime can stop this
// goroutine, which it cannot in a system call of this kind: the collector waits for that.
//
//go:noinline
func nap() {
	ts := unix.NsecToTimespec(1000)
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
