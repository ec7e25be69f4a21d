package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Options of Open; the zero value is fine.
type Options struct {
	// Work is the directory for loop files; empty: the system's temporary one.
	// What it lies on is what is measured.
	Work  string
	Roots Roots
	// LockWait is how long a lock that another program holds on the device is
	// waited for; default 3 s.
	LockWait time.Duration
	// Appear is how long serial: and mmc: are waited for; default 10 s.
	Appear time.Duration
	// ReadOnly claims for reading alone: a device may hold anything, and no
	// method of the claim writes to it.
	ReadOnly bool
	// InUse lets a device be read that somebody uses; of no meaning without
	// ReadOnly.
	InUse bool
}

// Claim is storage that is ours until Close. Its methods are not to be called
// from several goroutines at once.
type Claim struct {
	named  string // as the user wrote it
	o      Options
	device Device // as it was when it was claimed
	path   string
	node   *os.File // keeps the device number from being given to another
	lock   *os.File
	extra  []result.Condition
	name   string // for Identity
	memory bool   // a disk in memory
	flash  *MTD   // raw flash as it was when it was claimed; device has its name and size alone
	chip   *NAND  // the chip that is simulated

	readOnly bool     // nothing is written
	usedBy   []string // who used it when it was claimed for reading
}

// Gone is the error of Recheck for a device that is no longer the one that was
// claimed.
type Gone struct{ Device, What string }

func (e *Gone) Error() string {
	return fmt.Sprintf("%s is no longer the device that was claimed: %s", e.Device, e.What)
}

// Open claims storage: it finds the device, or makes it (KindLoop), makes sure
// that it may be overwritten (Guard; not asked of storage that belongs to a lab
// guest or was just made), and keeps other runs away until Close.
//
// The device is not held exclusively in the kernel's sense, since neither mkfs
// nor mount would work then; that is tested here and again in Recheck.
// Refusals are *Refusal.
func Open(ctx context.Context, spec Spec, destroy string, o Options) (*Claim, error) {
	o.Roots = o.Roots.filled()
	if o.LockWait <= 0 {
		o.LockWait = 3 * time.Second
	}
	if o.Appear <= 0 {
		o.Appear = 10 * time.Second
	}
	c := &Claim{named: spec.String(), o: o}
	var err error
	switch spec.Kind {
	case KindDevice:
		if o.ReadOnly {
			err = c.openReading(ctx, spec.Path)
		} else {
			err = c.openDevice(ctx, spec.Path, destroy)
		}
	case KindLoop:
		err = c.openLoop(ctx, spec.Size)
	case KindRAM:
		err = c.openRAM(ctx, spec.Size)
	case KindMTD:
		err = c.openMTD(ctx, spec.Path, destroy)
	case KindNAND:
		err = c.openNAND(spec)
	case KindSerial, KindMMC:
		if c.device, err = o.Roots.appear(ctx, spec, o.Appear); err == nil {
			c.path = c.device.Path
			err = c.hold(ctx)
		}
	case KindDisk, KindSD:
		err = refuse(spec.String(), "use --machine lab, or loop:"+FormatSize(spec.Size), "such storage exists only in the lab")
	case KindSim:
		err = refuse(spec.String(), "use --machine lab", "such storage exists only in the lab")
	default:
		err = fmt.Errorf("storage of unknown kind %q", spec.Kind)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.readOnly = o.ReadOnly
	return c, nil
}

func (c *Claim) openDevice(ctx context.Context, path, destroy string) error {
	var err error
	if c.device, err = c.o.Roots.find(path); err != nil {
		return err
	}
	if c.path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := c.hold(ctx); err != nil {
		return err
	}
	// From here on nobody who keeps to the rules changes the device.
	node, err := c.o.Roots.lockNode(ctx, c.device, c.path, c.o.LockWait)
	if err != nil {
		return err
	}
	defer node.Close() //nolint:errcheck // gives up the lock
	checked, err := c.o.Roots.guard(ctx, c.path, destroy)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Device = c.named
	}
	if err != nil {
		return err
	}
	if what := difference(c.device, checked); what != "" {
		return &Gone{c.named, what}
	}
	return nil
}

