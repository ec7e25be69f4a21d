package blockdev

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Unreadable is a device on a disk of which some sectors cannot be read, until they are written
// (dm-dust; Linux Documentation/admin-guide/device-mapper/dm-dust.rst): a device replaces such a
// sector when it receives new contents.
type Unreadable struct{ dust *mapped }

// UnreadableNeeds is the kernel module for it.
const UnreadableNeeds = "dm-dust"

// NewUnreadable makes one. The sectors have 512 bytes.
func NewUnreadable(under *Disk, sectors []int64) (*Unreadable, error) {
	m, err := newMapped(under.Size(), "dust", fmt.Sprintf("%s 0 %d", under.Path(), sector))
	if err != nil {
		return nil, err
	}
	for _, n := range sectors {
		if err := m.message("addbadblock", strconv.FormatInt(n, 10)); err != nil {
			return nil, errors.Join(fmt.Errorf("making sector %d of %s unreadable: %w", n, under.Path(), err), m.close())
		}
	}
	if err := m.message("enable"); err != nil {
		return nil, errors.Join(fmt.Errorf("making sectors of %s unreadable: %w", under.Path(), err), m.close())
	}
	return &Unreadable{m}, nil
}

// Path is the path of the device: "/dev/dm-0".
func (u *Unreadable) Path() string { return u.dust.path() }

// Close removes the device, not the disk below it. If it is still in use, all further requests
// fail, and it disappears once it is no longer in use.
func (u *Unreadable) Close() error { return u.dust.close() }

// Spoil replaces one byte of each piece of the disk, of size bytes, where a block is not all zeros:
// whatever is read from now on is corrupted, as if on the way from the device. heal takes that back,
// except in sectors that have been written since: what a filesystem has read wrongly and written
// again stays. The disk may be mounted when this is called, but not for heal.
func (d *Disk) Spoil(size int64, spot Spot) (heal func() error, err error) {
	im, err := d.Snapshot()
	if err != nil {
		return nil, err
	}
	spoilt := map[int64][]byte{}
	for n, block := range im.Blocks {
		spoilt[n] = bytes.Clone(block)
		for at := spot.Offset; at < len(block); at += int(size) {
			spoilt[n][at] = spot.Value
		}
		copy(d.block(n), spoilt[n])
	}
	return func() error {
		if err := d.Drop(); err != nil {
			return err
		}
		for n, block := range im.Blocks {
			for at := 0; at < len(block); at += sector {
				if now := d.block(n)[at : at+sector]; bytes.Equal(now, spoilt[n][at:at+sector]) {
					copy(now, block[at:])
				}
			}
		}
		return nil
	}, nil
}
