package workload

import (
	"context"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/ioc"
)

// Trim tells the device which space of the mounted filesystem is free, as fstrim does; the amount
// is the device's figure for discards. It is absent if the filesystem or the device does not
// support it.
var Trim = Kind{Name: "trim", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	// A range of less than a block trims nothing, and every filesystem first checks whether it can
	// trim.
	if err := target.open(); err != nil {
		return Job{}, err
	}
	errno := fitrim(target.mountFD, &trimRange{Length: 1})
	target.close()
	switch errno {
	case 0, unix.EINVAL:
	case unix.EOPNOTSUPP:
		return Job{Absent: "the storage does not support discards, or " + env.FS.Title + " does not send any"}, nil
	case unix.ENOTTY:
		return Job{Absent: env.FS.Title + " has no fstrim"}, nil
	default:
		return Job{}, Subject("fstrim: %v", errno)
	}
	whole := &trimRange{Length: ^uint64(0)}
	return Job{Run: func(*Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		if errno := fitrim(target.mountFD, whole); errno != 0 {
			return errOp("fstrim", ".", errno)
		}
		return nil
	}}, nil
}}

// trimRange is struct fstrim_range of linux/fs.h, in bytes.
type trimRange struct{ Start, Length, MinLength uint64 }

// requestTrim is FITRIM of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
var requestTrim = ioc.ReadWrite('X', 121, unsafe.Sizeof(trimRange{}))

func fitrim(fd int, r *trimRange) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), requestTrim, uintptr(unsafe.Pointer(r)))
	return errno
}
