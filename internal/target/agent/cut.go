package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/target/mtd"
	"whichfs/internal/target/rawimage"
	"whichfs/internal/target/storage"
	"whichfs/internal/wire"
)

// readyForCut prepares a trial that will be cut off, or that inspects what such a trial left.
func (a *Agent) readyForCut(ctx context.Context, id uint64, t wire.Trial) error {
	if t.Chip == "" && !t.Place {
		return nil
	}
	if a.chip == nil {
		return result.Refuse("", "only a simulated raw chip can be given contents or be located in memory")
	}
	if t.Chip != "" {
		contents, err := readChip(ctx, t.Chip)
		if err != nil {
			return fmt.Errorf("contents for the simulated chip: %w", err)
		}
		defer contents.Close() //nolint:errcheck // memory
		if err := a.chip.Renew(ctx, contents); err != nil {
			return err
		}
	}
	if !t.Place {
		return nil
	}
	place, err := findChip()
	if err != nil {
		return result.Fail(result.Unsupported, "", "cannot find the simulated chip in this kernel's memory: %s", err.Error())
	}
	return a.conn.Send(wire.KindPlace, id, place)
}

// chipParts are the partitions of the simulated chip, in order: together they cover all of it.
var chipParts = []string{nandDevice, "/dev/mtd1"}

// findChip finds the simulated chip in memory. To do so it programs a page, and erases its block
// again.
func findChip() (kernelmemory.ChipPlace, error) {
	var found kernelmemory.ChipPlace
	pages, at, block := 0, 0, -1
	var on *mtd.Device
	for _, path := range chipParts {
		d, err := mtd.Open(path, true)
		if err != nil && os.IsNotExist(err) && pages > 0 {
			break // one partition over all of it
		}
		if err != nil {
			return found, err
		}
		defer d.Close() //nolint:errcheck // nothing is buffered
		if block < 0 {
			if block, err = freeBlock(d); err != nil {
				return found, err
			}
			on, at = d, pages+block*d.Pages()
		}
		pages += d.Blocks() * d.Pages()
	}
	if block < 0 {
		return found, errors.New("no block of it is good and erased")
	}
	known := make([]byte, on.PageSize+on.OOBSize)
	_, _ = rand.Read(known) // never fails
	for i := on.PageSize; i < len(known); i++ {
		known[i] = 0xff // no mark of a bad block
	}
	if err := on.WriteRaw(block, 0, known[:on.PageSize], known[on.PageSize:]); err != nil {
		return found, err
	}
	m, err := kernelmemory.Open("/proc")
	if err != nil {
		return found, err
	}
	defer m.Close() //nolint:errcheck // read only
	if found, err = m.FindChip(pages, len(known), at, known); err != nil {
		return found, err
	}
	return found, on.Erase(block)
}

// freeBlock is the first usable block without data; -1 for none.
func freeBlock(d *mtd.Device) (int, error) {
	data, oob := make([]byte, d.EraseSize), make([]byte, d.Pages()*d.OOBSize)
	for n := range d.Blocks() {
		bad, err := d.Bad(n)
		if err == nil && bad {
			continue
		}
		if err == nil {
			err = d.ReadRaw(n, 0, data, oob)
		}
		if err != nil || mtd.Erased(data) && mtd.Erased(oob) {
			return n, err
		}
	}
	return -1, nil
}

// readChip reads the contents of a chip from a disk.
func readChip(ctx context.Context, serial string) (*saved, error) {
	spec, err := media.Parse(media.KindSerial + ":" + serial)
	if err != nil {
		return nil, err
	}
	c, err := storage.Open(ctx, spec, "", storage.Options{ReadOnly: true, Lab: guest.Ours()})
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // read only
	f, err := os.Open(c.Path())
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	m, err := rawimage.Read(f)
	if err != nil {
		return nil, err
	}
	d, err := mtd.Open(nandDevice, false)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // read only
	return savedFrom(m, d.Info)
}

// savedFrom converts an image into contents that a chip can be renewed with. For a chip with two
// partitions, the first counts.
func savedFrom(m rawimage.Image, info mtd.Info) (*saved, error) {
	s := &saved{page: info.PageSize + info.OOBSize}
	if m.Bytes != s.page || m.Pages < info.Blocks()*info.Pages() {
		return nil, fmt.Errorf("%d pages of %d bytes for a chip of %d with %d", m.Pages, m.Bytes, info.Blocks()*info.Pages(), s.page)
	}
	var err error
	if s.memory, err = unix.Mmap(-1, 0, max(1, len(m.Written))*s.page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		return nil, fmt.Errorf("memory for %d pages: %w", len(m.Written), err)
	}
	for _, p := range m.Written {
		number, within := p.Number/info.Pages(), p.Number%info.Pages()
		if number >= info.Blocks() {
			break
		}
		if n := len(s.blocks); n == 0 || s.blocks[n-1].number != number {
			s.blocks = append(s.blocks, savedBlock{number: number})
		}
		b := &s.blocks[len(s.blocks)-1]
		if within < 2 && p.Data[info.PageSize+badMark(info)] != 0xff {
			b.bad = true
			s.count -= len(b.pages)
			b.pages = nil
		}
		if b.bad {
			continue // its contents are never read
		}
		copy(s.memory[s.count*s.page:], p.Data)
		b.pages = append(b.pages, within)
		s.count++
	}
	return s, nil
}

// badMark is the spare byte that is not 0xff in a bad block's first two pages
// (the kernel's nand_bbt.c: smallpage_based and largepage_based).
func badMark(info mtd.Info) int {
	if info.PageSize <= 512 {
		return 5
	}
	return 0
}