// hold opens the node and takes the run's lock.
func (c *Claim) hold(ctx context.Context) error {
	var err error
	if c.node == nil {
		if c.node, err = os.OpenFile(c.path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			if errors.Is(err, os.ErrPermission) {
				return refuse(c.named, "run whichfs as root (sudo)", "no permission to open it")
			}
			return fmt.Errorf("storage %s: %w", c.named, err)
		}
	}
	c.lock, err = c.o.Roots.lockRun(ctx, c.device, c.named)
	return err
}

// Path of the device node, "/dev/sdb".
func (c *Claim) Path() string { return c.path }

// Uncounted says why the kernel counts no traffic of this storage, "" if it
// does.
func (c *Claim) Uncounted() string {
	switch {
	case c.memory:
		return RAMUncounted
	case c.flash != nil:
		return MTDUncounted
	}
	return ""
}

// Raw reports whether the storage is raw flash: a chip that is erased before it
// is written, /dev/mtdN, and no block device.
func (c *Claim) Raw() bool { return c.flash != nil }

// Name is the kernel's, "sdb".
func (c *Claim) Name() string { return c.device.Name }

// Size in bytes.
func (c *Claim) Size() int64 { return c.device.Size }

// Identity is a name for people: serial number, by-id name or description.
func (c *Claim) Identity() string {
	if c.name != "" {
		return c.name
	}
	if c.flash != nil {
		return c.flash.IDs()[0]
	}
	return c.device.IDs()[0]
}

// Conditions are all facts about the storage for the report.
func (c *Claim) Conditions() []result.Condition {
	if c.flash != nil {
		return c.conditionsMTD()
	}
	return append(c.device.Conditions(), c.extra...)
}

// Recheck makes sure before a trial that the device is still the one that was
// claimed (else *Gone), and that nobody has come to use it (else *Refusal).
// What it holds is not looked at: that is the last trial's.
func (c *Claim) Recheck() error {
	if c.flash != nil {
		return c.recheckMTD()
	}
	r := c.o.Roots
	now, err := r.byNumber(c.device.Major, c.device.Minor)
	if errors.Is(err, errNoDevice) {
		return &Gone{c.named, "it vanished"}
	}
	if err != nil {
		return fmt.Errorf("storage %s: %w", c.named, err)
	}
	if what := difference(c.device, now); what != "" {
		return &Gone{c.named, what}
	}
	var st unix.Stat_t
	if err := unix.Stat(c.path, &st); err != nil {
		return &Gone{c.named, fmt.Sprintf("its node %s: %v", c.path, err)}
	}
	if unix.Major(uint64(st.Rdev)) != c.device.Major || unix.Minor(uint64(st.Rdev)) != c.device.Minor {
		return &Gone{c.named, c.path + " now stands for another device"}
	}
	if c.readOnly {
		return c.recheckReading(now)
	}
	found, err := r.held(now)
	if err != nil {
		return fmt.Errorf("whether %s is in use cannot be told: %w", c.named, err)
	}
	if err := verdict(c.named, "", now, found); err != nil {
		return err
	}
	return exclusive(c.path)
}

// difference says what tells two views of a device apart, "" if nothing does.
func difference(was, is Device) string {
	for _, f := range []struct{ name, was, is string }{
		{"its kernel name", was.Name, is.Name},
		{"its device number", was.Number(), is.Number()},
		{"its size", FormatSize(was.Size), FormatSize(is.Size)},
		{"its serial number", was.Serial, is.Serial},
		{"its WWID", was.WWID, is.WWID},
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

// Close gives the storage up and removes what Open made. It may be called more
// than once.
func (c *Claim) Close() error {
	var errs []error
	for _, f := range []**os.File{&c.node, &c.lock} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	return errors.Join(errs...)
}
