package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"whichfs/internal/plan/media"
)

// MTDUncounted says why raw flash has no figures of traffic.
const MTDUncounted = "the kernel does not count the traffic of raw flash (MTD)"

// openMTD claims raw flash. The node is held open so that its driver stays loaded.
func (c *Claim) openMTD(ctx context.Context, path, destroy string) error {
	r := c.o.Roots
	if c.o.ReadOnly {
		return refuse(c.named, "", "raw flash cannot be probed: a probe reads block devices")
	}
	m, err := r.findMTD(path)
	if err != nil {
		return err
	}
	c.take(m)
	if c.path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := c.hold(ctx); err != nil {
		return err
	}
	// From here on no other run changes the flash.
	again, err := r.mtd(m.Number)
	if err != nil {
		return c.lost(err.Error())
	}
	if what := differenceMTD(m, again); what != "" {
		return c.lost(what)
	}
	return r.guardMTD(ctx, c.named, destroy, m, openFlash)
}

// openNAND claims the simulated chip that the guest's agent has made. Nothing of it is held open or
// locked: the chip is removed and recreated for every trial, perhaps with another partition, and a
// guest has no other users.
func (c *Claim) openNAND(on media.Storage) error {
	n, err := on.NAND()
	if err != nil {
		return err
	}
	m, err := c.o.Roots.simulator(n)
	if errors.Is(err, errNoMTD) || errors.Is(err, errNoSimulator) {
		return refuse(c.named, "use --machine lab", "%v: such storage exists only in the lab", err)
	}
	if err != nil {
		return err
	}
	c.take(m)
	c.path, c.chip = m.Path, &n
	c.name = "raw NAND chip of " + media.FormatSize(n.Size) + " in the guest's memory"
	// A simulator that the user loaded may hold data.
	found, err := c.o.Roots.heldMTD(m)
	if err != nil {
		return fmt.Errorf("cannot tell whether %s is in use: %w", c.named, err)
	}
	return judge(c.named, "", found, false)
}

func (c *Claim) take(m MTD) {
	c.flash = &m
	c.device = Device{Name: m.Name, Path: m.Path, Major: m.Major, Minor: m.Minor, Size: m.Size,
		Disk: "the chip of " + m.Name, dir: m.dir, disk: m.chip()}
}

var errNoSimulator = errors.New("/dev/mtd0 is not a simulated chip")

// simulator finds the chip that nandsim makes, and checks that it is the requested one.
func (r Roots) simulator(n media.NAND) (MTD, error) {
	m, err := r.mtd(0)
	switch {
	case err != nil:
		return MTD{}, err
	case m.Label != simulatorLabel || !m.Simulated():
		return MTD{}, errNoSimulator
	case m.Page != int64(n.Page) || m.OOB != int64(n.OOB) || m.Erase != n.Block || m.Size > n.Size:
		return MTD{}, fmt.Errorf("the simulated chip has %d B, pages of %d and %d B and erase blocks of %d B instead of %d, %d and %d, and %d",
			m.Size, m.Page, m.OOB, m.Erase, n.Size, n.Page, n.OOB, n.Block)
	}
	return m, nil
}

// differenceMTD names what distinguishes two views of flash, "" if nothing does.
func differenceMTD(was, is MTD) string {
	for _, f := range []struct{ name, was, is string }{
		{"its label", was.Label, is.Label}, {"its type", was.Type, is.Type}, {"its size", media.FormatSize(was.Size), media.FormatSize(is.Size)},
		{"its erase block", media.FormatSize(was.Erase), media.FormatSize(is.Erase)}, {"its page", media.FormatSize(was.Page), media.FormatSize(is.Page)},
		{"its place on the chip", media.FormatSize(was.Offset), media.FormatSize(is.Offset)}, {"its place in sysfs", was.dir, is.dir},
	} {
		if f.was != f.is {
			return fmt.Sprintf("%s was %q and is %q", f.name, f.was, f.is)
		}
	}
	return ""
}
