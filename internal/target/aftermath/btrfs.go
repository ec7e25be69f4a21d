package aftermath

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Btrfs remembers the devices that it has seen, and takes one with an older
// state of the same filesystem for a mistake (fs/btrfs/volumes.c,
// device_list_add): each is forgotten when it was unmounted.

// forgetRequest is BTRFS_IOC_FORGET_DEV, _IOW(0x94, 5, struct btrfs_ioctl_vol_args);
// its number is the same on all architectures that whichfs has an agent for.
const forgetRequest = 0x50009405

type forgetArguments struct {
	fd   int64
	name [4088]byte
}

// forget makes a driver forget an unmounted device, by its control device. Where
// it cannot, the next mount says so.
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
