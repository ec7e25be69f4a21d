// Package command runs other programs. It is the only place that imports
// os/exec: argument vectors only, no shell, bounded output, bounded waits.
// When the context ends it kills the program and everything it started, and an
// error names the program, its exit status and its last words.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxOutput is how many bytes of each output stream are kept: the first half
// and the last half.
const MaxOutput = 1 << 20

// Result describes a finished program.
type Result struct {
	Stdout, Stderr string
	Status         int // exit status; -1 if it was killed
	Wall           time.Duration
	User, System   time.Duration // of the program and its waited-for children
	// MaxRSS is the largest resident size in bytes of the program or any
	// of its waited-for children; 0 if unknown. The kernel passes a
	// parent's record on to its child, so it is never less than this
	// process's own size: start small programs from a small one.
	MaxRSS int64
}

// Error describes a program that could not be started, failed or was killed.
type Error struct {
	Argv   []string
	Status int // exit status; -1 if it was killed or never ran
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	last := gist(e.Stderr)
	if e.Status > 0 {
		if last != "" {
			return fmt.Sprintf("%s (exit status %d): %s", e.Argv[0], e.Status, last)
		}
		return fmt.Sprintf("%s: exit status %d", strings.Join(e.Argv, " "), e.Status)
	}
	if last != "" {
		return fmt.Sprintf("%s: %v: %s", e.Argv[0], e.Err, last)
	}
	return fmt.Sprintf("%s: %v", e.Argv[0], e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Missing reports whether err says that the program is not installed.
func Missing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
}

// Options of a run; the zero value is usable.
type Options struct {
	Dir    string
	Env    []string // added to the caller's environment
	Stdin  io.Reader
	Stdout io.Writer // also receives the output as it arrives
	Stderr io.Writer
	Files  []*os.File // become descriptors 3, 4, … of the program
	// Contain gives a program that is started, not run, its own mount
	// namespace, and kills everything it started when it dies. It needs
	// root.
	Contain bool
	// Guest is for a program that is started, not run, and runs a guest's kernel; nil: any other.
	Guest *Guest
}

// Run runs a program to completion. The error is nil only for exit status 0;
// Result is always filled. LC_ALL is C, to make messages parseable.
//
// When the context ends, Run kills the program and everything that it started.
// If a process cannot be killed, Run abandons it and *Stuck is among the
// errors.
func Run(ctx context.Context, o Options, argv ...string) (Result, error) {
	if len(argv) == 0 {
		return Result{Status: -1}, errors.New("no program to run")
	}
	if ctx.Err() != nil {
		return Result{Status: -1}, &Error{Argv: argv, Status: -1, Err: context.Cause(ctx)}
	}
	var out, errs keeper
	pipes := &pipes{}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), o.Env...)
	cmd.Stdin = o.Stdin
	cmd.Stdout, cmd.Stderr = pipes.to(tee(&out, o.Stdout)), pipes.to(tee(&errs, o.Stderr))
	cmd.ExtraFiles = o.Files
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = pipeDelay // for a reader that receives no input
	// The kernel sends the death signal when the thread that forked ends, and any goroutine may take a
	// thread with it to its end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	err := pipes.err
	if err == nil {
		err = cmd.Start()
	}
	pipes.started()
	if err == nil {
		err = await(ctx, cmd, pipes)
	}
	pipes.close()
	r := Result{Stdout: out.String(), Stderr: errs.String(), Status: -1, Wall: time.Since(start)}
	var stuck *Stuck
	// Another goroutine still waits for the state of a stuck one.
	if !errors.As(err, &stuck) && cmd.ProcessState != nil {
		r.Status = cmd.ProcessState.ExitCode()
		r.User, r.System = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			r.MaxRSS = int64(u.Maxrss) << 10
		}
	}
	if err != nil {
		text := r.Stderr
		if strings.TrimSpace(text) == "" {
			text = r.Stdout // mkfs.f2fs and others report errors on standard output
		}
		return r, &Error{Argv: argv, Status: r.Status, Stderr: text, Err: err}
	}
	return r, nil
}

// Look returns the path of a program, searching PATH and then the directories
// that an ordinary user's PATH often lacks.
func Look(program string) (string, error) {
	p, err := exec.LookPath(program)
	if err == nil {
		return p, nil
	}
	if !strings.Contains(program, "/") {
		for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/local/sbin/"} {
			if p, err := exec.LookPath(dir + program); err == nil {
				return p, nil
			}
		}
	}
	return "", err
}

func tee(k *keeper, w io.Writer) io.Writer {
	if w == nil {
		return k
	}
	return io.MultiWriter(k, w)
}

// keeper keeps the beginning and the end of what is written to it. An
// abandoned program may still write.
type keeper struct {
	mu         sync.Mutex
	head, tail bytes.Buffer
	dropped    int
}

func (k *keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(p)
	if room := MaxOutput/2 - k.head.Len(); room > 0 {
		take := min(room, len(p))
		k.head.Write(p[:take])
		p = p[take:]
	}
	k.tail.Write(p)
	if over := k.tail.Len() - MaxOutput/2; over > 0 {
		k.tail.Next(over)
		k.dropped += over
	}
	return n, nil
}

func (k *keeper) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dropped > 0 {
		return fmt.Sprintf("%s\n[%d bytes omitted]\n%s", k.head.String(), k.dropped, k.tail.String())
	}
	return k.head.String() + k.tail.String()
}

// gist condenses a program's messages to one line. From a long text it keeps
// the lines that call themselves errors, or else the beginning and the end:
// some tools name the fault first and then explain their usage, others
// continue and name it last.
func gist(text string) string {
	var lines, faults []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
			if strings.Contains(strings.ToLower(line), "error:") {
				faults = append(faults, line)
			}
		}
	}
	switch {
	case len(lines) > 4 && len(faults) > 0:
		lines = faults[:min(len(faults), 4)]
	case len(lines) > 4:
		lines = append(lines[:2:2], "…", lines[len(lines)-1])
	}
	return strings.Join(lines, "; ")
}
