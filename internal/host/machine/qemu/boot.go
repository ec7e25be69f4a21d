package qemu

import (
	"context"
	"errors"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
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
	plans, done, err := s.bootPlans(ctx, b, c)
	if err != nil || done.Outcome != "" {
		return done, err
	}
	once := func(ctx context.Context, p *labguest.BootPlan) (pid1.Booted, error) { return s.bootOnce(ctx, p, c) }
	return labguest.Boots(ctx, b.Repeats, plans, once, events)
}

// bootPlans prepares everything that the boots need.
func (s *Session) bootPlans(ctx context.Context, b machine.Boot, c filesystem.Candidate) ([]labguest.BootPlan, wire.Done, error) {
	kernels := b.Kernels
	if len(kernels) == 0 {
		kernels = []string{s.image.Manifest.Kernel}
	}
	agent := s.lab.o.Agent
	if agent == "" {
		var err error
		if agent, err = machine.AgentPath(s.image.Manifest.Arch); err != nil {
			return nil, wire.Done{}, err
		}
	}
	var plans []labguest.BootPlan
	for _, asked := range kernels {
		k, err := lab.FetchKernel(ctx, s.image.Arch(), asked, s.lab.o.Progress)
		if none, ok := errors.AsType[*result.Failure](err); ok {
			return nil, wire.Done{Outcome: none.Outcome, Reason: none.Reason, Hint: none.Hint}, nil
		}
		if ctx.Err() != nil {
			return nil, wire.Done{}, machine.Canceled(ctx)
		}
		if err != nil {
			return nil, wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "kernel " + asked + " is not available", Err: err}
		}
		p := labguest.BootPlan{Kernel: k, Phase: "boot " + asked}
		if len(b.Kernels) == 0 {
			p.Phase = "boot " + k.Series()
		}
		var failure *result.Failure
		if err := p.Load(agent, c, s.plan.card()); errors.As(err, &failure) && failure.Outcome != result.LabFailed {
			return nil, wire.Done{Outcome: failure.Outcome, Phase: p.Phase, Reason: failure.Reason, Hint: failure.Hint}, nil
		} else if err != nil {
			return nil, wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "no boot archive for kernel " + asked, Err: err}
		}
		plans = append(plans, p)
	}
	return plans, wire.Done{}, nil
}
