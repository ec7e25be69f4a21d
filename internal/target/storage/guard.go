package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
)

// Refusal says why a device is not written to (or, with Reading, not read), and what the user can
// do.
type Refusal struct {
	Device string   // as the user named it
	Found  []string // every reason against it
	// Type is exactly what to add to the command line to proceed anyway; "" where nothing helps,
	// because the device is in use.
	Type string
	Hint string // what to do instead of typing, or before
	// Reading: the device was only to be read, by a probe.
	Reading bool

	id string // the ID in Type, before quoting
}

// Error lists what was found, without the remedy.
func (e *Refusal) Error() string {
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
		parts = append(parts, "to read it anyway, with the other I/O on it in the figures, add "+e.Type)
	default:
		parts = append(parts, "to destroy everything on it, add "+e.Type)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	return strings.Join(parts, "; ")
}

// As makes it a *result.Failure for errors.As.
func (e *Refusal) As(target any) bool {
	f, ok := target.(**result.Failure)
	if ok {
		*f = result.Refuse(e.Advice(), "%v", e)
	}
	return ok
}

func refuse(device, hint, format string, args ...any) *Refusal {
	return &Refusal{Device: device, Found: []string{fmt.Sprintf(format, args...)}, Hint: hint}
}

// Guard returns nil if path is a block device that may be overwritten: nothing uses it or anything
// that shares blocks with it, and destroyID is one of its own names (Device.Named), whatever it
// holds. A device in use is refused whatever ID was given. Refusals are *Refusal; after any other
// error the check itself failed, and the device must not be written to either.
func Guard(ctx context.Context, path, destroyID string, r Roots) error {
	_, _, err := r.guard(ctx, path, destroyID)
	return err
}

func (r Roots) guard(ctx context.Context, path, destroyID string) (Device, contents, error) {
	r = r.filled()
	d, err := r.unused(path)
	if err != nil {
		return d, contents{}, err
	}
	f, err := exclusive(path)
	if err != nil {
		return d, contents{}, err
	}
	defer func() { _ = f.Close() }()
	if destroyID == "" {
		// Nothing will be written, so others may mount it meanwhile.
		plain, err := os.Open(path)
		if err != nil {
			return d, contents{}, fmt.Errorf("opening %s: %w", path, err)
		}
		_ = f.Close()
		f = plain
	}
	for _, twin := range d.twins {
		// A twin, too, may be mounted where no list shows it.
		if err := r.untouched(twin); err != nil {
			return d, contents{}, err
		}
	}
	// Only opening the device made the kernel check for a new medium.
	now, err := r.resolve(path)
	if err != nil {
		return d, contents{}, err
	}
	if what := difference(d, now); what != "" {
		return d, contents{}, refuse(path, "see whichfs list storage", "it was exchanged while it was being checked: %s", what)
	}
	if name, _, _ := cutPin(destroyID); destroyID != "" && !d.nameless() && !d.Is(destroyID) && !d.Is(name) {
		return d, contents{}, wrongID(path, destroyID, d.IDs()[0], d) // whatever it holds
	}
	seen, found := r.contents(ctx, path, f, d)
	if again, err := r.resolve(path); err != nil || difference(d, again) != "" {
		return d, seen, refuse(path, "see whichfs list storage", "it was exchanged while it was being checked")
	}
	id := d.IDs()[0]
	if d.nameless() {
		id += pin + seen.fingerprint
	}
	if destroyID != "" && !d.Named(destroyID, seen.fingerprint) {
		return d, seen, wrongID(path, destroyID, id, d)
	}
	return d, seen, judge(path, id, found, destroyID != "")
}

// unused resolves a path to its device and refuses it if it is in use. It opens nothing, so that
// this reason comes before a missing permission.
func (r Roots) unused(path string) (Device, error) {
	d, err := r.find(path)
	if err != nil {
		return d, err
	}
	if n, ok := strings.CutPrefix(d.Name, "mtdblock"); ok {
		// mtdblock copies whole erase blocks to change a byte, caches one of them, and does not
		// handle bad blocks: figures taken through it say nothing about the flash.
		return d, refuse(path, "write mtd:/dev/mtd"+n, "it is raw flash behind a block device")
	}
	found, err := r.held(d)
	if err != nil {
		return d, fmt.Errorf("cannot tell whether %s is in use: %w", path, err)
	}
	return d, judge(path, "", found, false)
}

