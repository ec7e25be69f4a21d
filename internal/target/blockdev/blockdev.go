// Package blockdev makes block devices in memory, and devices above them that
// record, corrupt, drop or fail what they are sent (the kernel's device mapper).
// Everything that it makes it removes, and what a killed process left, StaleDevices
// finds.
package blockdev

import (
	"errors"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Missing says what this kernel lacks for all that this package makes, as a
// *result.Failure; nil if nothing.
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

// Needs are the kernel modules of all that this package makes, in the order in
// which they are loaded. Disks alone need the first.
func Needs() []string { return []string{"loop", "dm-mod", "dm-log-writes", "dm-flakey"} }
