package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/target/mtd"
	"whichfs/internal/target/workload"
)

// saved are the contents of a chip, block by block. The memory is the kernel's, outside the garbage
// collector: it is as large as the contents of the chip.
type saved struct {
	memory []byte
	blocks []savedBlock
	page   int // B, with the spare bytes
	count  int // pages
}

// savedBlock is a block with contents.
type savedBlock struct {
	number int
	bad    bool
	pages  []int // numbers within the block, ascending; in memory they have the same order
}

// Bytes implements workload.Contents.
func (s *saved) Bytes() int64 { return int64(s.count) * int64(s.page) }

// Close frees the memory; it may be called more than once.
func (s *saved) Close() error {
	if s.memory == nil {
		return nil
	}
	err := unix.Munmap(s.memory)
	s.memory = nil
	return err
}

// Save implements workload.Chip. A filesystem's own threads may move what it holds while the chip is read, from a block that is
// read later to one that was read before; so it is read until nothing has changed between two readings: in between, all of
// it was as it is saved.
func (c *simulatedChip) Save(ctx context.Context) (workload.Contents, error) {
	d, err := mtd.Open(nandDevice, false)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // read only
	quick, err := c.atOnce()
	if err != nil {
		return nil, err
	}
	s, err := save(ctx, shape{d.Blocks(), d.Pages(), d.PageSize, d.OOBSize}, d)
	if err = errors.Join(err, quick()); err != nil {
		if s != nil {
			_ = s.Close()
		}
		return nil, fmt.Errorf("saving the contents of the simulated chip: %w", err)
	}
	return s, nil
}

// shape is a chip's: numbers of blocks and of pages in each, and bytes of a page.
type shape struct{ blocks, pages, data, spare int }

// rawChip is what is read of a chip; mtd.Device has it.
type rawChip interface {
	Bad(block int) (bool, error)
	ReadRaw(block, page int, data, spare []byte) error
}

// mostReadings is how often a chip is read at most: threads that clean a whole chip up end earlier.
const mostReadings = 100

func save(ctx context.Context, of shape, chip rawChip) (*saved, error) {
	s := &saved{page: of.data + of.spare}
	var err error
	// Pages that are never touched take no memory.
	if s.memory, err = unix.Mmap(-1, 0, of.blocks*of.pages*s.page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE); err != nil {
		return nil, fmt.Errorf("memory for it: %w", err)
	}
	for range mostReadings {
		if same, err := s.read(ctx, of, chip); same || err != nil {
			return s, err
		}
	}
	return s, fmt.Errorf("its filesystem goes on writing: no two of %d readings are equal", mostReadings)
}

// read replaces what is saved by what the chip has now. It returns true if that has not changed since the last call.
func (s *saved) read(ctx context.Context, of shape, chip rawChip) (same bool, err error) {
	before := s.blocks
	s.blocks, s.count, same = []savedBlock{}, 0, before != nil
	data, spare := make([]byte, of.pages*of.data), make([]byte, of.pages*of.spare)
	for n := range of.blocks {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		bad, err := chip.Bad(n)
		if err != nil {
			return false, err
		}
		if bad {
			s.blocks = append(s.blocks, savedBlock{number: n, bad: true})
			continue
		}
		if err := chip.ReadRaw(n, 0, data, spare); err != nil {
			return false, err
		}
		b := savedBlock{number: n}
		for p := range of.pages {
			main, beside := data[p*of.data:(p+1)*of.data], spare[p*of.spare:(p+1)*of.spare]
			if mtd.Erased(main) && mtd.Erased(beside) {
				continue
			}
			to := s.memory[s.count*s.page : (s.count+1)*s.page]
			if same && !(bytes.Equal(to[:of.data], main) && bytes.Equal(to[of.data:], beside)) {
				if same, err = random(of, chip, n, p, main, beside); err != nil {
					return false, err
				}
			}
			if !same {
				copy(to[copy(to, main):], beside)
			}
			b.pages = append(b.pages, p)
			s.count++
		}
		if len(b.pages) > 0 {
			s.blocks = append(s.blocks, b)
		}
	}
	return same && slices.EqualFunc(before, s.blocks, func(a, b savedBlock) bool {
		return a.number == b.number && a.bad == b.bad && slices.Equal(a.pages, b.pages)
	}), nil
}

// random reports whether a page reads differently each time, as one does that has lost its data.
func random(of shape, chip rawChip, block, page int, main, beside []byte) (bool, error) {
	data, spare := make([]byte, of.data), make([]byte, of.spare)
	if err := chip.ReadRaw(block, page, data, spare); err != nil {
		return false, err
	}
	return !bytes.Equal(data, main) || !bytes.Equal(spare, beside), nil
}

// Renew implements workload.Chip.
func (c *simulatedChip) Renew(ctx context.Context, contents workload.Contents) error {
	if err := c.renew(); err != nil {
		return err
	}
	c.used = true
	if contents == nil {
		return nil
	}
	s, ok := contents.(*saved)
	if !ok {
		return fmt.Errorf("contents of another kind of chip: %T", contents)
	}
	d, err := mtd.Open(nandDevice, true)
	if err != nil {
		return err
	}
	quick, err := c.atOnce()
	if err == nil {
		err = errors.Join(s.program(ctx, d), quick())
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("writing contents to a new simulated chip: %w", err)
	}
	return nil
}

// program writes contents to an erased chip, and reads a sample back.
func (s *saved) program(ctx context.Context, d *mtd.Device) error {
	if s.page != d.PageSize+d.OOBSize {
		return fmt.Errorf("pages of %d bytes on a chip whose pages have %d", s.page, d.PageSize+d.OOBSize)
	}
	data, oob := make([]byte, d.PageSize), make([]byte, d.OOBSize)
	at := 0
	for _, b := range s.blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if b.bad {
			// Blocks that the storage's own parameters mark as bad are bad already; one that went
			// bad since is marked again, and its contents are never read.
			bad, err := d.Bad(b.number)
			if err == nil && !bad {
				err = d.MarkBad(b.number)
			}
			if err != nil {
				return err
			}
			continue
		}
		for i, p := range b.pages {
			page := s.memory[at : at+s.page]
			at += s.page
			if err := d.WriteRaw(b.number, p, page[:d.PageSize], page[d.PageSize:]); err != nil {
				return err
			}
			if i > 0 {
				continue // a sample is enough: the first page with data in each block
			}
			if err := d.ReadRaw(b.number, p, data, oob); err != nil {
				return err
			}
			if string(data) != string(page[:d.PageSize]) || string(oob) != string(page[d.PageSize:]) {
				return fmt.Errorf("page %d of block %d differs from what was written", p, b.number)
			}
		}
	}
	return nil
}
