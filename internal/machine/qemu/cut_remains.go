package qemu

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/kernelmemory"
	"whichfs/internal/rawimage"
)

// remains are what is left of storage when its guest is killed. close it.
type remains struct {
	plan planned
	loss flash.Loss

	// A simulated device, and what it held after the cut as a gzip file in memory.
	sim  *simulated
	held bytes.Buffer
	// keeps: the contents may be wanted.
	keeps bool
	// killed: as cutter has it.
	killed bool

	// A simulated raw chip: the guest's memory, where the chip is in it, and what
	// it held.
	memory *os.File
	place  kernelmemory.ChipPlace
	image  rawimage.Image
}

// remains makes ready what a guest of this plan leaves.
func (c *cutter) remains(p planned) (*remains, error) {
	r := &remains{plan: p, keeps: c.order.Keep != "", killed: c.killed}
	if !c.raw {
		r.sim = p.config.sim
		return r, nil
	}
	if p.config.memory > mappedMemory {
		return nil, fmt.Errorf("the guest needs %d MiB of memory, and the chip is found in %d at most", p.config.memory>>20, int64(mappedMemory)>>20)
	}
	fd, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for a guest: %w", err)
	}
	r.memory = os.NewFile(uintptr(fd), "memory")
	if err := r.memory.Truncate(p.config.memory); err != nil {
		r.close()
		return nil, fmt.Errorf("memory for a guest: %w", err)
	}
	return r, nil
}

func (r *remains) close() {
	if r.sim != nil {
		r.sim.close()
	}
	if r.memory != nil {
		_ = r.memory.Close()
		r.memory = nil
	}
}

// writer is the plan of the guest that is killed; it is the first.
func (r *remains) writer(*host) (planned, error) {
	p := r.plan
	if r.sim != nil {
		p.config.sim = r.sim.again()
		return p, nil
	}
	fd, err := unix.FcntlInt(r.memory.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return p, fmt.Errorf("the guest's memory: %w", err)
	}
	p.config.shared = descriptor(len(p.files))
	p.files = append(slices.Clone(p.files), os.NewFile(uintptr(fd), "memory"))
	return p, nil
}

// looker is the plan of the guest that looks at what is left.
func (r *remains) looker(h *host) (planned, error) {
	p := r.plan
	archive, err := inMemory("archive", h.archive)
	if err != nil {
		return p, err
	}
	p.files = []*os.File{archive}
	if r.sim != nil {
		p.config.sim = r.sim.again()
		return p, nil
	}
	var stream bytes.Buffer
	if err := r.image.Write(&stream); err != nil {
		return p, err
	}
	stream.Write(make([]byte, -stream.Len()&511)) // a disk has whole sectors
	chip, err := inMemory("chip", stream.Bytes())
	if err != nil {
		_ = archive.Close()
		return p, err
	}
	p.files = append(p.files, chip)
	p.config.disks = append(slices.Clone(p.config.disks), disk{serial: chipSerial, file: descriptor(1), readOnly: true})
	return p, nil
}

// save takes what the storage holds when its guest is gone.
func (r *remains) save() error {
	if r.sim == nil {
		var err error
		if r.image, err = readChip(r.memory, r.plan.config.memory, r.place); err != nil {
			return err
		}
		err = r.memory.Close() // as large as the guest
		r.memory = nil
		return err
	}
	if !r.keeps {
		return nil
	}
	z, err := gzip.NewWriterLevel(&r.held, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := r.sim.server.Contents(func(_ int64, data []byte) error { _, err := z.Write(data); return err }); err != nil {
		return err
	}
	return z.Close()
}

// keep keeps the contents in a file, and says where, or why not.
func (r *remains) keep(dir, name string) string {
	if dir == "" {
		return "its contents were not kept"
	}
	write, path := r.image.Dump, filepath.Join(dir, name+".nand.gz")
	if r.sim != nil {
		write = func(to io.Writer) error { _, err := to.Write(r.held.Bytes()); return err }
		path = filepath.Join(dir, name+".img.gz")
	}
	err := os.MkdirAll(dir, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.Create(path)
	}
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return "its contents could not be kept: " + err.Error()
	}
	return "its contents before it was mounted again: " + path
}

// fileName is a candidate as a part of a file's name.
func fileName(candidate string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '@', r == '+':
			return r
		}
		return '-'
	}, candidate)
}
