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

// stepPatience is how long a step may still take when its time is over: programs
// are killed, which has a limit of its own, and calls return. The host waits
// longer than that for word of it. A variable, for tests.
var stepPatience = 20 * time.Second

// errLeft is the answer to a step that returns after it was given up.
var errLeft = errors.New("the trial was given up")

// tell sends a message of the trial, unless that is over.
func (r *runner) tell(kind string, body any) error {
	if r.left.Load() {
		return errLeft
	}
	return r.agent.conn.Send(kind, r.id, body)
}

// within does a part of the trial in a thread of its own. A call that does not
// return long after the step's time is over sleeps in the kernel: it keeps the
// storage and all that this runner has, and nobody waits for it. The same goes
// for a program that cannot be killed.
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

// cutShort is why a step failed: that its time was over, if it was, whatever
// came of that; and which program stays.
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

// leaveDelay is how long the agent's own directory may take to go where something
// hangs.
const leaveDelay = 2 * time.Second

// leave gives up storage that something hangs on: to close it could hang as well,
// and so could the end of what is mounted from it. All of it goes with the last
// process that uses it.
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

// left is what must not be closed, not even by the collector.
var left []*storage.Claim
