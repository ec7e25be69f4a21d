package qemu

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/target/rawimage"
)

// remains are the storage's contents after its guest was killed. The caller closes them.
type remains struct {
	plan planned
	loss flash.Loss

	// A simulated device, and its contents after the cut as a gzip file in memory.
	sim  *simulated
	held bytes.Buffer
	// keeps: the contents may be needed.
	keeps bool
	// killed: see cutter.
	killed bool

	// A simulated raw chip: the guest's memory, where the chip is in it, and the chip's contents.
	memory *os.File
	place  kernelmemory.ChipPlace
	image  rawimage.Image
}

// remains prepares to take the storage that a guest of this plan leaves.
func (c *cutter) remains(p planned) (*remains, error) {
	r := &remains{plan: p, keeps: c.order.Keep != "", killed: c.killed}
	if !c.raw {
		r.sim = p.config.sim
		return r, nil
	}
	if p.config.memory > mappedMemory {
		return nil, fmt.Errorf("the guest needs %d MiB of memory, but the chip can be found in at most %d", p.config.memory>>20, int64(mappedMemory)>>20)
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

// writer is the plan of the guest that is killed; it comes first.
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

// verifier is the plan of the guest that verifies the remains.
func (r *remains) verifier(h *host) (planned, error) {
	p := r.plan
	archive, err := labguest.InMemory("archive", h.archive)
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
	chip, err := labguest.InMemory("chip", stream.Bytes())
	if err != nil {
		_ = archive.Close()
		return p, err
	}
	p.files = append(p.files, chip)
	p.config.disks = append(slices.Clone(p.config.disks), disk{serial: chipSerial, file: descriptor(1), readOnly: true})
	return p, nil
}

// save saves the contents of the storage once its guest has ended.
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

// keep stores the contents in a file, and says where, or why not.
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

// fileName is a candidate as part of a file name.
func fileName(candidate string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '@', r == '+':
			return r
		}
		return '-'
	}, candidate)
}

// cut cuts the power. A guest whose device is in this process is stopped first, so that it does
// nothing in response to the missing answers.
func (r *remains) cut(g *guest) {
	if r.sim != nil && !r.killed {
		pid := g.process.Pid()
		if syscall.Kill(pid, syscall.SIGSTOP) == nil {
			_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil)
		}
		r.loss = r.sim.server.Cut()
	}
	_ = g.process.Kill() // the session's end reports a process that stays
}

// arrayFrame is the size of a frame of the chip's array of pages, in bytes.
const arrayFrame = 4096

// readChip reads a simulated chip out of a guest's memory, which begins at address 0 and is size
// bytes long. The guest must have ended. It is not trusted: its report and its memory may be
// damaged.
//
// A page that was being programmed may have memory that was allocated but not yet cleared, so that
// it still holds the old contents of that memory: garbage, like a real page whose programming was
// interrupted.
func readChip(memory io.ReaderAt, size int64, place kernelmemory.ChipPlace) (rawimage.Image, error) {
	m := rawimage.Image{Pages: place.Pages, Bytes: place.Bytes}
	switch {
	case place.Pages == 0:
		return m, errors.New("the guest did not report where the chip is")
	case size < max(arrayFrame, int64(place.Bytes)):
		return m, fmt.Errorf("the guest has %d bytes of memory", size)
	}
	if err := place.Check(); err != nil {
		return m, fmt.Errorf("the guest reported %w", err)
	}
	array := make([]byte, 0, len(place.Frames)*arrayFrame)
	for _, at := range place.Frames {
		if at > uint64(size)-arrayFrame {
			return m, fmt.Errorf("the guest reported a list at %#x, outside its memory of %d MiB", at, size>>20)
		}
		array = array[:len(array)+arrayFrame]
		if _, err := memory.ReadAt(array[len(array)-arrayFrame:], int64(at)); err != nil {
			return m, fmt.Errorf("the guest's memory at %#x: %w", at, err)
		}
	}
	for n := range place.Pages {
		pointer := binary.LittleEndian.Uint64(array[8*n:])
		if pointer == 0 {
			continue // erased
		}
		// Each page has its own memory.
		if int64(len(m.Written)+1)*int64(place.Bytes) > size {
			return m, fmt.Errorf("the chip's pages would take more than the guest's memory of %d MiB: the list of its pages is damaged", size>>20)
		}
		at := pointer - place.Direct
		if pointer < place.Direct || at > uint64(size)-uint64(place.Bytes) {
			return m, fmt.Errorf("page %d of the chip is at %#x, outside the guest's memory: the list of its pages is damaged", n, pointer)
		}
		data := make([]byte, place.Bytes)
		if _, err := memory.ReadAt(data, int64(at)); err != nil {
			return m, fmt.Errorf("the guest's memory at %#x: %w", at, err)
		}
		m.Written = append(m.Written, rawimage.Page{Number: n, Data: data})
	}
	return m, nil
}
