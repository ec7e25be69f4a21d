package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup gives a program its own process group and makes it die with the
// thread that started it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await waits for a program that Run has started, and kills it when the
// context ends.
func await(ctx context.Context, cmd *exec.Cmd, p *pipes) error {
	over := exited(cmd.Process.Pid)
	cut := false
	select {
	case <-over:
		if ended, ok := ctx.Value(watched{}).(func(int)); ok {
			ended(cmd.Process.Pid)
		}
		select {
		case <-p.drained:
		case <-ctx.Done():
			cut = true
		}
	case <-ctx.Done():
		cut = true
	}
	if cut {
		if err := end(cmd.Process.Pid, over); err != nil {
			go func() { _ = cmd.Wait() }() // reap it whenever it ends
			return fmt.Errorf("%w; %w", context.Cause(ctx), err)
		}
		p.wait(pipeDelay)
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it did not read all of its input
	}
	switch {
	case err != nil && ctx.Err() != nil, cut:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	return p.fault()
}

type watched struct{}

// Watch returns a context in which Run calls ended with the number of each program that has ended by
// itself, before it is reaped: /proc still has what the kernel counted of it.
func Watch(ctx context.Context, ended func(pid int)) context.Context {
	return context.WithValue(ctx, watched{}, ended)
}

// exited returns a channel that is closed when a child has ended. The child is
// not reaped, so no other process gets its number or its group's.
func exited(pid int) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return over
}

// Process is a program that runs alongside us: a guest, an agent.
type Process struct {
	cmd  *exec.Cmd
	errs keeper
	over <-chan struct{} // it has ended but may not be reaped yet
	done chan struct{}
	err  error
	// loose says why processes that it starts may outlive it; see Loose.
	loose string

	mu     sync.Mutex
	reaped bool // its number may have been reused
}

// Start starts a program that dies with this process, however that ends. The
// caller passes its standard streams as files or pipes in o.
func Start(o Options, argv ...string) (*Process, error) {
	if len(argv) == 0 {
		return nil, errors.New("no program to run")
	}
	p := &Process{done: make(chan struct{})}
	started := make(chan error, 1)
	// The kernel sends the death signal when the *thread* that forked
	// ends, so each process keeps one thread until it ends.
	go onOwnThread(func() {
		group, err := p.start(o, argv)
		started <- err
		if err == nil {
			p.reap(group)
		}
	})
	if err := <-started; err != nil {
		return nil, &Error{Argv: argv, Status: -1, Err: err}
	}
	return p, nil
}

// onOwnThread runs f on a dedicated operating-system thread.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

// make creates the command; a command that failed to start cannot be reused.
func (p *Process) make(o Options, argv []string) {
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir = o.Dir
	p.cmd.Env = append(append(os.Environ(), "LC_ALL=C"), o.Env...)
	if o.Guest != nil {
		p.cmd.Env = o.Env // what is the user's would be in the guest's kernel, too
	}
	p.cmd.Stdin = o.Stdin
	p.cmd.Stdout = o.Stdout
	p.cmd.Stderr = tee(&p.errs, o.Stderr)
	p.cmd.ExtraFiles = o.Files
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.WaitDelay = pipeDelay
}

// start starts the program, with a control group if necessary.
func (p *Process) start(o Options, argv []string) (*controlGroup, error) {
	var group *controlGroup
	var err error
	p.make(o, argv)
	if o.Guest != nil {
		restore, err := p.asGuest(*o.Guest)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	if o.Contain {
		group, err = p.startContained(o, argv)
	} else {
		err = p.cmd.Start()
	}
	if err == nil {
		p.over = exited(p.cmd.Process.Pid)
	}
	return group, err
}

func (p *Process) reap(group *controlGroup) {
	<-p.over
	group.kill()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	p.err = p.cmd.Wait()
	close(p.done)
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how it ended; valid after Done.
func (p *Process) Err() error {
	if p.err == nil {
		return nil
	}
	return &Error{Argv: p.cmd.Args, Status: p.cmd.ProcessState.ExitCode(), Stderr: p.errs.String(), Err: p.err}
}

// Pid is the process number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the program and everything that it started, and waits until they
// have exited. The error is a *Stuck: the process cannot be killed, and
// callers should not wait for it.
func (p *Process) Kill() error {
	p.mu.Lock()
	if !p.reaped {
		if err := end(p.Pid(), p.over); err != nil {
			p.mu.Unlock()
			return err
		}
	}
	p.mu.Unlock()
	<-p.done // at most pipeDelay
	return nil
}

// Wait waits until the program has ended, and kills it when the context ends.
// The error is the context's cause or how the program ended.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		if p.err != nil && ctx.Err() != nil {
			return context.Cause(ctx) // another goroutine killed it for that reason
		}
		return p.Err()
	case <-ctx.Done():
		if err := p.Kill(); err != nil {
			return fmt.Errorf("%w; %w", context.Cause(ctx), err)
		}
		return context.Cause(ctx)
	}
}
