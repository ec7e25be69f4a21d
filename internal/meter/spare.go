package meter

import (
	"sync"

	"golang.org/x/sys/unix"
)

// spareThreads makes the runtime start the threads that it may want later.
// It starts one, and allocates for it, whenever a system call lasts and no
// idle thread is there to take over; that must not happen in a timed section.
var spareThreads = sync.OnceFunc(func() {
	const threads = 6
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		return // agent.mallocs will tell
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
})
