package qemu

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
)

// guest is a QEMU process with its streams.
type guest struct {
	process *command.Process
	console net.Conn
	agent   net.Conn   // nil if the guest has no port
	sim     *simulated // nil if the storage is not simulated
	waited  load.Load  // for processors while it booted from a filesystem
	keep    []*os.File
	close   sync.Once
}

// start starts QEMU for c; files are the targets of c's descriptor(n) paths. The guest owns them
// from here on, also after an error.
func start(c config, port bool, files ...*os.File) (*guest, error) {
	g := &guest{keep: files, sim: c.sim}
	c.sandbox = unsandboxed(c.program) == ""
	inherited := append([]*os.File(nil), files...)
	pass := func() (net.Conn, int, error) {
		ours, theirs, err := socketPair()
		if err != nil {
			return nil, 0, err
		}
		inherited = append(inherited, theirs)
		return ours, 2 + len(inherited), nil
	}
	var err error
	if g.console, c.console, err = pass(); err == nil && port {
		g.agent, c.agent, err = pass()
	}
	if err == nil && c.sim != nil {
		var device net.Conn
		d := disk{serial: pid1.LabSerial}
		if device, d.stream, err = pass(); err == nil {
			roomy(device.(syscall.Conn), inherited[len(inherited)-1])
			c.sim.serve(device)
			c.disks = append(slices.Clone(c.disks), d)
		}
	}
	if err == nil {
		g.process, err = command.Start(command.Options{Files: inherited}, c.knownClock().argv()...)
	}
	for _, f := range inherited[len(files):] {
		_ = f.Close()
	}
	if err != nil {
		g.release()
		return nil, fmt.Errorf("start QEMU: %w", err)
	}
	return g, nil
}

// descriptor is the path under which QEMU opens the n-th of start's files, from 0. The files
// themselves have no name, so none can outlive the process.
func descriptor(n int) string { return fmt.Sprintf("/proc/self/fd/%d", 3+n) }

// end kills QEMU and releases everything. It may be called more than once. An error means that QEMU
// does not end: it waits for a disk of this host.
func (g *guest) end() (err error) {
	if g.process != nil {
		err = g.process.Kill()
	}
	g.release()
	return err
}

func (g *guest) release() {
	g.close.Do(func() {
		for _, c := range []net.Conn{g.console, g.agent} {
			if c != nil {
				_ = c.Close()
			}
		}
		for _, f := range g.keep {
			_ = f.Close()
		}
		if g.sim != nil {
			g.sim.close()
		}
	})
}

// watch observes the threads that the guest's speed depends on: QEMU's, and where this process is the
// guest's storage, its own.
func (g *guest) watch() *load.Watch {
	pids := []int{g.process.Pid()}
	if g.sim != nil {
		pids = append(pids, os.Getpid())
	}
	return load.Observe("/proc", pids...)
}

// reason says how QEMU ended; valid after the process is done.
func (g *guest) reason(c *labguest.Console) string {
	if line := labguest.PanicLine(c.Last()); line != "" {
		return line
	}
	if err := g.process.Err(); err != nil {
		return err.Error()
	}
	return "the guest powered off"
}

// socketPair returns our end of a stream and the other as a file to inherit.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "guest"), os.NewFile(uintptr(fds[1]), "guest")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// scratch returns a sparse, nameless file: nothing is left of it, however this process ends.
func scratch(dir string, size int64) (*os.File, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < size {
		return nil, fmt.Errorf("%s has %d MiB free, but the disk may grow to %d MiB: %w", dir, free>>20, size>>20, errNoSpace)
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	var f *os.File
	if err == nil {
		f = os.NewFile(uintptr(fd), "disk")
	} else { // not every filesystem has nameless files
		if f, err = os.CreateTemp(dir, "whichfs-disk-"); err != nil {
			return nil, err
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	if err := f.Truncate(size); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("disk of %d bytes in %s: %w", size, dir, err)
	}
	return f, nil
}

var errNoSpace = errors.New("not enough space")
