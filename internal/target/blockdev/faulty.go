package blockdev

import (
	"errors"
	"fmt"
)

// Mode is how a faulty device handles writes.
type Mode string

// The modes; reads are always passed on.
const (
	Good    Mode = "good"
	Corrupt Mode = "corrupt" // the first byte of each write's data becomes 0
	Drop    Mode = "drop"    // writes are acknowledged, but not done
	Fail    Mode = "fail"    // writes fail with an error
)

// behaviours are the modes in terms of dm-flakey: seconds as a good device and seconds as a bad
// one, in turn, and what is bad then (Linux Documentation/admin-guide/device-mapper/dm-flakey.rst).
// Zero seconds of one means the other forever.
var behaviours = map[Mode]string{
	Good:    "1 0",
	Corrupt: "0 1 5 corrupt_bio_byte 1 w 0 0",
	Drop:    "0 1 1 drop_writes",
	Fail:    "0 1 1 error_writes",
}

// Faulty is a device on a disk whose mode can be changed while it is in use (dm-flakey). If the
// process is killed it stays, with the disk below, until StaleDevices finds it or the guest ends.
//
// In mode Corrupt the kernel (6.1) changes the bytes in place before it writes them: in the page
// cache and in the filesystem's own memory, and with O_DIRECT in the caller's. Correct data must
// not be read from there.
type Faulty struct {
	under  *Disk
	flaky  *mapped
	pieces *mapped // above flaky, splits requests; nil if they stay whole
}

// NewFaulty makes one, initially Good. In mode Corrupt it changes one byte of each request, as
// dm-flakey does: 4 bytes of 8 MiB that ext4 writes at once.
func NewFaulty(under *Disk) (*Faulty, error) {
	f := &Faulty{under: under}
	var err error
	f.flaky, err = newMapped(under.Size(), "flakey", f.table(Good))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NewFaultyBlocks makes one that receives requests split into pieces of size bytes, a divisor of
// the disk's size and a multiple of 512, so that in mode Corrupt one byte of each piece is changed.
func NewFaultyBlocks(under *Disk, size int64) (*Faulty, error) {
	if size <= 0 || size%sector != 0 || under.Size()%size != 0 {
		return nil, fmt.Errorf("a disk of %d bytes cannot be written in pieces of %d", under.Size(), size)
	}
	f, err := NewFaulty(under)
	if err != nil {
		return nil, err
	}
	// Striping over a single device.
	f.pieces, err = newMapped(under.Size(), "striped", fmt.Sprintf("1 %d %s 0", size/sector, f.flaky.path()))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Faulty) table(m Mode) string { return f.under.Path() + " 0 " + behaviours[m] }

func (f *Faulty) top() *mapped {
	if f.pieces != nil {
		return f.pieces
	}
	return f.flaky
}

// Path is the path of the device: "/dev/dm-0".
func (f *Faulty) Path() string { return f.top().path() }

// Name is the kernel's name: "dm-0".
func (f *Faulty) Name() string { return f.top().dev() }

// Set changes the mode; requests in flight are finished in the old one.
func (f *Faulty) Set(m Mode) error {
	if behaviours[m] == "" {
		return fmt.Errorf("unknown mode %q of a faulty device", m)
	}
	return f.flaky.replace("flakey", f.table(m), 0)
}

// Close removes the device, not the disk below it. If it is still in use, all further requests
// fail, and it disappears once it is no longer in use.
func (f *Faulty) Close() error {
	var err error
	if f.pieces != nil {
		err = f.pieces.close()
	}
	return errors.Join(err, f.flaky.close())
}
