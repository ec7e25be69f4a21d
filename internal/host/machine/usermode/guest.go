package usermode

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/usermode/monitor"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
	"whichfs/internal/target/agent/pid1"
)

// day is the time of day at which every guest starts.
var day = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// guest is a kernel's process with its monitor.
type guest struct {
	process *command.Process
	monitor *monitor.Monitor
	console *labguest.Console
	dir     string
	// processor is the only one that it uses; -1: none yet.
	processor int
	files     []*os.File
	stop      context.CancelFunc
	served    chan error    // the monitor's end
	dead      chan struct{} // closed when process and monitor have ended
	broken    error         // why the monitor ended; valid after dead
	once      sync.Once
	killed    error
}

// start starts the planned guest, which owns the plan's files, also after an error.
func start(h *host, p planned) (*guest, error) {
	g := &guest{processor: -1, files: p.files, served: make(chan error, 1), dead: make(chan struct{})}
	if err := g.start(h, p); err != nil {
		g.release()
		return nil, err
	}
	return g, nil
}

func (g *guest) start(h *host, p planned) (err error) {
	if g.processor, err = hosts.take(); err != nil {
		return err
	}
	if g.dir, err = ownDir(); err != nil {
		return err
	}
	if g.monitor, err = monitor.New(monitor.Options{Dir: g.dir, Disks: p.disks, Port: pid1.PortName, Seen: p.seen, Day: day}); err != nil {
		return err
	}
	archive, err := labguest.InMemory("archive", h.archive)
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // in memory
	ours, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close() //nolint:errcheck // the guest's end
	// Root's cache is out of reach for the user as whom root's guests run.
	kernel, env, err := h.kernelFiles()
	if err != nil {
		return err
	}
	defer closeAll(kernel)
	argv := append([]string{"/proc/self/fd/4", "initrd=/proc/self/fd/3", "uml_dir=./"}, p.kernelLine()...)
	o := command.Options{Stdout: theirs, Stderr: theirs, Files: append([]*os.File{archive}, kernel...), Dir: g.dir, Env: append(env, "TMPDIR=/dev/shm"), Guest: &command.Guest{Processor: g.processor}}
	if g.process, err = command.Start(o, append(argv, g.monitor.Parameters()...)...); err != nil {
		_ = ours.Close()
		return err
	}
	g.console = labguest.Watch(ours, p.line)
	var serving context.Context
	serving, g.stop = context.WithCancel(context.Background())
	go func() {
		// The thread ends with the goroutine, so that nothing else inherits its processor.
		runtime.LockOSThread()
		join(g.processor)
		g.served <- g.monitor.Run(serving)
	}()
	go func() {
		<-g.process.Done()
		g.stop()
		g.broken = <-g.served
		_ = ours.Close()
		<-g.console.Ended()
		close(g.dead)
	}()
	return nil
}

// end kills the guest and releases everything. It may be called more than once. An error means that
// the process does not end.
func (g *guest) end() error {
	g.once.Do(func() {
		if g.killed = g.process.Kill(); g.killed == nil {
			<-g.dead
			g.release()
		}
	})
	return g.killed
}

func (g *guest) release() {
	if g.monitor != nil {
		_ = g.monitor.Close()
	}
	for _, f := range g.files {
		_ = f.Close()
	}
	if g.dir != "" {
		_ = os.RemoveAll(g.dir)
	}
	if g.processor >= 0 {
		hosts.put(g.processor)
	}
}

const poweredOff = "the guest powered off"

// reason says how the guest ended; valid after it is dead.
func (g *guest) reason() string {
	if line := labguest.PanicLine(g.console.Last()); line != "" {
		return line
	}
	if g.broken != nil && g.broken != context.Canceled {
		return g.broken.Error()
	}
	if err := g.process.Err(); err != nil {
		return err.Error()
	}
	return poweredOff
}

// ownDir makes a directory for what a guest needs, such as its sockets.
func ownDir() (string, error) {
	base := "/dev/shm"
	if st, err := os.Stat(base); err != nil || !st.IsDir() || unix.Access(base, unix.W_OK) != nil {
		base = os.TempDir()
	}
	name, err := owner.Name("guest")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, command.Nobody, command.Nobody); err != nil {
			_ = os.Remove(dir)
			return "", err
		}
	}
	return dir, nil
}
