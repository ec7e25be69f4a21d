package aftermath

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/ioc"
)

// Btrfs remembers the devices that it has seen, and treats one with an older state of the same
// filesystem as a mistake (fs/btrfs/volumes.c, device_list_add): each device is forgotten after its
// unmount.

// forgetRequest is BTRFS_IOC_FORGET_DEV, _IOW(0x94, 5, struct btrfs_ioctl_vol_args).
var forgetRequest = ioc.Write(0x94, 5, unsafe.Sizeof(forgetArguments{}))

type forgetArguments struct {
	fd   int64
	name [4088]byte
}

// forget makes a driver forget an unmounted device, through its control device. If that fails, the
// next mount reports it.
func forget(control, device string) {
	if control == "" {
		return
	}
	fd, err := unix.Open(control, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var args forgetArguments
	copy(args.name[:len(args.name)-1], device)
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), forgetRequest, uintptr(unsafe.Pointer(&args)))
}
