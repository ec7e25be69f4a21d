package workload

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Takes reports whether a driver that is loaded accepts a mount option. It is asked without a device,
// through fsopen(2); where the kernel cannot be asked so (before Linux 5.2), or the driver judges
// options only when it mounts, the answer is yes, and the mount says more.
func Takes(fs, option string) bool {
	fd, err := unix.Fsopen(fs, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return true
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was mounted
	key, value, has := strings.Cut(option, "=")
	if has {
		err = unix.FsconfigSetString(fd, key, value)
	} else {
		err = unix.FsconfigSetFlag(fd, key)
	}
	return !errors.Is(err, unix.EINVAL)
}
