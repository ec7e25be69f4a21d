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
	fd := tty.Fd()
	return bash([]uintptr{fd, fd, fd}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
}

// script has a shell carry out the script on a disk, with the console for its output.
func script() error {
	disk, err := diskBySerial(ScriptSerial)
	if err != nil {
		return err
	}
	return bash([]uintptr{0, 1, 2}, nil, disk)
}

// bash runs a shell until it ends.
func bash(files []uintptr, sys *syscall.SysProcAttr, arguments ...string) error {
	if err := os.MkdirAll("/root", 0o700); err != nil {
		return err
	}
	pid, err := syscall.ForkExec("/bin/bash", append([]string{"bash"}, arguments...), &syscall.ProcAttr{
		Dir: "/root", Env: os.Environ(), Files: files, Sys: sys,
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
