package qemu

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
)

// bootOnce boots one guest. A *result.Failure blames the filesystem.
func (s *Session) bootOnce(ctx context.Context, p *labguest.BootPlan, c filesystem.Candidate) (pid1.Booted, error) {
	failed := func(reason string, err error) (pid1.Booted, error) {
		return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: reason, Err: err}
	}
	cfg := config{
		program: s.plan.config.program, arch: s.plan.config.arch, kvm: s.plan.config.kvm, cpus: s.plan.config.cpus, memory: labguest.BootMemory,
		kernel: p.Kernel.File, archive: descriptor(0), append: s.bootParameters(p, c),
	}
	archive, err := labguest.InMemory("archive", p.Archive)
	if err != nil {
		return failed("no memory for the boot archive", err)
	}
	files := []*os.File{archive}
	if sim := s.guest.sim; sim != nil {
		if lost := sim.server.Restart(); lost.Buffered+lost.Neighbours > 0 {
			_ = archive.Close()
			return failed(fmt.Sprintf("the simulated storage lost %d bytes at power-off: the step before did not flush it", lost.Buffered+lost.Neighbours), nil)
		}
		cfg.sim = sim.again()
	} else {
		d := s.plan.config.disks[len(s.plan.config.disks)-1]
		fd, err := unix.FcntlInt(s.plan.files[1].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			_ = archive.Close()
			return failed("the guest's disk", err)
		}
		files = append(files, os.NewFile(uintptr(fd), "disk"))
		d.file = descriptor(1)
		cfg.disks = []disk{d}
	}
	g, err := start(cfg, false, files...)
	if err != nil {
		return failed("the guest could not be started", err)
	}
	defer g.end() //nolint:errcheck // awaitRoot reports a QEMU that stays
	b, err := awaitRoot(ctx, p, g)
	if err == nil && s.timed() {
		p.Waited.Add(g.waited)
	}
	return b, err
}

// awaitRoot follows a guest's console until it has reported how it booted and has powered off.
func awaitRoot(ctx context.Context, p *labguest.BootPlan, g *guest) (pid1.Booted, error) {
	told, watch := make(chan pid1.Booted, 1), g.watch()
	began := watch.Now()
	screen := labguest.Watch(g.console, func(line string) {
		if b, ok := labguest.BootedLine(line); ok && len(told) == 0 { // the first one counts
			g.waited = load.Between(began, watch.Now(), load.Own{}) // QEMU is about to end
			told <- b
		}
	})
	limit := time.NewTimer(labguest.BootPatience)
	defer limit.Stop()
	late := false
	select {
	case <-ctx.Done():
		return pid1.Booted{}, fmt.Errorf("the guest was abandoned while it booted: %w", machine.Canceled(ctx))
	case <-limit.C:
		late = true
		if err := g.process.Kill(); err != nil {
			return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: "a guest that was to boot from the filesystem does not end", Err: err, Console: screen.Last()}
		}
	case <-g.process.Done():
	}
	<-screen.Ended()
	select {
	case b := <-told:
		return p.JudgeBoot(b, late, false, screen.Last())
	default:
	}
	reason := g.reason(screen)
	if late {
		reason = fmt.Sprintf("it was not done after %v", labguest.BootPatience)
	}
	if g.sim != nil {
		if fault := g.sim.fault(); fault != nil && late {
			return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: "the simulated storage was lost during a boot", Err: fault, Console: screen.Last()}
		}
	}
	return pid1.Booted{}, labguest.Unbooted(reason, screen.Last())
}

// bootParameters are the kernel parameters of such a guest.
func (s *Session) bootParameters(p *labguest.BootPlan, c filesystem.Candidate) []string {
	out := p.RootParameters(c)
	if s.plan.card() {
		out = append(out, "whichfs.card")
	}
	for _, word := range s.plan.config.append {
		if word == rotationalParameter || strings.HasPrefix(word, requestParameter) {
			out = append(out, word)
		}
	}
	return out
}
