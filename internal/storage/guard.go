package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Refusal says why a device is not written to (or, with Reading, not read), and
// what the user can do.
type Refusal struct {
	Device string   // as the user named it
	Found  []string // everything that stands against it
	// Type is what to add to the command line to go on all the same, exactly;
	// "" where nothing helps, because the device is in use.
	Type string
	Hint string // what to do instead of typing, or before
	// Reading: the device was to be read alone, by a probe.
	Reading bool
}

func (e *Refusal) Error() string {
	text := e.Reason()
	if advice := e.Advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

// Reason is what was found, without what can be done about it.
func (e *Refusal) Reason() string {
	if e.Reading {
		return fmt.Sprintf("%s cannot be probed: %s", e.Device, strings.Join(e.Found, "; "))
	}
	return fmt.Sprintf("nothing is written to %s: %s", e.Device, strings.Join(e.Found, "; "))
}

// Advice is what the user can do; "" where nothing helps.
func (e *Refusal) Advice() string {
	var parts []string
	switch {
	case e.Type == "":
	case e.Reading:
		parts = append(parts, "to read it all the same, with the work of whatever uses it in the figures, add "+e.Type)
	default:
		parts = append(parts, "to destroy all that is on it, add "+e.Type)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	return strings.Join(parts, "; ")
}

func refuse(device, hint, format string, args ...any) *Refusal {
	return &Refusal{Device: device, Found: []string{fmt.Sprintf(format, args...)}, Hint: hint}
}

// Guard returns nil if path is a block device that may be overwritten: nobody
// uses it or anything that shares blocks with it, and it either holds nothing
// or destroyID is one of its own names (Device.IDs). A device in use is refused
// whatever was named. Refusals are *Refusal; other errors mean that the check
// itself failed, and the device must not be written to either.
func Guard(ctx context.Context, path, destroyID string, r Roots) error {
	_, err := r.guard(ctx, path, destroyID)
	return err
}

func (r Roots) guard(ctx context.Context, path, destroyID string) (Device, error) {
	r = r.filled()
	d, err := r.find(path)
	if err != nil {
		return d, err
	}
	if n, ok := strings.CutPrefix(d.Name, "mtdblock"); ok {
		// It copies whole erase blocks to change a byte, keeps one back, and knows
		// no bad blocks: what is measured over it is none of the flash's.
		return d, refuse(path, "write mtd:/dev/mtd"+n, "it is raw flash behind a block device")
	}
	found, err := r.held(d)
	if err != nil {
		return d, fmt.Errorf("whether %s is in use cannot be told: %w", path, err)
	}
	if len(found) == 0 {
		if err := exclusive(path); err != nil {
			return d, err
		}
		// A wrong name is refused even where none is needed: whoever wrote it
		// meant another device.
		if destroyID != "" && !d.Is(destroyID) {
			return d, wrongID(path, destroyID, d)
		}
		found = r.contents(ctx, path, d)
	}
	return d, verdict(path, destroyID, d, found)
}

// find resolves a path to the block device that it is.
func (r Roots) find(path string) (Device, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		_, err = os.Stat(real)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Device{}, refuse(path, "see whichfs list storage", "there is no such device")
	case errors.Is(err, os.ErrPermission):
		return Device{}, refuse(path, "run whichfs as root (sudo)", "no permission to look at it")
	case err != nil:
		return Device{}, fmt.Errorf("device %s: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return Device{}, fmt.Errorf("device %s: %w", path, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFBLK:
	case unix.S_IFREG:
		return Device{}, refuse(path, "for a file, write loop:SIZE and let whichfs make one", "it is a regular file, not a block device")
	case unix.S_IFDIR:
		return Device{}, refuse(path, "see whichfs list storage", "it is a directory, not a block device")
	case unix.S_IFCHR:
		if unix.Major(uint64(st.Rdev)) == mtdMajor {
			return Device{}, refuse(path, "write mtd:"+path, "it is raw flash, not a block device")
		}
		fallthrough
	default:
		return Device{}, refuse(path, "see whichfs list storage", "it is not a block device")
	}
	d, err := r.byNumber(unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))
	if errors.Is(err, errNoDevice) {
		return d, refuse(path, "see whichfs list storage", "there is no device behind it: %v", errNoDevice)
	}
	if err != nil {
		return d, fmt.Errorf("device %s: %w", path, err)
	}
	if d.shared, err = r.sharesSerial(d); err != nil {
		return d, err
	}
	if d.Size == 0 {
		return d, refuse(path, "", "its size is 0: there is no medium in it, or nothing is attached")
	}
	return d, nil
}

// verdict turns findings into a refusal, or nil.
func verdict(path, destroyID string, d Device, found []finding) error {
	return judge(path, destroyID, d.IDs()[0], found)
}

// judge is verdict for whatever id names.
func judge(path, destroyID, id string, found []finding) error {
	e := &Refusal{Device: path}
	inUse := false
	for _, f := range found {
		inUse = inUse || f.always
	}
	var hints []string
	for _, f := range found {
		if !f.always && (inUse || destroyID != "") {
			continue // named by its own name: what it holds may go
		}
		e.Found = append(e.Found, f.text)
		if f.hint != "" {
			hints = append(hints, f.hint)
		}
	}
	if len(e.Found) == 0 {
		return nil
	}
	if !inUse {
		e.Type = "--destroy " + quote(id)
	}
	e.Hint = strings.Join(unique(hints), "; ")
	return e
}

func wrongID(path, id string, d Device) *Refusal {
	what := fmt.Sprintf("--destroy %s does not name this device", quote(id))
	if d.Partition != 0 && strings.TrimSuffix(d.IDs()[0], fmt.Sprintf("-part%d", d.Partition)) == id {
		what = fmt.Sprintf("--destroy %s names the whole disk %s, and this is a partition", quote(id), d.Disk)
	}
	return &Refusal{Device: path, Found: []string{what}, Type: "--destroy " + quote(d.IDs()[0]),
		Hint: "check twice that this is the device you mean"}
}

// exclusive opens the device the way the kernel does when it mounts one, and
// lets go at once. It sees what no list shows: mounts in other namespaces,
// members of arrays of every kind.
func exclusive(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case err == nil:
		return unix.Close(fd)
	case errors.Is(err, unix.EBUSY):
		return refuse(path, "look for it with lsof and in containers", "it is in use: the kernel or another program holds it exclusively")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return refuse(path, "run whichfs as root (sudo)", "no permission to open it")
	case errors.Is(err, unix.ENOMEDIUM):
		return refuse(path, "", "there is no medium in it")
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return refuse(path, "", "there is no device behind it")
	}
	return fmt.Errorf("opening %s: %w", path, err)
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_.:/+=@%-]+$`)

// quote makes a word safe to be typed into a shell.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func unique(list []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			all = append(all, s)
		}
		seen[s] = true
	}
	return all
}
