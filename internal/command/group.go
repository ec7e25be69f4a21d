package command

import (
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup puts the program into a process group of its own, which dies with
// the thread that started it, and makes cancelling (which only a command with
// a context knows) kill the whole group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
}

// onOwnThread runs f on an operating-system thread that nobody else uses.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}
