package leftover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/owner"
)

// loop is a loop device whose process has ended but that is still in use;
// otherwise the kernel would have removed it.
type loop struct {
	device string // "loop3"
	label  string // its label, which is its backing file's name
}

func (l loop) String() string { return fmt.Sprintf("loop device %s (%s)", l.device, l.label) }

func loops() []loop {
	var all []loop
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // the pattern is valid
	for _, f := range files {
		l := loop{device: filepath.Base(filepath.Dir(filepath.Dir(f)))}
		if l.label = backing(f); l.label == "" {
			continue
		}
		// Any user can name a file, but the process that makes the
		// device sets the label. If we may not read the label, list
		// the device anyway.
		if label, err := l.labelled(); err == nil && label != l.label {
			continue
		}
		all = append(all, l)
	}
	return all
}

// backing returns the name of a loop device's file, or "" unless a dead
// process owns it.
func backing(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // it has just disappeared
	}
	name := filepath.Base(strings.TrimSuffix(strings.TrimSpace(string(text)), " (deleted)"))
	name = strings.TrimPrefix(name, "memfd:")
	if _, o, ok := owner.Of(name); !ok || !o.Dead("/proc") {
		return ""
	}
	return name
}

func (l loop) labelled() (string, error) {
	var label string
	err := l.with(func(fd int) error {
		info, err := unix.IoctlLoopGetStatus64(fd)
		if err == nil {
			label = unix.ByteSliceToString(info.File_name[:])
		}
		return err
	})
	return label, err
}

func (l loop) with(f func(fd int) error) error {
	fd, err := unix.Open("/dev/"+l.device, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(f(fd), unix.Close(fd))
}

// detached is how long the kernel may take to release the file.
const detached = 2 * time.Second

// remove detaches the device, now or on its last close.
func (l loop) remove() error {
	err := l.with(func(fd int) error {
		info, err := unix.IoctlLoopGetStatus64(fd)
		if err != nil || unix.ByteSliceToString(info.File_name[:]) != l.label {
			return unix.ENXIO // it has been removed, or its number reused
		}
		return unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0)
	})
	if errors.Is(err, unix.ENXIO) {
		return nil
	}
	for end := time.Now().Add(detached); err == nil; time.Sleep(20 * time.Millisecond) {
		if backing(filepath.Join("/sys/block", l.device, "loop/backing_file")) != l.label {
			return nil
		}
		if time.Now().After(end) {
			return unix.EBUSY
		}
	}
	return err
}
