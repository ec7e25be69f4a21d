package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
)

// StalePart is a partition that a process, now dead, added to the kernel as Part does.
type StalePart struct {
	Name   string // the kernel's, "vdb1"
	record string // path
	is     partRecord
	disk   Device
	doubt  string // why it may be a different partition; "" if it cannot
}

func (s StalePart) String() string {
	return fmt.Sprintf("partition %s, %s from byte %d of %s, known only to the kernel", s.Name, media.FormatSize(s.is.Length), s.is.Start, s.disk.Path)
}

// StaleParts lists those that the kernel still has.
func StaleParts(r Roots) []StalePart {
	r = r.filled()
	var out []StalePart
	for _, path := range r.deadRecords() {
		if s, spent := r.stalePart(path); !spent {
			out = append(out, s)
		}
	}
	return out
}

// stalePart finds the partition of a dead process's record. The record is spent if there is none:
// the partition was never made, is gone, or was replaced by another.
func (r Roots) stalePart(record string) (s StalePart, spent bool) {
	s.record = record
	text, err := os.ReadFile(record)
	if err != nil || !s.is.parse(text) || s.is.Boot != r.bootID() {
		return s, true
	}
	if s.disk, err = r.byName(s.is.Disk); err != nil || s.disk.Partition != 0 {
		return s, true
	}
	// The same node is the same partition, whatever the disk's sequence: a loop device that does
	// not scan for partitions keeps them when it gets another file (drivers/block/loop.c,
	// __loop_clr_fd).
	if s.is.Node == 0 && s.disk.Sequence != s.is.Sequence {
		return s, true
	}
	for _, name := range s.disk.Partitions {
		dir := filepath.Join(s.disk.dir, name)
		if read(dir, "partition") != strconv.Itoa(s.is.Number) {
			continue
		}
		start, errStart := strconv.ParseInt(read(dir, "start"), 10, 54)
		length, errLength := strconv.ParseInt(read(dir, "size"), 10, 54)
		node, errNode := inode(dir)
		if errors.Join(errStart, errLength, errNode) != nil || start*512 != s.is.Start || length*512 != s.is.Length || s.is.Node != 0 && node != s.is.Node {
			return s, true
		}
		if s.is.Node == 0 {
			s.doubt = doubt(s.disk)
		}
		s.Name = name
		return s, false
	}
	return s, true
}

// doubt is for a partition whose maker was killed between making it and recording its inode: it
// says why the partition may come from a partition table.
func doubt(disk Device) string {
	f, err := os.Open(disk.Path)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // read only
	start := make([]byte, 8192)
	n, err := f.ReadAt(start, 0)
	start = start[:n]
	sign := func(at int, text string) bool {
		return len(start) >= at+len(text) && string(start[at:at+len(text)]) == text
	}
	switch {
	case n < 512:
		return fmt.Sprintf("reading %s: %v", disk.Path, err)
	case sign(510, "\x55\xaa"), sign(512, "EFI PART"), sign(4096, "EFI PART"):
		return disk.Path + " seems to have a partition table"
	}
	return ""
}

// Remove removes the partition if it is still the same one. It is refused while a run uses the
// disk.
func (s StalePart) Remove(r Roots) error {
	r = r.filled()
	lock, err := lockFile(context.Background(), s.disk.disk, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", s.disk.Path, err)
	}
	defer lock.Close() //nolint:errcheck // releases the lock
	return r.removeStale(s.record)
}

// removeStale is Remove for the holder of the disk's lock.
func (r Roots) removeStale(record string) error {
	s, spent := r.stalePart(record)
	if !spent {
		if s.doubt != "" {
			return fmt.Errorf("it may not be ours: %s; if it is: delpart %s %d", s.doubt, s.disk.Path, s.is.Number)
		}
		disk, err := os.Open(s.disk.Path)
		if err != nil {
			return err
		}
		defer disk.Close() //nolint:errcheck // nothing is written
		p := Part{disk: disk, number: int32(s.is.Number)}
		switch err := p.remove(); {
		case errors.Is(err, unix.EBUSY):
			return errors.New(r.InUse(s.Name))
		case err != nil:
			return err
		}
	}
	return forget(record)
}

// InUse says that a device is in use and, if known, by which process.
func (r Roots) InUse(name string) string {
	r = r.filled()
	text := "it is in use"
	if d, err := r.byName(name); err == nil {
		found, _ := r.held(d)
		for i, f := range found {
			text += []string{": ", "; "}[min(i, 1)] + f.text
		}
	}
	return text
}

// dropStale removes the partitions that dead processes left on a disk whose lock we hold, and
// returns the disk without them.
func (r Roots) dropStale(d Device) (Device, error) {
	for _, s := range StaleParts(r) {
		if s.disk.Name != d.Name {
			continue
		}
		if err := r.removeStale(s.record); err != nil {
			return d, refuse(d.Path, "", "%s, left by a killed whichfs, cannot be removed: %v", s, err)
		}
	}
	d.Partitions = partitions(d.dir)
	return d, nil
}
