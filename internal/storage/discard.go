package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// wiped is how much is zeroed at either end. Every signature that tools
	// look for is there: btrfs at 64 KiB, a backup GPT and ZFS at the end.
	wiped = 1 << 20
	// discardPiece is discarded at a time, so that a large device can be
	// interrupted. It is a multiple of every erase size.
	discardPiece = 1 << 30
)

// Discard empties the storage: all of it is discarded, and both ends are
// zeroed, because a discard need not remove what was there. absent says why
// nothing was discarded, where the device cannot; the ends are zeroed then too.
// Nobody may have the device mounted. A disk in memory is filled with zeros.
// Raw flash is erased, and absent says what stayed as it was.
func (c *Claim) Discard(ctx context.Context) (absent string, err error) {
	if c.readOnly {
		return "", fmt.Errorf("emptying %s: %w", c.named, errReading)
	}
	if c.memory {
		return "", c.zero(ctx)
	}
	if c.flash != nil {
		return c.erase(ctx)
	}
	f, err := os.OpenFile(c.path, unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return "", refuse(c.named, "", "it is in use: the kernel or another program holds it exclusively")
	}
	if err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if ok, why := c.device.Discards(); !ok {
		absent = why
	} else if absent, err = c.discardAll(ctx, f); err != nil {
		return "", err
	}
	if err := c.wipeEnds(f); err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	return absent, nil
}

func (c *Claim) discardAll(ctx context.Context, f *os.File) (absent string, err error) {
	for start := int64(0); start < c.device.Size; start += discardPiece {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		span := [2]uint64{uint64(start), uint64(min(discardPiece, c.device.Size-start))}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKDISCARD, uintptr(unsafe.Pointer(&span)))
		switch errno {
		case 0:
		case unix.EBUSY, unix.ENODEV, unix.ENXIO, unix.ENOMEDIUM, unix.EPERM, unix.EACCES, unix.EROFS, unix.EBADF:
			return "", fmt.Errorf("discarding %s: %w", c.named, errno)
		default:
			// Some devices promise to discard and then refuse (USB bridges
			// above all). They work without.
			return fmt.Sprintf("the device refused to discard at offset %d: %v", start, errno), nil
		}
	}
	return "", nil
}

func (c *Claim) wipeEnds(f *os.File) error {
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
	// What the page cache holds of the device is older than the discard.
	return unix.IoctlSetInt(int(f.Fd()), unix.BLKFLSBUF, 0)
}