// Unused refuses a path that is not a block device or is in use. It opens nothing, so it may be
// called before permissions are checked.
func Unused(path string) error {
	_, err := Roots{}.filled().unused(path)
	return err
}

// untouched refuses a device that is held exclusively.
func (r Roots) untouched(twin Device) error {
	f, err := exclusive(twin.Path)
	if err == nil {
		return f.Close()
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Found = []string{fmt.Sprintf("%s, which is the same storage: %s", twin.Path, strings.Join(refusal.Found, "; "))}
	}
	return err
}

// find is resolve plus the relations of the device to others.
func (r Roots) find(path string) (Device, error) {
	d, err := r.resolve(path)
	if err == nil {
		err = r.relate(&d)
	}
	return d, err
}

// relate finds the disks with the same serial number and those that are the same storage.
func (r Roots) relate(d *Device) error {
	disks, err := r.disks()
	if err != nil {
		return err
	}
	d.shared = d.sharesSerial(disks)
	d.twins, err = r.twins(*d, disks)
	return err
}

// resolve resolves a path to the block device that it is.
func (r Roots) resolve(path string) (Device, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		_, err = os.Stat(real)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Device{}, refuse(path, "see whichfs list storage", "no such device")
	case errors.Is(err, os.ErrPermission):
		return Device{}, refuse(path, "run whichfs as root (sudo)", "no permission to inspect it")
	case err != nil: // a circle of links, a name that is too long
		return Device{}, refuse(path, "see whichfs list storage", "%v", err)
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
		return d, refuse(path, "see whichfs list storage", "no device is behind it: %v", errNoDevice)
	}
	if err != nil {
		return d, fmt.Errorf("device %s: %w", path, err)
	}
	if d.Size == 0 {
		return d, refuse(path, "", "its size is 0: it has no medium, or nothing is attached")
	}
	return d, nil
}

// judge turns findings into a refusal, or nil. A device in use is always refused; one that merely
// holds something (or nothing) is refused if it was not named by ID.
func judge(named, id string, found []finding, destroy bool) error {
	e := &Refusal{Device: named}
	inUse := slices.ContainsFunc(found, func(f finding) bool { return f.always })
	var hints []string
	for _, f := range found {
		if !f.always && (inUse || destroy) {
			continue
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
		e.Type, e.id = "--destroy "+harmless.Word(id), id
	}
	e.Hint = strings.Join(unique(hints), "; ")
	return e
}

// wrongID refuses a device that was given a wrong ID; id is the right one.
func wrongID(path, named, id string, d Device) *Refusal {
	what, hint := fmt.Sprintf("--destroy %s does not name this device", harmless.Word(named)), "make sure that this is the device you mean"
	name, _, pinnedTo := cutPin(named)
	switch {
	case d.Partition != 0 && strings.TrimSuffix(d.IDs()[0], fmt.Sprintf("-part%d", d.Partition)) == named:
		what = fmt.Sprintf("--destroy %s names the whole disk %s, and this is a partition", harmless.Word(named), d.Disk)
	case d.Is(named):
		what = fmt.Sprintf("--destroy %s names only the reader or slot, not the medium in it", harmless.Word(named))
		hint = "the part after " + pin + " identifies the contents of the medium that is in it now"
	case pinnedTo && d.Is(name):
		what = fmt.Sprintf("its contents have changed since --destroy %s was printed: the medium was exchanged, or something has written to it", harmless.Word(named))
	}
	return &Refusal{Device: path, Found: []string{what}, Type: "--destroy " + harmless.Word(id), Hint: hint}
}

// exclusive opens the device for reading the way the kernel does when it mounts one. This detects
// users that no list shows: mounts in other namespaces, members of arrays of every kind. Until it
// is closed, nothing can mount the device.
func exclusive(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EBUSY):
		return nil, refuse(path, "find the user with lsof, also in containers", "it is in use: the kernel or another program holds it exclusively")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, refuse(path, "run whichfs as root (sudo)", "no permission to open it")
	case errors.Is(err, unix.ENOMEDIUM):
		return nil, refuse(path, "", "it has no medium")
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return nil, refuse(path, "", "no device is behind it")
	}
	return nil, fmt.Errorf("opening %s: %w", path, err)
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
