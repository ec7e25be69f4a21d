package qemu

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/powercut"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/target/rawimage"
	"whichfs/internal/wire"
)

const (
	// mappedMemory is the size up to which a guest's memory is at contiguous addresses from 0 (q35
	// moves the rest beyond 4 GiB).
	mappedMemory = 2 << 30

	chipSerial = "chip"
)

// Cut implements machine.Cutter. Each cut takes two guests: one that is killed while the filesystem
// is being written, and one that verifies what it left. A simulated card, stick or disk is part of
// this process and loses what was not durable; a simulated raw chip is in the memory of the guest,
// a file from which this process reads the chip once the guest has ended.
func (s *Session) Cut(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
	under := s.plan.spec
	if under.Kind == media.KindNAND && s.plan.config.arch != "amd64" {
		return powercut.No(result.Unsupported, "the simulated chip ends with its guest, and can be recovered only from the memory of amd64 guests"), nil
	}
	return powercut.Run(ctx, order, under, func(uint64) (powercut.Storage, error) { return s.remains(ctx, order.Keep != "") }, events)
}

// remains are the storage of one cut, and its contents after the guest was killed.
type remains struct {
	lab  *Machine
	host *host
	spec machine.Spec
	plan planned
	loss flash.Loss

	// A simulated device, and its contents after the cut as a gzip file in memory.
	sim  *simulated
	held bytes.Buffer
	// keeps: the contents may be needed.
	keeps bool

	// A simulated raw chip: the guest's memory, where the chip is in it, and the chip's contents.
	memory *os.File
	place  kernelmemory.ChipPlace
	image  rawimage.Image
}

// remains prepares storage like the session's, and to take what its guest leaves.
func (s *Session) remains(ctx context.Context, keeps bool) (*remains, error) {
	r := &remains{lab: s.lab, spec: s.spec, keeps: keeps}
	// The guests need no data sets, but real time, in which the power is cut.
	r.spec.Data, r.spec.Instructions, r.spec.Memory = nil, false, 0
	var err error
	if r.host, err = r.lab.hostFor(ctx, r.spec); err != nil {
		return nil, err
	}
	if r.plan, err = r.lab.plan(r.host, r.spec); err != nil {
		return nil, err
	}
	if r.sim = r.plan.config.sim; r.sim != nil {
		return r, nil
	}
	if r.plan.config.memory > mappedMemory {
		return nil, fmt.Errorf("the guest needs %d MiB of memory, but the chip can be found in at most %d", r.plan.config.memory>>20, int64(mappedMemory)>>20)
	}
	fd, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for a guest: %w", err)
	}
	r.memory = os.NewFile(uintptr(fd), "memory")
	if err := r.memory.Truncate(r.plan.config.memory); err != nil {
		r.Close()
		return nil, fmt.Errorf("memory for a guest: %w", err)
	}
	return r, nil
}

// Close implements powercut.Storage.
func (r *remains) Close() {
	if r.sim != nil {
		r.sim.close()
	}
	if r.memory != nil {
		_ = r.memory.Close()
		r.memory = nil
	}
}

// Write implements powercut.Storage.
func (r *remains) Write(ctx context.Context, t wire.Trial, after time.Duration, safe func(int64)) (wire.Done, error) {
	p, err := r.writer()
	if err != nil {
		return wire.Done{}, err
	}
	s, err := r.lab.run(ctx, r.host, p, r.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // it is dead
	var (
		once sync.Once
		cut  bool
		quit = make(chan struct{})
		over sync.WaitGroup
	)
	events := machine.Events{
		Place: func(p kernelmemory.ChipPlace) { r.place = p },
		Safe: func(number int64) {
			safe(number)
			once.Do(func() {
				over.Add(1)
				go func() {
					defer over.Done()
					select {
					case <-time.After(after):
						r.cut(s.guest)
						cut = true
					case <-quit:
					}
				}()
			})
		},
	}
	t.Place = r.memory != nil
	done, err := s.Client.Trial(ctx, t, events)
	close(quit)
	over.Wait()
	if done, err = powercut.Ended(ctx, cut, done, err); err != nil || !cut {
		return done, err
	}
	_ = s.Close() // nothing changes any more
	if err := r.save(); err != nil {
		return done, &result.Failure{Outcome: result.LabFailed, Reason: "cannot read the chip's contents at the time its guest was killed", Err: err}
	}
	return done, nil
}

// Neighbours implements powercut.Storage.
func (r *remains) Neighbours() int64 { return r.loss.Neighbours }

// Verify implements powercut.Storage.
func (r *remains) Verify(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	p, err := r.verifier()
	if err != nil {
		return wire.Done{}, err
	}
	s, err := r.lab.run(ctx, r.host, p, r.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // everything needed has arrived
	if r.sim == nil {
		t.Chip = chipSerial
	}
	return s.Client.Trial(ctx, t, events)
}

// Keep implements powercut.Storage.
func (r *remains) Keep(_ context.Context, dir, name string) string {
	if r.sim == nil {
		return powercut.Save(dir, name+".nand.gz", r.image.Dump)
	}
	return powercut.Save(dir, name+".img.gz", func(to io.Writer) error { _, err := to.Write(r.held.Bytes()); return err })
}

// writer is the plan of the guest that is killed; it comes first.
func (r *remains) writer() (planned, error) {
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
func (r *remains) verifier() (planned, error) {
	p := r.plan
	archive, err := labguest.InMemory("archive", r.host.archive)
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

// cut cuts the power. A guest whose device is in this process is stopped first, so that it does
// nothing in response to the missing answers.
func (r *remains) cut(g *guest) {
	if r.sim != nil {
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
