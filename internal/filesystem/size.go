package filesystem

import (
	"fmt"
	"math"
)

// Misfit says why storage of size bytes is too small for a candidate, or larger than it can fill,
// and what would fit; both are "" if it fits, as far as is known. A filesystem that silently used
// only a part of the storage, as mkfs.minix does, would be compared with others that use all of it.
func (c Candidate) Misfit(size int64) (reason, hint string) {
	fs := c.Filesystem()
	if least := fs.MinSize(c); size < least {
		return fmt.Sprintf("%s needs at least %s, this storage has %s", c, amount(least), amount(size)),
			fmt.Sprintf("give storage of %s or more", amount(least))
	}
	most, with := fs.MaxSize(c)
	if size <= most {
		return "", ""
	}
	hint = fmt.Sprintf("give storage of %s or less", amount(most))
	if with != "" {
		hint = fmt.Sprintf("give it the mkfs option %s, or storage of %s or less", with, amount(most))
	}
	return fmt.Sprintf("%s fills at most %s, this storage has %s", c, amount(most), amount(size)), hint
}

// Chip is the geometry of raw flash, in bytes.
type Chip struct{ Size, EraseBlock, Page int64 }

// Unfit is Misfit for raw flash.
func (c Candidate) Unfit(chip Chip) (reason, hint string) {
	if fs := c.Filesystem(); fs.Chip != nil {
		if reason, hint = fs.Chip(c, chip); reason != "" {
			return reason, hint
		}
	}
	return c.Misfit(chip.Size)
}

// amount writes a number of bytes in the largest unit that divides it.
func amount(bytes int64) string {
	switch {
	case bytes >= tib && bytes%tib == 0:
		return fmt.Sprintf("%d TiB", bytes/tib)
	case bytes >= 8*gib && bytes%gib == 0:
		return fmt.Sprintf("%d GiB", bytes/gib)
	case bytes%mib == 0:
		return fmt.Sprintf("%d MiB", bytes/mib)
	case bytes%kib == 0:
		return fmt.Sprintf("%d KiB", bytes/kib)
	}
	return fmt.Sprintf("%d B", bytes)
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
)

// least is a MinSize that does not depend on options.
func least(bytes int64) func(Candidate) int64 {
	return func(Candidate) int64 { return bytes }
}

// most is a MaxSize that does not depend on options.
func most(bytes int64) func(Candidate) (int64, string) {
	return func(Candidate) (int64, string) { return bytes, "" }
}

// unbounded is the MaxSize of filesystems whose format allows sizes beyond any storage, or that are
// written as an image of their own size.
func unbounded(Candidate) (most int64, with string) { return math.MaxInt64, "" }
