package agent

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"whichfs/internal/sys/command"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
)

// stepPatience is how long a step may still take when its time is over: killing programs takes time
// (with a limit of its own), and calls must return. The host waits longer than that for the report.
// A variable, for tests.
var stepPatience = 20 * time.Second

// errLeft is the answer to a step that returns after it was abandoned.
var errLeft = errors.New("the trial was abandoned")

// tell sends a message of the trial, unless the trial is over.
func (r *runner) tell(kind string, body any) error {
	if r.left.Load() {
		return errLeft
	}
	return r.agent.conn.Send(kind, r.id, body)
}

// within runs a part of the trial in its own thread. A call that does not return long after the
// step's time is over sleeps in the kernel: it keeps the storage and all resources of this runner,
// and nothing waits for it. The same applies to a program that cannot be killed.
func (r *runner) within(f func() error) error {
	if r.limit <= 0 {
		return r.settled(f())
	}
	thread, over := make(chan string, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- command.ThreadLink()
		over <- f()
	}()
	timer := time.NewTimer(r.limit + stepPatience)
	defer timer.Stop()
	select {
	case err := <-over:
		return r.settled(err)
	case <-timer.C:
	}
	r.left.Store(true)
	debug.SetGCPercent(100) // the meter turned the collector off
	what := "it does not return"
	if where := command.Sleeping(<-thread); where != "" {
		what = "the agent's own system call is " + where
	}
	r.agent.hangs = errors.New(what)
	return workload.Subject("not finished after %s, and cannot be stopped: %s", r.limit, what)
}

func (r *runner) settled(err error) error {
	if s := r.stuck.Load(); s != nil {
		r.agent.hangs = s
	}
	return err
}

// cutShort says why a step failed: because its time was over, if it was, whatever error resulted;
// and which program is stuck.
func (r *runner) cutShort(ctx context.Context, err error) error {
	var stuck *command.Stuck
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &stuck):
		r.stuck.Store(stuck)
		if cause == nil {
			return workload.Subject("%v", err)
		}
		return workload.Subject("%v, and %v", cause, stuck)
	case cause != nil:
		return cause
	}
	return err
}

// leaveDelay is how long removing the agent's own directory may take when something hangs.
const leaveDelay = 2 * time.Second

// leave abandons storage that something hangs on: closing it could hang as well, and so could
// unmounting it. All of it is released with the last process that uses it.
func (a *Agent) leave() {
	left = append(left, a.claim)
	if dir, lock := a.work, a.workLock; dir != "" {
		gone := make(chan struct{})
		go func() { removeWork(dir, lock); close(gone) }()
		select {
		case <-gone:
		case <-time.After(leaveDelay):
		}
	}
	a.claim, a.chip, a.work, a.workLock, a.hangs = nil, nil, "", nil, nil
	a.trees, a.streams, a.modules = map[string]*memory.Tree{}, map[string]*memory.Stream{}, nil
}

// left holds what must not be closed, not even by the garbage collector.
var left []*storage.Claim
