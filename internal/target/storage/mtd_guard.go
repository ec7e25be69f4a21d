package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/harmless"
)

// findMTD resolves a path to its raw flash.
func (r Roots) findMTD(path string) (MTD, error) {
	real, err := filepath.EvalSymlinks(path)
	var st unix.Stat_t
	if err == nil {
		err = unix.Stat(real, &st)
	}
	const see = "see whichfs list storage"
	switch {
	case errors.Is(err, os.ErrNotExist):
		return MTD{}, refuse("mtd:"+path, see, "no such device")
	case errors.Is(err, os.ErrPermission):
		return MTD{}, refuse("mtd:"+path, "run whichfs as root (sudo)", "no permission to inspect it")
	case err != nil:
		return MTD{}, fmt.Errorf("flash %s: %w", path, err)
	}
	major, minor := unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFBLK && major == mtdblockMajor:
		return MTD{}, refuse("mtd:"+path, fmt.Sprintf("write mtd:/dev/mtd%d", minor), "it is the block device on top of the flash")
	case kind == unix.S_IFBLK:
		return MTD{}, refuse("mtd:"+path, "write --storage "+path, "it is a block device, not raw flash")
	case kind != unix.S_IFCHR || major != mtdMajor:
		return MTD{}, refuse("mtd:"+path, see, "it is not raw flash")
	case minor%2 != 0:
		return MTD{}, refuse("mtd:"+path, fmt.Sprintf("write mtd:/dev/mtd%d", minor/2), "it is the read-only node of the flash")
	}
	m, err := r.mtd(int(minor / 2))
	if errors.Is(err, errNoMTD) {
		return m, refuse("mtd:"+path, see, "no device is behind it: %v", err)
	}
	return m, err
}

// guardMTD returns nil if the flash may be erased: nothing uses it or anything that shares blocks
// with it, and destroyID is one of its own names (MTD.IDs), whatever it holds.
func (r Roots) guardMTD(ctx context.Context, named, destroyID string, m MTD, open func(string) (flash, *finding)) error {
	found, err := r.heldMTD(m)
	if err != nil {
		return fmt.Errorf("cannot tell whether %s is in use: %w", named, err)
	}
	if len(found) == 0 {
		if block := r.blockOf(m); has(filepath.Dir(block.Path), block.Name) {
			// A mount that no list shows.
			f, err := exclusive(block.Path)
			if err != nil {
				return err
			}
			_ = f.Close()
		}
		if destroyID != "" && !m.Is(destroyID) {
			return &Refusal{Device: named, Found: []string{fmt.Sprintf("--destroy %s does not name this flash", harmless.Word(destroyID))},
				Type: "--destroy " + harmless.Word(m.IDs()[0]), Hint: "make sure that this is the flash you mean"}
		}
		f, unread := open(m.Path)
		if unread != nil {
			found = []finding{*unread}
		} else {
			found = contentsMTD(ctx, f, m)
			_ = f.Close()
		}
	}
	return judge(named, m.IDs()[0], found, destroyID != "")
}
