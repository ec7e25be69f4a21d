package blockdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/owner"
)

// mapperKind is owner's name for devices of the device mapper.
const mapperKind = "mapped"

// Users of the device mapper begin their devices' uuids with a prefix of their own, in capitals:
// LVM, CRYPT.
const lower, upper = "whichfs", "WHICHFS"

func uuidOf(name string) string { return upper + strings.TrimPrefix(name, lower) }

// Stale is a device of the device mapper whose process has ended.
type Stale struct {
	Dev  string // "dm-0"
	Name string // in the device mapper
	uuid string
}

func (s Stale) String() string {
	return fmt.Sprintf("device mapper device %s (%s)", s.Dev, s.Name)
}

// StaleDevices lists them, upper devices before the ones below. sys and proc are the paths of /sys
// and /proc.
func StaleDevices(sys, proc string) []Stale {
	var found []Stale
	uuids, _ := filepath.Glob(filepath.Join(sys, "block/dm-*/dm/uuid")) // the pattern is right
	for _, path := range uuids {
		s := Stale{uuid: text(path), Name: text(filepath.Join(filepath.Dir(path), "name"))}
		s.Dev = filepath.Base(filepath.Dir(filepath.Dir(path)))
		rest, ours := strings.CutPrefix(s.uuid, upper)
		if kind, o, ok := owner.Of(lower + rest); ours && ok && kind == mapperKind && o.Dead(proc) {
			found = append(found, s)
		}
	}
	var sorted []Stale
	for len(found) > 0 {
		i := max(0, slices.IndexFunc(found, func(s Stale) bool {
			return !slices.ContainsFunc(found, func(above Stale) bool {
				_, err := os.Lstat(filepath.Join(sys, "block", s.Dev, "holders", above.Dev))
				return err == nil
			})
		}))
		sorted = append(sorted, found[i])
		found = slices.Delete(found, i, i+1)
	}
	return sorted
}

func text(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// openFor is how long a device may be open: many programs briefly open a new one.
const openFor = 2 * time.Second

// Remove removes the device; the error is unix.EBUSY if it is in use.
func (s Stale) Remove() error {
	control, err := openControl()
	if err != nil {
		return err
	}
	defer unix.Close(control) //nolint:errcheck // nothing was written
	m := &mapped{control: control, uuid: s.uuid}
	for end := time.Now().Add(openFor); ; time.Sleep(20 * time.Millisecond) {
		_, _, err = m.call(unix.DM_DEV_REMOVE, 0, nil)
		switch {
		case errors.Is(err, unix.ENXIO): // it is gone
			return nil
		case !errors.Is(err, unix.EBUSY) || time.Now().After(end):
			return err
		}
	}
}
