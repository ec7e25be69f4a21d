package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// daemonPatience is how long a program beside a filesystem may take to become ready, and to end. A
// variable, for tests.
var daemonPatience = 10 * time.Second

// daemon is a program that works beside the mounted filesystem.
type daemon struct {
	name string
	fd   int // pidfd: numbers of processes are reused
}

// startDaemon starts the program that the candidate's options ask for, if any, once the filesystem is
// mounted, and returns when it is ready.
func (env *Env) startDaemon() error {
	d, asked := env.Candidate.Daemon()
	if !asked || env.daemon != nil {
		return nil
	}
	// A missing file is one whose settings are all the program's own.
	config, err := os.ReadFile(d.Config)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	path := filepath.Join(env.Work, "daemon.conf")
	if err := os.WriteFile(path, fmt.Appendf(config, "\n%s", d.Settings(env.Candidate)), 0o600); err != nil {
		return err
	}
	program, err := command.Look(d.Tool.Program)
	if err != nil {
		return result.Fail(result.Unsupported, "", "%s is not installed", d.Tool.Program)
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemonPatience)
	defer cancel()
	argv := append([]string{program}, d.Args(path, env.Device, env.Mount)...)
	said, err := command.Run(ctx, command.Options{}, argv...)
	if err := toolFailed(ctx, argv, err); err != nil {
		return err
	}
	_, text, _ := strings.Cut(said.Stdout, d.Prints)
	text, _, _ = strings.Cut(text, "\n")
	number, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s does not say which process it is: %q", d.Tool.Program, said.Stdout)
	}
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return Subject("%s ended at once; it says why to syslog", d.Tool.Program)
	}
	unix.CloseOnExec(fd)
	env.daemon = &daemon{name: d.Tool.Program, fd: fd}
	if err := env.daemon.ready(d.Opens); err != nil {
		_ = env.EndDaemon()
		return err
	}
	return nil
}

// ready waits until the program has a file open whose name begins with opens.
func (d *daemon) ready(opens string) error {
	for end := time.Now().Add(daemonPatience); ; time.Sleep(time.Millisecond) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", d.pid())) // the pattern is right
		for _, link := range links {
			if name, err := os.Readlink(link); err == nil && strings.HasPrefix(name, opens) {
				return nil
			}
		}
		if d.over(0) || time.Now().After(end) {
			return Subject("%s did not become ready; it says why to syslog", d.name)
		}
	}
}

// pid is the program's number in /proc, which in a process-id namespace is another one than ours; 0: it
// has ended.
func (d *daemon) pid() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", d.fd))
	if err != nil {
		return 0
	}
	_, number, _ := bytes.Cut(text, []byte("\nPid:"))
	number, _, _ = bytes.Cut(number, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(number)))
	if err != nil {
		return 0
	}
	return max(pid, 0)
}

// over reports whether the program has ended, and waits so long for it.
func (d *daemon) over(patience time.Duration) bool {
	for end := time.Now().Add(patience); ; {
		fds := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(0, time.Until(end)).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 1
		}
	}
}

// EndDaemon ends the program beside the filesystem, if one runs, and waits for it: it keeps the
// filesystem mounted.
func (env *Env) EndDaemon() error {
	d := env.daemon
	if d == nil {
		return nil
	}
	env.daemon = nil
	defer unix.Close(d.fd) //nolint:errcheck // it only stands for the process
	if d.over(0) {
		return Subject("%s has ended by itself; it says why to syslog", d.name)
	}
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := unix.PidfdSendSignal(d.fd, s, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("ending %s: %w", d.name, err)
		}
		if d.over(daemonPatience) {
			return nil
		}
	}
	return &command.Stuck{Program: d.name, Pid: d.pid()}
}

// LacksDaemon says why the program that a candidate asks for cannot run here, and what would help; both
// are "" if it can, or none is asked for.
func LacksDaemon(c filesystem.Candidate) (reason, hint string) {
	d, asked := c.Daemon()
	if !asked {
		return "", ""
	}
	if _, err := command.Look(d.Tool.Program); err != nil {
		return d.Tool.Absent(), "it is in Debian's package " + d.Tool.Package
	}
	if d.Queues && !messageQueues() {
		return "this kernel has no POSIX message queues, without which " + d.Tool.Program + " does not start",
			"use a kernel with CONFIG_POSIX_MQUEUE, such as Debian's"
	}
	return "", ""
}

// messageQueues reports whether the kernel has POSIX message queues: one without does not know the
// system call.
func messageQueues() bool {
	name := terminated("whichfs-none")
	_, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), unix.O_RDONLY, 0, 0, 0, 0)
	return errno != unix.ENOSYS
}
