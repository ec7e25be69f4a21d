package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
)

// PrivateMounts hides this process's mounts from all others and makes them vanish with it; what is
// unmounted outside is unmounted here too. The process must have been started with
// command.Options.Contain. It needs root.
func PrivateMounts() error {
	outside := os.Getenv(command.OutsideVariable)
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// In the host's namespace, its own mounts would stop propagating.
	if outside == "" || own == outside {
		return errors.New("this process has no mount namespace of its own: only whichfs may start it")
	}
	fd, err := strconv.Atoi(os.Getenv(command.OutsideMountsVariable))
	if err != nil {
		return fmt.Errorf("private mounts: cannot see the host's mounts: %w", err)
	}
	unix.CloseOnExec(fd)
	if err := errors.Join(os.Unsetenv(command.OutsideVariable), os.Unsetenv(command.OutsideMountsVariable)); err != nil {
		return err
	}
	// Slaves: what the host unmounts vanishes here too, and nothing propagates back.
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	c, err := newCopies(os.NewFile(uintptr(fd), "mounts outside"))
	if err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if len(c.ids) == 0 {
		return c.outside.Close()
	}
	go c.follow()
	return nil
}

// copies are mounts inherited from outside that the kernel does not unmount here when they are
// unmounted there: they are no slaves, because they are not shared there, as on a system without
// systemd. The device of a medium that a user unmounts and removes must not stay mounted here.
type copies struct {
	outside *os.File // the list of mounts outside
	// ids are theirs. The kernel itself unmounts a copy when its directory is removed outside, and may
	// give its ID to a mount of ours.
	ids map[int]*mountinfo.Info
}

func newCopies(outside *os.File) (copies, error) {
	all, err := Roots{}.filled().ownMounts()
	c := copies{outside: outside, ids: map[int]*mountinfo.Info{}}
	for _, m := range all {
		if !strings.Contains(m.Optional, "master:") && m.Mountpoint != "/" {
			c.ids[m.ID] = m
		}
	}
	return c, err
}

// follow unmounts copies until this process ends.
func (c copies) follow() {
	for {
		changed := []unix.PollFd{{Fd: int32(c.outside.Fd()), Events: unix.POLLPRI}}
		switch _, err := unix.Poll(changed, -1); {
		case err == nil:
			c.drop()
		case !errors.Is(err, unix.EINTR):
			return
		}
	}
}

// drop unmounts the copies of mounts that are gone outside.
func (c copies) drop() {
	if _, err := c.outside.Seek(0, io.SeekStart); err != nil {
		return
	}
	there, err := mountinfo.GetMountsFromReader(c.outside, nil)
	if err != nil {
		return
	}
	here, err := Roots{}.filled().ownMounts()
	if err != nil {
		return
	}
	covered := map[string]bool{}
	for _, m := range slices.Backward(here) { // the topmost, mounted last, comes first
		at := slices.IndexFunc(there, func(o *mountinfo.Info) bool { return sameMount(m, o) })
		switch {
		case at >= 0:
			there = slices.Delete(there, at, at+1)
		case c.ids[m.ID] != nil && sameMount(m, c.ids[m.ID]) && !covered[m.Mountpoint]:
			if unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
				delete(c.ids, m.ID)
				continue
			}
		}
		covered[m.Mountpoint] = true
	}
}

// sameMount reports whether a and b are the same filesystem at the same place, in one namespace or two.
func sameMount(a, b *mountinfo.Info) bool {
	return a.Major == b.Major && a.Minor == b.Minor && a.Root == b.Root && a.Mountpoint == b.Mountpoint
}
