package usermode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/flash"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// Boot implements machine.Booter: each boot is a separate guest on the same storage, which was without
// power in between, while the session's own guest, which has unmounted and flushed it, is idle.
func (s *Session) Boot(ctx context.Context, b machine.Boot, events machine.Events) (wire.Done, error) {
	under, err := check(s.spec)
	if err != nil {
		return wire.Done{}, err
	}
	c, done := labguest.Bootable(b, under)
	switch {
	case done.Outcome != "":
		return done, nil
	case s.device == nil:
		return wire.Done{Outcome: result.Unsupported, Reason: "the storage is in the guest's memory, which ends with the guest"}, nil
	case s.model.Kind == flash.KindFree && s.spec.Processor == nil:
		return wire.Done{Outcome: result.Unsupported, Reason: fmt.Sprintf("a boot from storage %s takes no time", under)}, nil
	case ctx.Err() != nil:
		return wire.Done{}, machine.Canceled(ctx)
	}
	kernels := b.Kernels
	if len(kernels) == 0 {
		kernels = []string{s.host.kernel.Manifest.Series}
	}
	with := map[string]*host{} // by the kernel's release
	plans, done, err := labguest.BootPlans(ctx, kernels, func(series string) (labguest.BootPlan, error) {
		p, h, err := s.bootPlan(ctx, series, c)
		with[p.Kernel.Release] = h
		return p, err
	})
	if err != nil || done.Outcome != "" {
		return done, err
	}
	seed := s.spec.Seed
	once := func(ctx context.Context, p *labguest.BootPlan) (pid1.Booted, error) {
		seed++
		return s.bootOnce(ctx, with[p.Kernel.Release], p, seed, c)
	}
	return labguest.Boots(ctx, b.Repeats, plans, once, events)
}

// bootPlan prepares what a kernel needs to boot from a filesystem.
func (s *Session) bootPlan(ctx context.Context, series string, c filesystem.Candidate) (p labguest.BootPlan, h *host, err error) {
	p.NoKernel = "the kernel of the virtual lab starts as a program of this host"
	choice := kernel(s.spec)
	choice.Series = series
	if err := virtual.Check(choice); err != nil {
		return p, nil, err
	}
	if h, err = s.lab.host(ctx, choice); err != nil {
		return p, nil, err
	}
	agent, err := machine.AgentPath(s.lab.o.Agent, h.image.Manifest.Arch)
	if err != nil {
		return p, nil, err
	}
	dir, err := ownDir()
	if err != nil {
		return p, nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in memory, and swept
	m := h.kernel.Manifest
	p.Kernel = lab.Kernel{Offer: lab.Offer{Release: m.Release, Package: m.Package, Version: m.Version}, Root: dir}
	if err := os.MkdirAll(filepath.Join(dir, "lib/modules"), 0o700); err != nil {
		return p, nil, err
	}
	if _, err := command.Run(ctx, command.Options{}, "fsck.erofs", "--extract="+filepath.Join(dir, "lib/modules", m.Release), h.kernel.Modules); err != nil {
		return p, nil, err
	}
	return p, h, p.Load(agent, c, false)
}

// bootOnce boots one guest. A *result.Failure blames the filesystem unless the lab failed.
func (s *Session) bootOnce(ctx context.Context, h *host, boot *labguest.BootPlan, seed uint64, c filesystem.Candidate) (pid1.Booted, error) {
	failed := func(reason string, err error) (pid1.Booted, error) {
		return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: reason, Err: err}
	}
	device := &later{Device: s.device.Device, start: s.device.start}
	var lost flash.Loss
	if !s.guest.monitor.Do(func() {
		device.start += s.guest.monitor.Now()
		lost = device.Cut(0)
	}) {
		return failed("the guest died: "+s.guest.reason(), nil)
	}
	if lost.Buffered+lost.Neighbours > 0 {
		return failed(fmt.Sprintf("the simulated storage lost %d bytes at power-off: the step before did not flush it", lost.Buffered+lost.Neighbours), nil)
	}
	spec := s.spec
	spec.Memory, spec.Data, spec.Seed = labguest.BootMemory, nil, seed
	boots := *h
	boots.archive = boot.Archive
	p, err := boots.plan(spec, device)
	if err != nil {
		return pid1.Booted{}, err
	}
	p.append = slices.Concat(s.lab.o.Append, boot.RootParameters(c))
	var told []pid1.Booted
	p.line = func(line string) {
		if b, ok := labguest.BootedLine(line); ok {
			told = append(told, b)
		}
	}
	patient, cancel := context.WithTimeout(ctx, labguest.BootPatience)
	defer cancel()
	g, err := boots.alone(patient, p)
	if g == nil {
		return failed("the guest could not be started", err)
	}
	if ctx.Err() != nil {
		return pid1.Booted{}, fmt.Errorf("the guest was abandoned while it booted: %w", machine.Canceled(ctx))
	}
	// What follows in the session is later than the boot.
	s.guest.monitor.Do(func() { s.device.start += g.monitor.Now() })
	late, reason := patient.Err() != nil, g.reason()
	if len(told) > 0 { // the first one counts
		return boot.JudgeBoot(told[0], late, true, g.console.Last())
	}
	if late {
		reason = fmt.Sprintf("it was not done after %v", labguest.BootPatience)
	}
	return pid1.Booted{}, labguest.Unbooted(reason, g.console.Last())
}
