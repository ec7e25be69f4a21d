package storage

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// wiped is how much is zeroed at either end. Every signature that tools search for is there:
	// btrfs at 64 KiB, a backup GPT and ZFS at the end.
	wiped = 1 << 20
	// discardPiece is the size of one discard request, so that a large device can be interrupted.
	// It is a multiple of every erase size.
	discardPiece = 1 << 30
)

// Discard empties the storage: it discards all of it and zeroes both ends, because a discard need
// not remove the data. If the device cannot discard, absent says why; the ends are zeroed all the
// same. The device must not be mounted. A disk in memory is filled with zeros. Raw flash is erased,
// and absent names the blocks that were not.
func (c *Claim) Discard(ctx context.Context) (absent string, err error) {
	if c.memory {
		return "", c.zero(ctx)
	}
	if c.flash != nil {
		return c.erase(ctx)
	}
	right, err := c.Right(nil, unix.O_EXCL)
	if err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	defer func() { err = errors.Join(err, right.Close()) }()
	if ok, why := c.device.Discards(); !ok {
		absent = why
	} else if absent, err = c.discardAll(ctx, right); err != nil {
		return "", err
	}
	if err := c.wipeEnds(right); err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	return absent, nil
}

func (c *Claim) discardAll(ctx context.Context, f *Right) (absent string, err error) {
	for start := int64(0); start < c.device.Size; start += discardPiece {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := c.Verify(); err != nil {
			return "", err
		}
		span := [2]uint64{uint64(start), uint64(min(discardPiece, c.device.Size-start))}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKDISCARD, uintptr(unsafe.Pointer(&span)))
		switch errno {
		case 0:
		case unix.EBUSY, unix.ENODEV, unix.ENXIO, unix.ENOMEDIUM, unix.EPERM, unix.EACCES, unix.EROFS, unix.EBADF:
			return "", fmt.Errorf("discarding %s: %w", c.named, errno)
		default:
			// Some devices promise to discard and then refuse (above all USB bridges). They work
			// without it.
			return fmt.Sprintf("the device refused to discard at offset %d: %v", start, errno), nil
		}
	}
	return "", nil
}

func (c *Claim) wipeEnds(f *Right) error {
	if err := c.Verify(); err != nil {
		return err
	}
	n := min(wiped, c.device.Size)
	zero := make([]byte, n)
	for _, at := range []int64{0, c.device.Size - n} {
		if _, err := f.WriteAt(zero, at); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	// Drop cached pages, which are older than the discard.
	return unix.IoctlSetInt(int(f.Fd()), unix.BLKFLSBUF, 0)
}
