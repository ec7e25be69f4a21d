package pid1

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// shell runs an interactive shell on the serial console until it ends. It is started with ForkExec
// because it needs its own session and controlling terminal, unlike everything else in this
// program.
func shell(p parameters) error {
	tty, err := os.OpenFile("/dev/"+p.console, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	if p.rows > 0 && p.cols > 0 {
		size := unix.Winsize{Row: p.rows, Col: p.cols}
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &size); err != nil {
			return fmt.Errorf("set the size of the terminal: %w", err)
		}
	}
	if err := os.MkdirAll("/root", 0o700); err != nil {
		return err
	}
	fd := tty.Fd()
	pid, err := syscall.ForkExec("/bin/bash", []string{"bash"}, &syscall.ProcAttr{
		Dir:   "/root",
		Env:   os.Environ(),
		Files: []uintptr{fd, fd, fd},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true},
	})
	if err != nil {
		return fmt.Errorf("start the shell: %w", err)
	}
	// Nothing else waits for children here, so orphans can be reaped too.
	for {
		ended, err := syscall.Wait4(-1, nil, 0, nil)
		if ended == pid || (err != nil && !errors.Is(err, syscall.EINTR)) {
			return nil
		}
	}
}
