package blockdev

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
)

// Contents are an image prepared to be restored to disks repeatedly.
type Contents struct {
	size   int64
	blocks []states.Block // by number; none is all zeros
}

var zeros [fault.BlockSize]byte

// NewContents prepares an image, sharing its blocks.
func NewContents(im fault.Image) (*Contents, error) {
	c := &Contents{size: im.Size}
	for _, n := range slices.Sorted(maps.Keys(im.Blocks)) {
		b := states.Block{Number: n, Data: im.Blocks[n]}
		if err := within(b, im.Size); err != nil {
			return nil, err
		}
		if !bytes.Equal(b.Data, zeros[:]) {
			c.blocks = append(c.blocks, b)
		}
	}
	return c, nil
}

func within(b states.Block, size int64) error {
	if len(b.Data) != fault.BlockSize || b.Number < 0 || b.Number >= size/fault.BlockSize {
		return fmt.Errorf("block %d of %d bytes does not fit a disk of %d bytes in blocks of %d", b.Number, len(b.Data), size, fault.BlockSize)
	}
	return nil
}

// Snapshot copies all blocks that are not zero. The disk may be mounted.
func (d *Disk) Snapshot() (fault.Image, error) {
	im := fault.Image{Size: d.size, Blocks: map[int64][]byte{}}
	if err := d.flush(); err != nil {
		return fault.Image{}, err
	}
	err := d.resident(func(first, end int64) error {
		for n := first; n < end; n++ {
			if b := d.block(n); !bytes.Equal(b, zeros[:]) {
				im.Blocks[n] = bytes.Clone(b)
			}
		}
		return nil
	})
	if err != nil {
		return fault.Image{}, err
	}
	return im, nil
}

// Restore makes the disk equal to the image, wherever they differ.
func (d *Disk) Restore(im fault.Image) error {
	c, err := NewContents(im)
	if err != nil {
		return err
	}
	return d.Set(c, nil)
}

// Put writes one block of fault.BlockSize bytes. See Drop for when.
func (d *Disk) Put(number int64, block []byte) error {
	if err := within(states.Block{Number: number, Data: block}, d.size); err != nil {
		return err
	}
	copy(d.block(number), block)
	return nil
}

// Set makes the contents those of base, with the changed blocks replacing its own; the last counts
// where a number comes twice. It is the fast way to the next state: only blocks that differ are
// written. The device must not be mounted.
func (d *Disk) Set(base *Contents, changed []states.Block) error {
	if base.size != d.size {
		return fmt.Errorf("contents of %d bytes do not fit a disk of %d bytes", base.size, d.size)
	}
	for _, b := range changed {
		if err := within(b, d.size); err != nil {
			return err
		}
	}
	if err := d.Drop(); err != nil {
		return err
	}
	byNumber := func(a, b states.Block) int { return cmp.Compare(a.Number, b.Number) }
	if !slices.IsSortedFunc(changed, byNumber) {
		changed = slices.Clone(changed)
		slices.SortStableFunc(changed, byNumber)
	}
	w := wanted{base: base.blocks, changed: changed}
	err := d.resident(func(first, end int64) error {
		w.upTo(first, d.fill)
		zero := first // the required zeros begin here
		for n := first; n < end; n++ {
			want := w.at(n)
			if want == nil {
				continue
			}
			if err := d.zero(zero, n); err != nil {
				return err
			}
			if have := d.block(n); !bytes.Equal(have, want) {
				copy(have, want)
			}
			zero = n + 1
		}
		return d.zero(zero, end)
	})
	if err != nil {
		return err
	}
	w.upTo(d.size/fault.BlockSize, d.fill)
	// A program that scans all devices may have read this one while it was changed, and the kernel
	// would keep the stale pages.
	return d.dropped()
}

// worthFreeing is the number of blocks from which freeing memory pays: each block that stays is
// examined for every state.
const worthFreeing = 32

// zero zeros the blocks from first to before end.
func (d *Disk) zero(first, end int64) error {
	if end-first >= worthFreeing {
		err := unix.Fallocate(d.file, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, first*fault.BlockSize, (end-first)*fault.BlockSize)
		if err != nil {
			return fmt.Errorf("freeing memory of %s: %w", d.path, err)
		}
		return nil
	}
	for n := first; n < end; n++ {
		if have := d.block(n); !bytes.Equal(have, zeros[:]) {
			clear(have)
		}
	}
	return nil
}

// fill writes a block that has no memory yet.
func (d *Disk) fill(b states.Block) {
	if !bytes.Equal(b.Data, zeros[:]) {
		copy(d.block(b.Number), b.Data)
	}
}

func (d *Disk) block(n int64) []byte {
	return d.data[n*fault.BlockSize : (n+1)*fault.BlockSize]
}

// resident calls f for each run of blocks that have memory, in order: from first to before end. All
// others are zeros, and reading them would allocate memory.
func (d *Disk) resident(f func(first, end int64) error) error {
	if !d.swaps() && os.Getpagesize() == fault.BlockSize {
		return d.inMemory(f)
	}
	for at := int64(0); at < d.size; {
		start, err := unix.Seek(d.file, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // only a hole is left
			return nil
		}
		if err != nil {
			return fmt.Errorf("finding the data of %s: %w", d.path, err)
		}
		if at, err = unix.Seek(d.file, start, unix.SEEK_HOLE); err != nil {
			return fmt.Errorf("finding the data of %s: %w", d.path, err)
		}
		if err := f(start/fault.BlockSize, (at+fault.BlockSize-1)/fault.BlockSize); err != nil {
			return err
		}
	}
	return nil
}

// inMemory is resident where all memory is in the kernel's cache: by one system call rather than two
// for each run.
func (d *Disk) inMemory(f func(first, end int64) error) error {
	if err := d.inCore(d.data); err != nil {
		return fmt.Errorf("finding the data of %s: %w", d.path, err)
	}
	for n := 0; n < len(d.pages); n++ {
		first := n
		for n < len(d.pages) && d.pages[n]&1 != 0 {
			n++
		}
		if n > first {
			if err := f(int64(first), int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted walks through the blocks of a base and their replacements, both by number.
type wanted struct{ base, changed []states.Block }

// at is the required content of block n, nil for zeros. It is called with rising n, after upTo(n).
func (w *wanted) at(n int64) []byte {
	var want []byte
	if len(w.base) > 0 && w.base[0].Number == n {
		want, w.base = w.base[0].Data, w.base[1:]
	}
	for len(w.changed) > 0 && w.changed[0].Number == n {
		want, w.changed = w.changed[0].Data, w.changed[1:]
	}
	return want
}

// upTo passes the blocks before n to f.
func (w *wanted) upTo(n int64, f func(states.Block)) {
	for {
		next := n
		if len(w.base) > 0 {
			next = w.base[0].Number
		}
		if len(w.changed) > 0 {
			next = min(next, w.changed[0].Number)
		}
		if next >= n {
			return
		}
		f(states.Block{Number: next, Data: w.at(next)})
	}
}
