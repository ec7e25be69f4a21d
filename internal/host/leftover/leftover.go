// Package leftover finds and removes what a killed whichfs left on this
// machine. Everything that whichfs makes and that can outlive it has a name
// that contains its process, so nothing here is guessed: it ignores what a
// living process uses and what merely resembles ours.
package leftover

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab"
	"whichfs/internal/sys/owner"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/target/storage"
)

// Item is something that a dead process left.
type Item struct {
	What string // for users, on one line
	Root bool   // only root can remove it

	device string // the kernel's name, if any
	remove func() error
}

// Find lists what is left in the order of removal: users before what they use.
// work lists directories to search in addition to the usual ones.
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

// Remove removes the item; an item that has already disappeared is no error.
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

// ErrNotRoot means that only root can remove the item.
var ErrNotRoot = errors.New("needs root")

// folders returns abandoned work directories and files.
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
