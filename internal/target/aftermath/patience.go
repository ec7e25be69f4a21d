package aftermath

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
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
// does not return is left behind: it continues, everything that it uses must be left to it, and the
// caller makes no further call. One thread makes all calls: the kernel names the thread whose call
// caused a fault.
type caller struct {
	limit  time.Duration
	timer  *time.Timer
	calls  chan func() error
	ended  chan error
	thread atomic.Int64 // makes the calls; 0: none was made yet
	left   bool
}

func newCaller(limit time.Duration) *caller {
	c := &caller{limit: limit, timer: time.NewTimer(time.Hour), calls: make(chan func() error), ended: make(chan error, 1)}
	c.timer.Stop()
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		c.thread.Store(int64(unix.Gettid()))
		for f := range c.calls {
			c.ended <- f()
		}
	}()
	return c
}

// call returns the error of f, or a *Hung. Results of f must not be used after a *Hung.
func (c *caller) call(what string, f func() error) error {
	if c.left {
		return errors.New(what + ": an earlier call never returned")
	}
	c.calls <- f
	if c.limit == 0 {
		return <-c.ended
	}
	c.timer.Reset(c.limit)
	select {
	case err := <-c.ended:
		c.timer.Stop()
		return err
	case <-c.timer.C:
	}
	c.left = true
	h := &Hung{What: what, After: c.limit}
	if stack, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stack", c.thread.Load())); err == nil {
		h.stack = strings.TrimSpace(string(stack))
	}
	return h
}

// close ends the goroutine, once a current call has returned.
func (c *caller) close() { close(c.calls) }
