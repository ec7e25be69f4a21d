package leftover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/owner"
)

// loop is a loop device whose process has ended and that somebody or something
// still uses: else the kernel would have taken it down.
type loop struct {
	device string // "loop3"
	label  string // that it was given, as its file
}

func (l loop) String() string { return fmt.Sprintf("loop device %s (%s)", l.device, l.label) }

func loops() []loop {
	var all []loop
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // the pattern is right
	for _, f := range files {
		l := loop{device: filepath.Base(filepath.Dir(filepath.Dir(f)))}
		if l.label = backing(f); l.label == "" {
			continue
		}
		// Anybody can name a file, but whoever makes the device gives the label.
		// Who may not ask is shown it all the same.
		if label, err := l.labelled(); err == nil && label != l.label {
			continue
		}
		all = append(all, l)
	}
	return all
}

// backing is the name of a loop device's file, "" where it is not a dead
// process's.
func backing(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // it goes just now
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

// detached is how long the kernel may take to let go of the file.
const detached = 2 * time.Second

// remove takes the device down: at once, or when the last one closes it.
func (l loop) remove() error {
	err := l.with(func(fd int) error {
		info, err := unix.IoctlLoopGetStatus64(fd)
		if err != nil || unix.ByteSliceToString(info.File_name[:]) != l.label {
			return unix.ENXIO // it is gone, or another one by now
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
