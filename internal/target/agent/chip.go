package agent

import (
	"context"
	"errors"
	"fmt"

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

// Save implements workload.Chip.
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
	s, err := c.save(ctx, d)
	if err = errors.Join(err, quick()); err != nil {
		if s != nil {
			_ = s.Close()
		}
		return nil, fmt.Errorf("saving the contents of the simulated chip: %w", err)
	}
	return s, nil
}

func (c *simulatedChip) save(ctx context.Context, d *mtd.Device) (*saved, error) {
	s := &saved{page: d.PageSize + d.OOBSize}
	var err error
	// Pages that are never touched take no memory.
	if s.memory, err = unix.Mmap(-1, 0, d.Blocks()*d.Pages()*s.page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE); err != nil {
		return nil, fmt.Errorf("memory for it: %w", err)
	}
	data, oob := make([]byte, d.EraseSize), make([]byte, d.Pages()*d.OOBSize)
	for n := range d.Blocks() {
		if ctx.Err() != nil {
			return s, context.Cause(ctx)
		}
		bad, err := d.Bad(n)
		if err != nil {
			return s, err
		}
		if bad {
			s.blocks = append(s.blocks, savedBlock{number: n, bad: true})
			continue
		}
		if err := d.ReadRaw(n, 0, data, oob); err != nil {
			return s, err
		}
		b := savedBlock{number: n}
		for p := range d.Pages() {
			main, spare := data[p*d.PageSize:(p+1)*d.PageSize], oob[p*d.OOBSize:(p+1)*d.OOBSize]
			if mtd.Erased(main) && mtd.Erased(spare) {
				continue
			}
			to := s.memory[s.count*s.page:]
			copy(to[copy(to, main):], spare)
			b.pages = append(b.pages, p)
			s.count++
		}
		if len(b.pages) > 0 {
			s.blocks = append(s.blocks, b)
		}
	}
	return s, nil
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
