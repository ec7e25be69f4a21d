package storage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/mtd"
)

// Gone is the error of everything that would use a device that is no longer the
// one that was claimed. It is final: nothing more is written to that device,
// released on it or discarded, even if it comes back.
type Gone struct{ Device, What string }

func (e *Gone) Error() string {
	return fmt.Sprintf("%s is no longer the device that was claimed: %s", e.Device, e.What)
}

// As makes it a *result.Failure for errors.As.
func (e *Gone) As(target any) bool {
	f, ok := target.(**result.Failure)
	if ok {
		*f = result.Fail(result.LabFailed, "connect it again; whichfs resume goes on", "%v", e)
	}
	return ok
}

// Right is the right to write to claimed storage: its descriptor, open, and
// verified since it was opened. Nothing of this program writes to storage in
// another way. It is valid until its holder closes it; what takes long asks
// Claim.Verify again.
type Right struct {
	*os.File // nil for raw flash
	flash    *mtd.Device
}

// Right hands out the right to write: to all of the storage, or to a part of it
// that the claim has made. flags are added to those of open(2) and decide
// whether others are kept out (O_EXCL) and the cache is passed by (O_DIRECT).
//
// The descriptor is verified after it was opened, because it is the opening
// that makes the kernel notice an exchanged medium. Errors are *Gone where this
// is no longer the storage that was claimed, *Refusal where somebody uses it.
func (c *Claim) Right(part *Part, flags int) (*Right, error) {
	if c.readOnly {
		return nil, fmt.Errorf("writing to %s: %w", c.named, errReading)
	}
	if err := c.Verify(); err != nil {
		return nil, err
	}
	if err := c.inUse(); err != nil {
		return nil, err
	}
	path, number := c.path, c.device.Number()
	if part != nil {
		path, number = part.Path, part.dev
	}
	if c.flash != nil {
		d, err := mtd.Open(path, true)
		if err != nil {
			return nil, c.opening(err)
		}
		if err := errors.Join(c.verifyNumber(d.Fd(), number), c.Verify()); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		return &Right{flash: d}, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, c.opening(err)
	}
	if err := errors.Join(c.verifyNumber(f.Fd(), number), c.Verify()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Right{File: f}, nil
}

// Close gives the right up.
func (r *Right) Close() error {
	if r.flash != nil {
		return r.flash.Close()
	}
	return r.File.Close()
}

// Flash is the storage's descriptor where it is raw flash.
func (r *Right) Flash() *mtd.Device { return r.flash }

// opening explains why the storage could not be opened for writing.
func (c *Claim) opening(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return refuse(c.named, "", "it is in use: the kernel or another program holds it exclusively")
	case errors.Is(err, unix.ENOMEDIUM), errors.Is(err, unix.ENXIO):
		return c.lost(err.Error())
	}
	return fmt.Errorf("opening %s: %w", c.named, err)
}

// lost remembers for good that the storage is no longer the one that was
// claimed.
func (c *Claim) lost(what string) *Gone {
	if c.gone == nil {
		c.gone = &Gone{c.named, what}
	}
	return c.gone
}

// verifyNumber makes sure that a descriptor leads to the device of a number.
func (c *Claim) verifyNumber(fd uintptr, number string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(fd), &st); err != nil {
		return fmt.Errorf("storage %s: %w", c.named, err)
	}
	if got := fmt.Sprintf("%d:%d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))); got != number {
		return c.lost(fmt.Sprintf("what was opened is device %s and not %s", got, number))
	}
	return nil
}

