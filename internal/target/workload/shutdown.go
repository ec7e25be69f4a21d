package workload

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/ioc"
)

// fsShutdown is FS_IOC_SHUTDOWN, _IOR('X', 125, __u32) of fs/xfs/libxfs/xfs_fs.h, which ext4 and f2fs adopted.
var fsShutdown = ioc.Read('X', 125, 4)

// noLogFlush is its argument that prevents even the journal from being written.
const noLogFlush = 2

// Shutdown stops a mounted filesystem at once: nothing that it still holds in memory is written.
// For a filesystem without support the error is errors.ErrUnsupported.
func Shutdown(mount string) error {
	fd, err := unix.Open(mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	err = unix.IoctlSetPointerInt(fd, uint(fsShutdown), noLogFlush)
	if errors.Is(err, unix.ENOTTY) {
		return fmt.Errorf("it cannot be stopped, and the kernel may still write cached data: %w", errors.ErrUnsupported)
	}
	return err
}
