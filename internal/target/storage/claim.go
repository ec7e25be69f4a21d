// Package storage finds, identifies and guards the storage under test. Nothing is written to a
// device before its identity is known, and everything that cannot be proven harmless is refused.
package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// Options of Open; the zero value is fine.
type Options struct {
	// Work is the directory for loop files; empty: the system's temporary directory. The storage
	// below it is what gets measured.
	Work  string
	Roots Roots
	// LockWait is how long to wait for a lock that another program holds on the device; default 3
	// s.
	LockWait time.Duration
	// Appear is how long to wait for serial: and mmc: devices; default 1 minute.
	Appear time.Duration
	// ReadOnly claims for reading only: the device may hold anything, and no method of the claim
	// writes to it.
	ReadOnly bool
	// InUse allows reading a device that is in use; only valid with ReadOnly.
	InUse bool
	// Lab: the kernel is a lab guest's, so its disks were made for this run.
	Lab bool
}

// Claim is storage that is ours until Close. Its methods must not be called concurrently.
type Claim struct {
	named  string // as the user wrote it
	o      Options
	device Device // as it was when it was claimed
	path   string
	node   *os.File // keeps the device number from being reused
	lock   *os.File
	extra  []result.Condition
	name   string      // for Identity
	memory bool        // a disk in memory
	flash  *MTD        // raw flash as it was when it was claimed; device has only its name and size
	chip   *media.NAND // the simulated chip

	made     bool     // for this run, so nothing else can reach it under another name
	gone     *Gone    // set once it is no longer the storage that was claimed
	found    string   // what was on it when it was claimed, in words
	nameless bool     // its identity names the reader and not the medium
	left     string   // fingerprint of what the last trial left on such a medium
	readOnly bool     // nothing is written
	usedBy   []string // what used it when it was claimed for reading
}

// Open claims storage: it finds the device, or makes it (loop:), checks that it may be overwritten
// (Guard; skipped for what whichfs itself made: loop files, and the disks and memory of lab
// guests), and keeps other runs away until Close.
//
// The device is not held exclusively in the kernel's sense, because then neither mkfs nor mount
// would work; exclusive use is tested here and again in Recheck. Refusals are *Refusal.
func Open(ctx context.Context, on media.Storage, destroy string, o Options) (*Claim, error) {
	o.Roots = o.Roots.filled()
	if o.LockWait <= 0 {
		o.LockWait = momentary
	}
	if o.Appear <= 0 {
		o.Appear = patience
	}
	c := &Claim{named: on.String(), o: o}
	var err error
	switch on.Kind {
	case media.KindDevice:
		if o.ReadOnly {
			err = c.openReading(ctx, on.Path)
		} else {
			err = c.openDevice(ctx, on.Path, destroy)
		}
	case media.KindLoop:
		err = c.openLoop(ctx, on.Size)
	case media.KindMTD:
		err = c.openMTD(ctx, on.Path, destroy)
	case media.KindRAM, media.KindNAND, media.KindSerial, media.KindMMC:
		if !o.Lab {
			err = refuse(on.String(), "use --machine lab, or name a device (see whichfs list storage)", "such storage exists only in the lab's own guests")
			break
		}
		err = c.openLab(ctx, on)
	case media.KindDisk, media.KindSD:
		err = refuse(on.String(), "use --machine lab, or loop:"+media.FormatSize(on.Size), "such storage exists only in the lab")
	case media.KindSim:
		err = refuse(on.String(), "use --machine lab", "such storage exists only in the lab")
	default:
		err = fmt.Errorf("storage of unknown kind %q", on.Kind)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.readOnly, c.made = o.ReadOnly, on.Kind != media.KindDevice && on.Kind != media.KindMTD
	return c, nil
}

// openLab claims storage that was made for a lab guest.
func (c *Claim) openLab(ctx context.Context, on media.Storage) error {
	switch on.Kind {
	case media.KindRAM:
		return c.openRAM(ctx, on.Size)
	case media.KindNAND:
		return c.openNAND(on)
	}
	var err error
	if c.device, err = c.o.Roots.appear(ctx, on, c.o.Appear); err != nil {
		return err
	}
	c.path = c.device.Path
	return c.hold(ctx)
}

func (c *Claim) openDevice(ctx context.Context, path, destroy string) error {
	err := c.guarded(ctx, path, destroy)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Device = c.named
	}
	return err
}

func (c *Claim) guarded(ctx context.Context, path, destroy string) error {
	var err error
	if c.device, err = c.o.Roots.resolve(path); err != nil {
		return err
	}
	if c.path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := c.lockRun(ctx); err != nil {
		return err
	}
	if c.device, err = c.o.Roots.unused(path); err != nil {
		return err
	}
	if err := c.hold(ctx); err != nil {
		return err
	}
	if name, _, _ := cutPin(destroy); c.device.Is(destroy) || c.device.Is(name) {
		if c.device, err = c.o.Roots.dropStale(c.device); err != nil {
			return err
		}
	}
	// From here on no program that honours the lock changes the device.
	node, err := c.o.Roots.lockNode(ctx, c.device, c.path, c.o.LockWait)
	if err != nil {
		return err
	}
	defer node.Close() //nolint:errcheck // releases the lock
	checked, seen, err := c.o.Roots.guard(ctx, c.path, destroy)
	if err != nil {
		return err
	}
	if what := difference(c.device, checked); what != "" {
		return c.lost(what)
	}
	c.found, c.nameless = strings.Join(seen.words, "; "), checked.nameless()
	if c.nameless {
		c.left = seen.fingerprint
	}
	return nil
}

// hold takes the run's lock, unless the claim already has it, and opens the node.
func (c *Claim) hold(ctx context.Context) error {
	if c.lock == nil {
		if err := c.lockRun(ctx); err != nil {
			return err
		}
	}
	if c.node == nil {
		var err error
		if c.node, err = os.OpenFile(c.path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			if errors.Is(err, os.ErrPermission) {
				return refuse(c.named, "run whichfs as root (sudo)", "no permission to open it")
			}
			return fmt.Errorf("storage %s: %w", c.named, err)
		}
	}
	return c.verifyNumber(c.node.Fd(), c.device.Number())
}

// Path is the device node, "/dev/sdb".
func (c *Claim) Path() string { return c.path }

// Uncounted says why the kernel counts no traffic for this storage; "" if it does.
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

// Chip is the geometry of raw flash.
func (c *Claim) Chip() filesystem.Chip {
	return filesystem.Chip{Size: c.device.Size, EraseBlock: c.flash.Erase, Page: c.flash.Page}
}

// Name is the kernel's name, "sdb".
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
	all := append(c.device.Conditions(), c.extra...)
	if c.found != "" {
		all = append(all, result.Condition{Group: "storage", Name: "held before the run", Value: c.found})
	}
	return all
}

// Close releases the storage and removes what Open made. It may be called more than once.
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
