package pid1

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	if err := copyModules(p.modules); err != nil {
		return err
	}
	fd := tty.Fd()
	return bash([]uintptr{fd, fd, fd}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
}

// copyModules makes files in the shell's directory of the modules that the user gave, whose disks are
// larger.
func copyModules(modules []string) error {
	for i, m := range modules {
		name, text, _ := strings.Cut(m, ":")
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("module %s: %w", m, err)
		}
		disk, err := diskBySerial(ModuleSerial(i))
		if err != nil {
			return err
		}
		if err := copyStart(disk, filepath.Join(home, filepath.Base(name)), size); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

// copyStart copies the first bytes of a disk to a file.
func copyStart(disk, path string, size int64) error {
	from, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, size)
	return errors.Join(err, to.Close())
}

// home is the shell's directory.
const home = "/root"

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
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	pid, err := syscall.ForkExec("/bin/bash", append([]string{"bash"}, arguments...), &syscall.ProcAttr{
		Dir: home, Env: os.Environ(), Files: files, Sys: sys,
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
