package storage

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// RAMUncounted says why a disk in memory has no figures of traffic.
const RAMUncounted = "the kernel does not count the traffic of a disk in memory (brd)"

// ramName is the first disk of the kernel's brd module.
const ramName = "ram0"

// RAMParameters are the parameters of the brd module for a disk of size bytes: one disk, without
// partitions.
func RAMParameters(size int64) string {
	return fmt.Sprintf("rd_nr=1 max_part=0 rd_size=%d", size>>10) // KiB
}

// openRAM claims the disk in memory that the guest's agent has made, and fills it with zeros to
// allocate all of its pages: otherwise the first write to a page would pay for its allocation.
func (c *Claim) openRAM(ctx context.Context, size int64) error {
	var err error
	if c.device, err = c.o.Roots.byName(ramName); errors.Is(err, errNoDevice) {
		return refuse(c.named, "use --machine lab", "there is no RAM disk (/dev/%s): such storage exists only in the lab", ramName)
	}
	if err != nil {
		return err
	}
	if c.device.Size != size {
		return fmt.Errorf("%s has %d bytes instead of %d", c.device.Path, c.device.Size, size)
	}
	c.path = c.device.Path
	c.name = "disk of " + media.FormatSize(size) + " in the guest's memory"
	c.memory = true
	c.extra = append(c.extra,
		result.Condition{Group: "storage", Name: "lab storage", Value: "disk in the guest's memory (brd); it takes no time but the processor's", Matters: true},
		result.Condition{Group: "storage", Name: "flushes", Value: "cost nothing: memory keeps nothing back", Matters: true})
	if err := c.hold(ctx); err != nil {
		return err
	}
	_, err = c.Discard(ctx)
	return err
}

// zero overwrites a disk in memory, which has no discard to empty it with. It bypasses the page
// cache, which then drops its pages of the disk.
func (c *Claim) zero(ctx context.Context) error {
	f, err := c.Right(nil, unix.O_EXCL|unix.O_DIRECT)
	if err != nil {
		return fmt.Errorf("emptying %s: %w", c.named, err)
	}
	const piece = 1 << 20
	zeros, err := unix.Mmap(-1, 0, piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return errors.Join(fmt.Errorf("memory to empty %s with: %w", c.named, err), f.Close())
	}
	defer unix.Munmap(zeros) //nolint:errcheck // nothing to do about it
	for at := int64(0); at < c.device.Size; at += piece {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), f.Close())
		}
		if _, err := f.WriteAt(zeros[:min(piece, c.device.Size-at)], at); err != nil {
			return errors.Join(fmt.Errorf("emptying %s: %w", c.named, err), f.Close())
		}
	}
	return f.Close()
}
