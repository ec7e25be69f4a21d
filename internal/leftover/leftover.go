// Package leftover finds what a whichfs that was killed left on this machine, and
// removes it. Whatever whichfs makes that can outlive it carries the process that
// made it, so nothing here is guessed: what a living process uses, and what only
// looks like ours, is not found.
package leftover

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/blockdev"
	"whichfs/internal/lab"
	"whichfs/internal/owner"
	"whichfs/internal/storage"
)

// Item is something that a dead process left.
type Item struct {
	What string // for people, on one line
	Root bool   // only root can remove it

	device string // the kernel's name, where it is one
	remove func() error
}

// Find lists what is left, in the order in which it is to be removed: what uses
// something else before that. work are directories to look into besides the usual
// ones.
func Find(work ...string) ([]Item, error) {
	var all []Item
	dirs := folders(work)
	for _, dir := range dirs {
		mounts, err := owner.Mounts(dir)
		if err != nil {
			return nil, err
		}
		for _, m := range mounts {
			all = append(all, Item{What: "what is mounted at " + m, Root: true, remove: func() error { return unix.Unmount(m, 0) }})
		}
	}
	for _, d := range blockdev.StaleDevices("/sys", "/proc") {
		all = append(all, Item{What: d.String(), Root: true, device: d.Dev, remove: d.Remove})
	}
	for _, p := range storage.StaleParts(storage.System) {
		all = append(all, Item{What: p.String(), Root: true, remove: func() error { return p.Remove(storage.System) }})
	}
	for _, l := range loops() {
		all = append(all, Item{What: l.String(), Root: true, device: l.device, remove: l.remove})
	}
	for _, dir := range dirs {
		all = append(all, Item{What: "directory " + dir, remove: func() error { return owner.Remove(dir) }})
	}
	for _, dir := range lab.Unfinished() {
		all = append(all, Item{What: "unfinished build " + dir, remove: func() error { return lab.RemoveUnfinished(dir) }})
	}
	return all, nil
}

// Remove removes it; what has gone by itself is fine.
func (i Item) Remove() error {
	if i.Root && os.Geteuid() != 0 {
		return ErrNotRoot
	}
	err := i.remove()
	if errors.Is(err, unix.EBUSY) {
		err = errors.New(storage.System.InUse(i.device))
	}
	return err
}

// ErrNotRoot is the error of what only root can remove.
var ErrNotRoot = errors.New("it takes root")

// folders are abandoned work directories, and files.
func folders(work []string) []string {
	var all []string
	for _, parent := range append([]string{os.TempDir(), "/dev/shm"}, work...) {
		for _, path := range owner.Abandoned(parent, "") {
			if !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}
