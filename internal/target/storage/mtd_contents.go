package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"whichfs/internal/target/mtd"
)

// flash is what the guard and the sentinel need of raw flash.
type flash interface {
	Bad(block int) (bool, error)
	ReadAt(b []byte, offset int64) (int, error)
	Close() error
}

// headBytes is how much is read where flash has no pages (NOR): enough for every magic number,
// including those 1 KiB behind the start.
const headBytes = 4096

// contentsMTD reads the beginning of every good erase block. Everything that is made for raw flash
// begins there: UBI has its header in each block; jffs2 and yaffs2 fill blocks from the front. What
// cannot be read counts as data.
func contentsMTD(ctx context.Context, f flash, m MTD) []finding {
	var order []string
	count, first := map[string]int64{}, map[string]int64{}
	hold := func(what string, block int64) {
		if count[what] == 0 {
			order, first[what] = append(order, what), block
		}
		count[what]++
	}
	buf := make([]byte, min(max(m.Page, headBytes), m.Erase))
	if m.Page > 1 {
		buf = buf[:m.Page]
	}
	good := int64(0)
	for block := range m.Blocks() {
		if ctx.Err() != nil {
			return []finding{{text: "it cannot be proven to be empty: the check was interrupted", always: true}}
		}
		bad, err := f.Bad(int(block))
		if err == nil && bad {
			continue
		}
		if err == nil {
			good++
			_, err = f.ReadAt(buf, block*m.Erase)
		}
		if err != nil {
			return []finding{{text: fmt.Sprintf("it cannot be read (erase block %d: %v)", block, err), always: true,
				hint: "check the chip and its driver (dmesg)"}}
		}
		if !mtd.Erased(buf) {
			hold(flashSign(buf), block)
		}
	}
	if good == 0 {
		return []finding{{text: fmt.Sprintf("all of its %d erase blocks are bad", m.Blocks()), always: true}}
	}
	if len(order) == 0 {
		return []finding{{text: fmt.Sprintf("it is blank as far as the first pages of its %d good erase blocks show", good)}}
	}
	var all []finding
	for _, what := range order {
		all = append(all, finding{text: fmt.Sprintf("it holds %s (in %d of %d good erase blocks, the first is number %d)",
			what, count[what], good, first[what])})
	}
	return all
}

// flashSigns are what begins an erase block, by offset and bytes.
var flashSigns = []struct {
	offset      int
	magic, name string
}{
	{0, "UBI#", "UBI"},
	{0, "\x85\x19", "jffs2"},
	{0, "\x19\x85", "jffs2 in the other byte order"},
	{0, "hsqs", "squashfs"},
	{0, "sqsh", "squashfs in the other byte order"},
	{0, "\x45\x3d\xcd\x28", "cramfs"},
	{1024, "\xe2\xe1\xf5\xe0", "erofs"},
	{0, "-rom1fs-", "romfs"},
	{0, "\x27\x05\x19\x56", "a U-Boot image"},
	{0, "\xd0\x0d\xfe\xed", "a device tree or FIT image"},
	{0x438, "\x53\xef", "ext2, ext3 or ext4"},
	{4086, "SWAPSPACE2", "swap"},
}

// flashSign names what a block that is not erased begins with.
func flashSign(b []byte) string {
	for _, s := range flashSigns {
		if end := s.offset + len(s.magic); end <= len(b) && string(b[s.offset:end]) == s.magic {
			return s.name
		}
	}
	if len(b) >= 512 && binary.LittleEndian.Uint16(b[510:]) == 0xaa55 {
		return "a boot record"
	}
	return "data of an unknown kind"
}

// openFlash opens raw flash to inspect it.
func openFlash(path string) (flash, *finding) {
	d, err := mtd.Open(path, false)
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, &finding{text: "no permission to open it", always: true, hint: "run whichfs as root (sudo)"}
	case err != nil:
		return nil, &finding{text: "it cannot be read (" + err.Error() + ")", always: true, hint: "check the chip and its driver (dmesg)"}
	}
	return d, nil
}
