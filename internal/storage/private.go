package storage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"whichfs/internal/command"
)

// PrivateMounts makes sure that what this process mounts is seen by nobody else
// and vanishes with it: it was started with command.Options.Contain. Root is
// needed.
func PrivateMounts() error {
	outside := os.Getenv(command.OutsideVariable)
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// Elsewhere the host's own mounts would no longer spread.
	if outside == "" || own == outside {
		return errors.New("this process was not given mounts of its own: only whichfs starts it")
	}
	if err := os.Unsetenv(command.OutsideVariable); err != nil {
		return err
	}
	// Slaves: what the host unmounts vanishes here too, and nothing goes back.
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	return nil
}
