package aftermath

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is the time after which a call or a program counts as hanging; 0: never.
type Patience struct {
	Call time.Duration // into the filesystem
	Tool time.Duration // of the filesystem's own tools
}

// Hung is the error of a call that did not return, or of a program that did not end.
type Hung struct {
	What  string // "mount"
	After time.Duration
	stack string // the kernel's stack, if it is shown
}

func (h *Hung) Error() string { return fmt.Sprintf("%s did not return within %s", h.What, h.After) }

// messages describe the hang.
func (h *Hung) messages() []string {
	if h.stack == "" {
		return []string{h.Error()}
	}
	return []string{h.Error(), "it waits in:\n" + h.stack}
}

// caller makes calls that may never return, one after the other, on its own goroutine. A call that
// does not return is left behind: everything that it uses must be left to it, and the caller makes no
// further call. One thread makes all calls: the kernel names the thread whose call caused a fault.
type caller struct {
	limit  time.Duration
	work   chan func()
	ended  chan struct{}
	thread atomic.Int64 // makes the calls; 0: none was made yet
	within bool         // the goroutine is in a function of do

	mu    sync.Mutex
	what  string // the present call; "": none
	calls uint64 // so far
	left  bool
}

func newCaller(limit time.Duration) *caller {
	c := &caller{limit: limit, work: make(chan func()), ended: make(chan struct{}, 1)}
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		c.thread.Store(int64(unix.Gettid()))
		for f := range c.work {
			f()
			c.ended <- struct{}{}
		}
	}()
	return c
}

// do runs f on the caller's goroutine, where calls need no change of threads, until it returns or a
// call in it does not: then f never goes on.
func (c *caller) do(f func()) *Hung {
	c.within = true
	defer func() { c.within = false }()
	c.work <- f
	if c.limit == 0 {
		<-c.ended
		return nil
	}
	// Counting ticks is cheaper than setting a timer for each call.
	const ticks = 8
	tick := time.NewTicker(max(c.limit/ticks, 1))
	defer tick.Stop()
	seen, times := uint64(0), 0
	for {
		select {
		case <-c.ended:
			return nil
		case <-tick.C:
		}
		c.mu.Lock()
		if c.what == "" || c.calls != seen {
			seen, times = c.calls, 0
		} else if times++; times >= ticks {
			c.left = true
		}
		what, left := c.what, c.left
		c.mu.Unlock()
		if left && what != "" {
			return c.hung(what)
		}
	}
}

func (c *caller) hung(what string) *Hung {
	h := &Hung{What: what, After: c.limit}
	if stack, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stack", c.thread.Load())); err == nil {
		h.stack = strings.TrimSpace(string(stack))
	}
	return h
}

// call returns the error of f. Outside do it may also return a *Hung; results of f must not be used
// after that.
func (c *caller) call(what string, f func() error) (err error) {
	if c.gone() {
		return errors.New(what + ": an earlier call never returned")
	}
	if !c.within {
		if h := c.do(func() { err = c.call(what, f) }); h != nil {
			return h
		}
		return err
	}
	c.mu.Lock()
	c.what = what
	c.calls++
	c.mu.Unlock()
	err = f()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		runtime.Goexit()
	}
	c.what = ""
	return err
}

// gone reports whether a call was left behind.
func (c *caller) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// leave abandons the caller because of something else that does not end.
func (c *caller) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
}

// close ends the goroutine, once a current call has returned.
func (c *caller) close() { close(c.work) }
