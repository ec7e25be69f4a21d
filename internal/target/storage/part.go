package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Part is a part of claimed storage that the kernel presents as a partition and that is in no
// partition table: it disappears when it is closed, or with the machine. StaleParts finds what a
// killed process left.
type Part struct {
	Path string // "/dev/vdb1"
	Name string // the kernel's, "vdb1"

	disk   *os.File // the whole device
	number int32
	dev    string // the kernel's number of it, "259:4"
	record string // path of the record that it is ours
}

// blkpgPartition is struct blkpg_partition of linux/blkpg.h.
type blkpgPartition struct {
	start, length int64 // B
	number        int32
	_             [64 + 64]byte // names, which are not used
}

// Part makes a partition of a part of the storage: length bytes from start, both multiples of 512.
// It returns a *Refusal for storage that is itself a partition, or on which the kernel cannot make
// partitions.
func (c *Claim) Part(start, length int64) (*Part, error) {
	if err := c.Verify(); err != nil {
		return nil, err
	}
	switch {
	case c.readOnly:
		return nil, errors.New("storage claimed for reading cannot be partitioned")
	case c.flash != nil:
		return nil, refuse(c.named, "name a partition of the flash, or leave the factor out",
			"it is raw flash, and only its driver makes partitions")
	case c.device.Partition != 0:
		return nil, refuse(c.named, "name the whole device, or leave the factor out",
			"it is a partition, and a filesystem at another place of the device needs the whole one")
	case start < 0 || length <= 0 || start%512 != 0 || length%512 != 0 || start+length > c.device.Size:
		return nil, refuse(c.named, "use larger storage", "%d bytes from byte %d on are not a range of 512-byte sectors within its %d bytes", length, start, c.device.Size)
	}
	p := &Part{disk: c.node, number: int32(len(c.device.Partitions)) + 1}
	r, err := c.o.Roots, error(nil)
	if p.record, err = r.record(partRecord{Boot: r.bootID(), Disk: c.device.Name, Sequence: c.device.Sequence,
		Number: int(p.number), Start: start, Length: length}); err != nil {
		return nil, err
	}
	if err := p.tell(unix.BLKPG_ADD_PARTITION, start, length); err != nil {
		_ = forget(p.record)
		if errors.Is(err, unix.EBUSY) {
			return nil, refuse(c.named, "use storage without partitions, or remove one that is in no partition table: delpart "+c.device.Path+" N",
				"a part of it overlaps one of its partitions")
		}
		return nil, refuse(c.named, "", "the kernel cannot make a partition on it: %v", err)
	}
	if err = p.find(r, c.device.Name); err == nil {
		err = r.complete(p.record, p.Name)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close removes the partition. It may be called more than once.
func (p *Part) Close() error {
	if p == nil || p.number == 0 {
		return nil
	}
	if err := p.remove(); err != nil {
		return fmt.Errorf("removing partition %d of %s: %w", p.number, p.disk.Name(), err)
	}
	p.number = 0
	return forget(p.record)
}

// remove has the kernel forget the partition, trying for a while: it is busy whenever a process has it open, and udev,
// blkid and whoever lists devices open it for a moment.
func (p *Part) remove() error {
	for deadline := time.Now().Add(momentary); ; time.Sleep(20 * time.Millisecond) {
		err := p.tell(unix.BLKPG_DEL_PARTITION, 0, 0)
		if !errors.Is(err, unix.EBUSY) || !time.Now().Before(deadline) {
			return err
		}
	}
}

func (p *Part) tell(op int32, start, length int64) error {
	part := blkpgPartition{start: start, length: length, number: p.number}
	arg := unix.BlkpgIoctlArg{Op: op, Datalen: int32(unsafe.Sizeof(part)), Data: (*byte)(unsafe.Pointer(&part))}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, p.disk.Fd(), unix.BLKPG, uintptr(unsafe.Pointer(&arg)))
	runtime.KeepAlive(&part)
	if errno != 0 {
		return errno
	}
	return nil
}

// find looks up the partition's name in sysfs, which knows how the kernel joins disk and number,
// and waits for its node: devtmpfs makes it at once, but udev may take a moment.
func (p *Part) find(r Roots, disk string) error {
	entries, err := filepath.Glob(filepath.Join(r.Sys, "class/block", disk, "*", "partition"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := filepath.Dir(e)
		if read(dir, "partition") == fmt.Sprint(p.number) {
			p.Name, p.dev = filepath.Base(dir), read(dir, "dev")
		}
	}
	if p.Name == "" {
		return fmt.Errorf("sysfs does not show partition %d of %s", p.number, disk)
	}
	p.Path = filepath.Join(r.Dev, p.Name)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err = os.Stat(p.Path); err == nil || time.Now().After(end) {
			return err
		}
	}
}