// Verify makes sure that the device is still the one that was claimed: its name
// and number, its size, the kernel's count of appearances, its serial number,
// WWID and, of a card, its CID, and the number that its path stands for. It
// opens nothing, so that it may be called while a filesystem is mounted; for
// programs that are given a path, it is called right before and right after
// them. The error is *Gone; any other means that this could not be found out.
func (c *Claim) Verify() error {
	switch {
	case c.gone != nil:
		return c.gone
	case c.chip != nil:
		if _, err := c.o.Roots.simulator(*c.chip); err != nil {
			return c.lost(err.Error())
		}
		return nil
	case c.flash != nil:
		now, err := c.o.Roots.mtd(c.flash.Number)
		if errors.Is(err, errNoMTD) {
			return c.lost("it vanished")
		}
		if err != nil {
			return fmt.Errorf("storage %s: %w", c.named, err)
		}
		if what := differenceMTD(*c.flash, now); what != "" {
			return c.lost(what)
		}
	default:
		now, err := c.o.Roots.byNumber(c.device.Major, c.device.Minor)
		if errors.Is(err, errNoDevice) {
			return c.lost("it vanished")
		}
		if err != nil {
			return fmt.Errorf("storage %s: %w", c.named, err)
		}
		if what := difference(c.device, now); what != "" {
			return c.lost(what)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(c.path, &st); err != nil {
		return c.lost(fmt.Sprintf("its node %s: %v", c.path, err))
	}
	if unix.Major(uint64(st.Rdev)) != c.device.Major || unix.Minor(uint64(st.Rdev)) != c.device.Minor {
		return c.lost(c.path + " now stands for another device")
	}
	return nil
}

// Unmounted is Verify after the device was opened once more, exclusively, so
// that the kernel has asked it for its medium. It is for the moment before a
// program is given the path, and refuses storage that is mounted. Raw flash has
// no medium to exchange and is not opened.
func (c *Claim) Unmounted() error {
	if c.flash != nil {
		return c.Verify()
	}
	f, err := c.alone()
	if err != nil {
		return err
	}
	return f.Close()
}

// alone opens the device for reading, exclusively, and verifies it then.
func (c *Claim) alone() (*os.File, error) {
	if c.gone != nil {
		return nil, c.gone
	}
	f, err := exclusive(c.path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.verifyNumber(f.Fd(), c.device.Number()), c.Verify()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Recheck makes sure before a trial that the device is still the one that was
// claimed (else *Gone), and that nobody has come to use it (else *Refusal).
// What it holds is the last trial's; only of a medium that has no name of its
// own is it compared with what that trial left (see Left).
func (c *Claim) Recheck() error {
	if err := c.Verify(); err != nil {
		return err
	}
	if c.readOnly {
		return c.recheckReading()
	}
	if err := c.inUse(); err != nil || c.flash != nil {
		return err
	}
	f, err := c.alone()
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	if c.left == "" {
		return nil
	}
	seen, err := look(f, c.device.Size)
	if err != nil {
		return fmt.Errorf("reading %s: %w", c.named, err)
	}
	was := c.left
	c.left = "" // what follows writes
	if seen.fingerprint != was {
		return c.lost("it holds something else than the last trial left: the medium was exchanged, or another program has written to it")
	}
	return nil
}

// inUse refuses storage that somebody has come to use, or that has become the
// same as storage in use. A simulated chip is in use by nobody else.
func (c *Claim) inUse() error {
	var found []finding
	var err error
	switch r := c.o.Roots; {
	case c.chip != nil:
	case c.flash != nil:
		found, err = r.heldMTD(*c.flash)
	default:
		var now Device
		if now, err = r.byNumber(c.device.Major, c.device.Minor); err != nil {
			break
		}
		if !c.made {
			err = r.relate(&now)
		}
		if err == nil {
			found, err = r.held(now)
		}
	}
	if err != nil {
		return fmt.Errorf("whether %s is in use cannot be told: %w", c.named, err)
	}
	return judge(c.named, "", found, false)
}

// Left is called when a trial has ended and nothing of the storage is mounted:
// of a medium that has no name of its own it remembers the contents, so that
// Recheck notices another medium even where the kernel does not. Of other
// storage it remembers nothing.
func (c *Claim) Left() error {
	if c.gone != nil || c.readOnly || !c.nameless {
		return nil
	}
	f, err := c.alone()
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	seen, err := look(f, c.device.Size)
	if err == nil {
		c.left = seen.fingerprint
	}
	return err
}

// difference says what tells two views of a device apart, "" if nothing does.
func difference(was, is Device) string {
	for _, f := range []struct{ name, was, is string }{
		{"its kernel name", was.Name, is.Name},
		{"its device number", was.Number(), is.Number()},
		{"its size", media.FormatSize(was.Size), media.FormatSize(is.Size)},
		{"its serial number", was.Serial, is.Serial},
		{"its WWID", was.WWID, is.WWID},
		{"its CID", was.CID, is.CID},
	} {
		if f.was != f.is {
			return fmt.Sprintf("%s was %q and is %q", f.name, f.was, f.is)
		}
	}
	if was.Sequence != is.Sequence {
		return "it was taken away and another one, or the same, was put in its place"
	}
	return ""
}
