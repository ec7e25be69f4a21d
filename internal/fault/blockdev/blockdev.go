// Package blockdev makes block devices in memory, and devices above them that
// record, corrupt, drop or fail what they are sent (the kernel's device mapper).
// Everything that it makes it removes.
package blockdev

import (
	"errors"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

var errNotYet = errors.New("not built yet")

// Disk is a block device in memory: a loop device over a file in memory that
// this process has mapped. It is used from one goroutine.
type Disk struct{}

// NewDisk makes a disk of size bytes, all zeros.
func NewDisk(size int64) (*Disk, error) { return nil, errNotYet }

// Path is the device's: "/dev/loop3".
func (d *Disk) Path() string { return "" }

// Name is the kernel's: "loop3".
func (d *Disk) Name() string { return "" }

// Size in bytes.
func (d *Disk) Size() int64 { return 0 }

// Bytes are the contents, shared with the device. While nobody has the device
// open, what is written here is what the next who opens it sees.
func (d *Disk) Bytes() []byte { return nil }

// Snapshot copies what is not zero.
func (d *Disk) Snapshot() (fault.Image, error) { return fault.Image{}, errNotYet }

// Restore makes the contents those of the image, wherever they differ.
func (d *Disk) Restore(im fault.Image) error { return errNotYet }

// Close removes the device. One that is still in use goes when it no longer is.
func (d *Disk) Close() error { return nil }

// Recorder is a device that passes everything on to a disk and logs it
// (dm-log-writes).
type Recorder struct{}

// Record makes a recorder above under; at most most bytes of log are kept.
func Record(under *Disk, most int64) (*Recorder, error) { return nil, errNotYet }

// Path and Name of the device: "/dev/dm-0", "dm-0".
func (r *Recorder) Path() string { return "" }

// Name is the kernel's.
func (r *Recorder) Name() string { return "" }

// Mark puts a mark behind all that has completed.
func (r *Recorder) Mark(text string) error { return errNotYet }

// Log is what was recorded until now. A log that became too long is an error.
func (r *Recorder) Log() (writelog.Log, error) { return writelog.Log{}, errNotYet }

// Close removes the device, not the disk below it.
func (r *Recorder) Close() error { return nil }

// Mode is what a faulty device does with writes.
type Mode string

// The modes; reads are always passed on.
const (
	Good    Mode = "good"
	Corrupt Mode = "corrupt" // the first byte of each write's data becomes 0
	Drop    Mode = "drop"    // writes are said to be done, and are not
	Fail    Mode = "fail"    // writes end in an error
)

// Faulty is a device above a disk whose mode can be changed while it is in use
// (dm-flakey).
type Faulty struct{}

// NewFaulty makes one, Good at first.
func NewFaulty(under *Disk) (*Faulty, error) { return nil, errNotYet }

// Path of the device.
func (f *Faulty) Path() string { return "" }

// Name is the kernel's.
func (f *Faulty) Name() string { return "" }

// Set changes the mode; requests under way are finished in the old one.
func (f *Faulty) Set(m Mode) error { return errNotYet }

// Close removes the device, not the disk below it. One that is still in use is
// given errors for all further requests, and goes when it no longer is.
func (f *Faulty) Close() error { return nil }
