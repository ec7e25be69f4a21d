// Package blockdev makes block devices in memory, and devices stacked on them that record, corrupt,
// drop or fail requests (the kernel's device mapper). It removes everything that it makes;
// StaleDevices finds what a killed process left.
package blockdev

import (
	"errors"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Missing says what this kernel lacks for the devices of this package, as a *result.Failure; nil if
// nothing.
func Missing() error {
	if err := unix.Access("/dev/loop-control", unix.F_OK); err != nil {
		return noLoop()
	}
	control, err := openControl()
	if err != nil {
		return err
	}
	m := &mapped{control: control}
	return errors.Join(m.has("log-writes"), m.has("flakey"), unix.Close(control))
}

func noLoop() error {
	return result.Fail(result.Unsupported, "load it: modprobe loop", "this kernel has no loop devices (/dev/loop-control is missing)")
}

// Needs are the kernel modules for the devices of this package, in load order. Disks alone need the
// first.
func Needs() []string { return []string{"loop", "dm-mod", "dm-log-writes", "dm-flakey"} }
