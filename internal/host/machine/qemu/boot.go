package qemu

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// Boot implements machine.Booter: each boot is a separate guest on the same storage, while the
// session's own guest, which has unmounted and flushed it, is idle.
func (s *Session) Boot(ctx context.Context, b machine.Boot, events machine.Events) (wire.Done, error) {
	c, done := labguest.Bootable(b, s.plan.spec)
	if done.Outcome != "" {
		return done, nil
	}
	kernels := b.Kernels
	if len(kernels) == 0 {
		kernels = []string{lab.Offer{Release: s.image.Manifest.Kernel}.Series()}
	}
	plans, done, err := labguest.BootPlans(ctx, kernels, func(kernel string) (labguest.BootPlan, error) { return s.bootPlan(ctx, kernel, c) })
	if err != nil || done.Outcome != "" {
		return done, err
	}
	once := func(ctx context.Context, p *labguest.BootPlan) (pid1.Booted, error) { return s.bootOnce(ctx, p, c) }
	return labguest.Boots(ctx, b.Repeats, plans, once, events)
}

// bootPlan prepares what a kernel needs to boot from a filesystem.
func (s *Session) bootPlan(ctx context.Context, kernel string, c filesystem.Candidate) (labguest.BootPlan, error) {
	var p labguest.BootPlan
	agent, err := machine.AgentPath(s.lab.o.Agent, s.image.Manifest.Arch)
	if err != nil {
		return p, err
	}
	if p.Kernel, err = lab.FetchKernel(ctx, s.image.Arch(), kernel, s.lab.o.Progress); err != nil {
		return p, err
	}
	return p, p.Load(agent, c, s.plan.card())
}
