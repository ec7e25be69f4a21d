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

// Gone is the error of every use of a device that is no longer the one that was claimed. It is
// final: nothing more is written to that device, discarded or released on it, even if it comes
// back.
type Gone struct{ Device, What string }

func (e *Gone) Error() string {
	return fmt.Sprintf("%s is no longer the device that was claimed: %s", e.Device, e.What)
}

// As makes it a *result.Failure for errors.As.
func (e *Gone) As(target any) bool {
	f, ok := target.(**result.Failure)
	if ok {
		*f = result.Fail(result.LabFailed, "connect it again; whichfs resume continues", "%v", e)
	}
	return ok
}

// Right is the right to write to claimed storage: its descriptor, open, and verified after it was
// opened. This program writes to storage in no other way. It is valid until its holder closes it;
// long operations call Claim.Verify again.
type Right struct {
	*os.File // nil for raw flash
	flash    *mtd.Device
}

// Right returns the right to write to all of the storage, or to a part of it that the claim has
// made. flags are added to those of open(2) and decide whether others are kept out (O_EXCL) and
// whether the cache is bypassed (O_DIRECT).
//
// The descriptor is verified after opening, because only opening makes the kernel notice an
// exchanged medium. The error is *Gone if this is no longer the storage that was claimed, and
// *Refusal if it is in use.
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

// Close gives up the right.
func (r *Right) Close() error {
	if r.flash != nil {
		return r.flash.Close()
	}
	return r.File.Close()
}

// Flash is the storage's descriptor if it is raw flash.
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

// lost records for good that the storage is no longer the one that was claimed.
func (c *Claim) lost(what string) *Gone {
	if c.gone == nil {
		c.gone = &Gone{c.named, what}
	}
	return c.gone
}

// verifyNumber checks that a descriptor refers to the device with a number.
func (c *Claim) verifyNumber(fd uintptr, number string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(fd), &st); err != nil {
		return fmt.Errorf("storage %s: %w", c.named, err)
	}
	if got := fmt.Sprintf("%d:%d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))); got != number {
		return c.lost(fmt.Sprintf("the opened device is %s and not %s", got, number))
	}
	return nil
}

// Verify checks that the device is still the one that was claimed: its name and number, size, the
// kernel's count of appearances, serial number, WWID, a card's CID, and the number that its path
// refers to. It opens nothing, so it may be called while a filesystem is mounted; when a program is
// given the path, Verify is called right before and right after. The error is *Gone; any other
// error means that the check itself failed.
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
		return c.lost(c.path + " now refers to another device")
	}
	return nil
}

// Unmounted opens the device once more, exclusively, so that the kernel asks it for its medium, and
// then verifies it. It is called right before a program is given the path, and refuses storage that
// is mounted. Raw flash has no medium to exchange and is not opened.
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

// alone opens the device for reading, exclusively, and then verifies it.
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

// Recheck verifies before a trial that the device is still the one that was claimed (else *Gone)
// and that nothing has started to use it (else *Refusal). Contents are compared with what the last
// trial left only on a medium without a name of its own (see Left).
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
		return c.lost("its contents are not what the last trial left: the medium was exchanged, or another program has written to it")
	}
	return nil
}

// inUse refuses storage that is in use by now, or that has become the same as storage in use. A
// simulated chip has no other users.
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
		return fmt.Errorf("cannot tell whether %s is in use: %w", c.named, err)
	}
	return judge(c.named, "", found, false)
}

// Left is called when a trial has ended and nothing of the storage is mounted. For a medium without
// a name of its own it remembers the contents, so that Recheck notices another medium even where
// the kernel does not. For other storage it remembers nothing.
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

// difference names what distinguishes two views of a device, "" if nothing does.
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
		return "it was removed, and another one or the same one was inserted"
	}
	return ""
}
