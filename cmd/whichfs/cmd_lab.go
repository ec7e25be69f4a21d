package main

import (
	"fmt"

	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/units"
)

type labCmd struct {
	Build labBuildCmd `cmd:"" help:"Make kernel and root image; needs no root. Does nothing if they are there."`
	Shell labShellCmd `cmd:"" help:"A shell in a guest, with the storage attached; ends with the shell."`
	Clean labCleanCmd `cmd:"" help:"Remove kernels and root images."`
}

type labBuildCmd struct {
	Force bool `help:"Build again even if the image is there."`
}

func (c *labBuildCmd) Run(a *app) error {
	build := lab.Rebuild
	if !c.Force {
		build = lab.Build // another process may be at it
		if image, err := lab.Locate(); err == nil {
			_, err := fmt.Fprintln(a.stdout, "The lab is built:", image.Dir)
			return err
		}
	}
	image, err := build(a.ctx, a.note)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "Built the lab:", image.Dir)
	return err
}

type labShellCmd struct {
	Storage string `help:"Storage to attach." default:"disk:1G"`
}

func (c *labShellCmd) Run(a *app) error {
	return qemu.Shell(a.ctx, a.stdin, a.stdout, machine.Spec{Storage: c.Storage})
}

type labCleanCmd struct{}

func (labCleanCmd) Run(a *app) error {
	freed, err := lab.Clean()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Removed the lab: %s freed\n", units.Value(float64(freed), "B"))
	return err
}
