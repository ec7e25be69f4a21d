package blockdev

import (
	"errors"
	"fmt"
	"os"

	"whichfs/internal/fault"
	"whichfs/internal/result"
)

// Mode is how a faulty device handles requests.
type Mode string

// The modes; what a mode does not name is passed on.
const (
	Good         Mode = "good"
	Corrupt      Mode = "corrupt"       // a byte of each write's data is replaced
	CorruptReads Mode = "corrupt reads" // a byte of what each read returns is replaced: see CorruptsReads
	Drop         Mode = "drop"          // writes are acknowledged, but not done
	Fail         Mode = "fail"          // writes fail with an error
)

// Spot is the byte that a corrupting device replaces in each request. A shorter request stays as it
// is.
type Spot struct {
	Offset int // B, from the beginning of the request's data
	Value  byte
}

// behaviours are the modes in terms of dm-flakey: seconds as a good device and seconds as a bad
// one, in turn, and what is bad then (Linux Documentation/admin-guide/device-mapper/dm-flakey.rst).
// Zero seconds of one means the other forever.
func (s Spot) behaviours() map[Mode]string {
	return map[Mode]string{
		Good:         "1 0",
		Corrupt:      fmt.Sprintf("0 1 5 corrupt_bio_byte %d w %d 0", s.Offset+1, s.Value),
		CorruptReads: fmt.Sprintf("0 1 5 corrupt_bio_byte %d r %d 0", s.Offset+1, s.Value),
		Drop:         "0 1 1 drop_writes",
		Fail:         "0 1 1 error_writes",
	}
}

// Faulty is a device on a disk whose mode can be changed while it is in use (dm-flakey). If the
// process is killed it stays, with the disk below, until StaleDevices finds it or the guest ends.
//
// In mode Corrupt the kernel (6.1) changes the bytes in place before it writes them: in the page
// cache and in the filesystem's own memory, and with O_DIRECT in the caller's. Correct data must
// not be read from there.
type Faulty struct {
	under *Disk
	spot  Spot
	flaky *mapped
}

// NewFaulty makes one, initially Good. In a corrupting mode it changes one byte of each request, as
// dm-flakey does: 4 bytes of 8 MiB that ext4 writes at once.
func NewFaulty(under *Disk, spot Spot) (*Faulty, error) {
	f := &Faulty{under: under, spot: spot}
	var err error
	f.flaky, err = newMapped(under.Size(), "flakey", f.table(Good))
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Faulty) table(m Mode) string { return f.under.Path() + " 0 " + f.spot.behaviours()[m] }

// Path is the path of the device: "/dev/dm-0".
func (f *Faulty) Path() string { return f.flaky.path() }

// Name is the kernel's name: "dm-0".
func (f *Faulty) Name() string { return f.flaky.dev() }

// Set changes the mode; requests in flight are finished in the old one.
func (f *Faulty) Set(m Mode) error {
	if f.spot.behaviours()[m] == "" {
		return fmt.Errorf("unknown mode %q of a faulty device", m)
	}
	return f.flaky.replace("flakey", f.table(m), 0)
}

// Close removes the device, not the disk below it. If it is still in use, all further requests
// fail, and it disappears once it is no longer in use.
func (f *Faulty) Close() error { return f.flaky.close() }

// CorruptsReads says, as a *result.Failure, that this kernel's dm-flakey leaves reads as they are;
// nil if it does change them. Until Linux 6.15, and its backports to the stable series, dm-flakey
// looked for the data of a read after the kernel had counted it as done, and found none.
func CorruptsReads() (err error) {
	disk, err := NewDisk(fault.BlockSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	disk.Bytes()[0] = 'o'
	f, err := NewFaulty(disk, Spot{Value: 'x'})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Set(CorruptReads); err != nil {
		return err
	}
	file, err := os.Open(f.Path())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	var first [1]byte
	if _, err := file.ReadAt(first[:], 0); err != nil {
		return err
	}
	if first[0] != 'x' {
		return result.Fail(result.Unsupported, "use a kernel that can, with --kernel", "the device mapper of this kernel corrupts no read (dm-flakey before Linux 6.15)")
	}
	return nil
}
