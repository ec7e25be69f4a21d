package storage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// privateMark is set in the environment of a process whose mounts are private
// already, to its parent's number.
const privateMark = "WHICHFS_PRIVATE_MOUNTS"

// PrivateMounts gives this process a mount namespace of its own, so that all it
// mounts vanishes with it, however it ends. It must be called before anything
// is read from standard input: the process starts itself anew, since a
// namespace belongs to a thread and Go has several. Root is needed.
func PrivateMounts() error {
	if parent := os.Getenv(privateMark); parent != "" {
		if err := os.Unsetenv(privateMark); err != nil {
			return err
		}
		// Starting anew from another thread forgot that we die with our parent.
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return fmt.Errorf("dying with the parent process: %w", err)
		}
		if strconv.Itoa(os.Getppid()) != parent {
			return errors.New("the process that started this one has ended")
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	runtime.LockOSThread() // for good: the thread's namespace is changed
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("private mounts need root: %w", err)
		}
		return fmt.Errorf("private mounts: %w", err)
	}
	// Slaves: what the host unmounts vanishes here too, and nothing goes back.
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	env := append(os.Environ(), privateMark+"="+strconv.Itoa(os.Getppid()))
	return fmt.Errorf("starting %s anew: %w", self, unix.Exec(self, os.Args, env))
}
