package pid1

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/target/workload"
)

// A guest can also boot to a login prompt, as a board does: the first process of the filesystem under
// test is then BusyBox's init, which carries out its table there. What it takes for the console is a
// terminal whose other end is a process left behind in the boot archive, in memory: it passes the
// output on to the real console, and notes when the prompt appears in it, as grabserial does at the
// end of a board's serial line. So nothing but the prompt's own programs is read from the storage.

// watching is the argument that tells the agent to watch such a terminal.
const watching = "login"

// prompt ends what getty prints.
const prompt = " login: "

// terminal is one end of it, for init.
type terminal struct {
	name  string   // below /dev
	file  *os.File // it is open, so that the other end has somebody to hear
	tell  *os.File // tells the watcher when the boot began
	ready *os.File // ends when the watcher watches
}

// openTerminal makes a terminal and starts its watcher.
func openTerminal() (*terminal, error) {
	failed := func(err error) (*terminal, error) { return nil, fmt.Errorf("a terminal for the login prompt: %w", err) }
	m := mount{"devpts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666"}
	if err := m.do(); err != nil {
		return failed(err)
	}
	far, err := os.OpenFile("/dev/pts/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return failed(err)
	}
	defer far.Close() //nolint:errcheck // the watcher has it
	number, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return failed(err)
	}
	t := &terminal{name: "pts/" + strconv.Itoa(number)}
	if t.file, err = os.OpenFile("/dev/"+t.name, os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return failed(err)
	}
	var hear, set *os.File
	if hear, t.tell, err = os.Pipe(); err == nil {
		t.ready, set, err = os.Pipe()
	}
	if err != nil {
		return failed(err)
	}
	defer hear.Close() //nolint:errcheck // likewise
	defer set.Close()  //nolint:errcheck // likewise
	if _, err := syscall.ForkExec("/init", []string{"init", watching}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{far.Fd(), 1, 2, hear.Fd(), set.Fd()},
	}); err != nil {
		return failed(err)
	}
	_ = set.Close()
	_, err = t.ready.Read(make([]byte, 1))
	if err != nil {
		return failed(fmt.Errorf("its watcher: %w", err))
	}
	return t, nil
}

// login makes the filesystem that is mounted on /new the root, with the terminal for a console, and
// becomes its init. It returns only after a failure.
func (t *terminal) login(begun, start time.Duration) error {
	if _, err := fmt.Fprintf(t.tell, "%d %d\n", begun, start); err != nil {
		return err
	}
	if err := unix.Mount("/dev", "/new/dev", "", unix.MS_MOVE, ""); err != nil {
		return workload.Subject("move /dev to the root filesystem: %v", err)
	}
	if err := unix.Mount("/new/dev/"+t.name, "/new/dev/console", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("make the terminal the console: %w", err)
	}
	if err := enter("/new"); err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup3(int(t.file.Fd()), fd, 0); err != nil {
			return err
		}
	}
	program := "/" + workload.Userspace
	err := unix.Exec(program, []string{"init"}, []string{"PATH=/sbin:/usr/sbin:/bin:/usr/bin", "TERM=vt100"})
	return workload.Subject("start %s: %v", program, err)
}

// Watching reports whether this process watches a terminal, by its arguments.
func Watching(args []string) bool { return len(args) == 2 && args[1] == watching }

// Watch passes on what is written to the terminal until the login prompt appears, reports when, leaves
// the filesystem clean and powers off. It returns only if the kernel refuses.
func Watch() error {
	far, begin, set := os.NewFile(0, "terminal"), os.NewFile(3, "begin"), os.NewFile(4, "ready")
	if _, err := set.Write([]byte{1}); err != nil {
		return err
	}
	var seen []byte
	var first time.Duration
	for buf := make([]byte, 4096); !bytes.Contains(seen, []byte(prompt)); {
		n, err := far.Read(buf)
		if err != nil {
			return err
		}
		if first == 0 {
			first = Monotonic()
		}
		_, _ = os.Stdout.Write(buf[:n])
		seen = append(seen[max(0, len(seen)-len(prompt)):], buf[:n]...)
	}
	now := Monotonic()
	var kernel, start int64
	if _, err := fmt.Fscan(begin, &kernel, &start); err != nil {
		return err
	}
	from := time.Duration(start)
	b := Booted{Outcome: result.Done, Kernel: time.Duration(kernel).Seconds(), Root: (first - from).Seconds(), Login: (now - from).Seconds()}
	return errors.Join(b.end("/proc/1/root"), Halt())
}
