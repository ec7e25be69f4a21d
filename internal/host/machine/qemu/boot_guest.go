package qemu

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// bootOnce boots one guest. A *result.Failure blames the filesystem.
func (s *Session) bootOnce(ctx context.Context, p *bootPlan, c filesystem.Candidate) (pid1.Booted, error) {
	failed := func(reason string, err error) (pid1.Booted, error) {
		return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: reason, Err: err}
	}
	cfg := config{
		program: s.plan.config.program, arch: s.plan.config.arch, kvm: s.plan.config.kvm, memory: bootMemory,
		kernel: p.kernel.File, archive: descriptor(0), append: s.bootParameters(c),
	}
	archive, err := labguest.InMemory("archive", p.archive)
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
	b, err := awaitRoot(ctx, g)
	if err == nil && s.timed() {
		p.waited.Add(g.waited)
	}
	return b, err
}

// awaitRoot follows a guest's console until it has reported how it booted and has powered off.
func awaitRoot(ctx context.Context, g *guest) (pid1.Booted, error) {
	told, watch := make(chan pid1.Booted, 1), g.watch()
	began := watch.Now()
	screen := labguest.Watch(g.console, func(line string) {
		if b, ok := bootedLine(line); ok && len(told) == 0 { // the first one counts
			g.waited = load.Between(began, watch.Now(), load.Own{}) // QEMU is about to end
			told <- b
		}
	})
	limit := time.NewTimer(bootPatience)
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
		return judge(b, late, screen.Last())
	default:
	}
	reason := g.reason(screen)
	if late {
		reason = fmt.Sprintf("it was not done after %v", bootPatience)
	}
	if g.sim != nil {
		if fault := g.sim.fault(); fault != nil && late {
			return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: "the simulated storage was lost during a boot", Err: fault, Console: screen.Last()}
		}
	}
	if slices.ContainsFunc(screen.Last(), func(line string) bool { return strings.Contains(line, pid1.RootMark) }) {
		return pid1.Booted{}, workload.Subject("the guest did not boot from it: %s (the console's last lines: %s)", reason, quoted(screen.Last()))
	}
	return pid1.Booted{}, &result.Failure{Outcome: result.LabFailed, Reason: "the guest died before it could boot from the filesystem: " + reason, Console: screen.Last()}
}

// judge turns the guest's report into figures or a failure.
func judge(b pid1.Booted, late bool, console []string) (pid1.Booted, error) {
	switch {
	case b.Outcome == result.Done && b.Failed == "" && b.Root > 0 && b.Kernel > 0 && b.Root+b.Kernel <= bootPatience.Seconds() && !late:
		return b, nil
	case late:
		return b, workload.Subject("the guest booted but did not power off within %v (the console's last lines: %s)", bootPatience, quoted(console))
	case b.Outcome == result.SubjectFailed && b.Failed != "":
		return b, workload.Subject("%s (the console's last lines: %s)", b.Failed, quoted(console))
	}
	reason := b.Failed
	if reason == "" {
		reason = fmt.Sprintf("it reports times of %v s and %v s", b.Kernel, b.Root)
	}
	return b, &result.Failure{Outcome: result.LabFailed, Reason: "the guest could not boot from the filesystem: " + reason, Console: console}
}

// quoted returns the last non-empty lines, without our own message.
func quoted(console []string) string {
	var last []string
	for _, line := range slices.Backward(console) {
		if _, ours := bootedLine(line); ours || strings.TrimSpace(line) == "" || strings.Contains(line, pid1.RootMark) {
			continue
		}
		if last = append(last, strings.TrimSpace(line)); len(last) == quotedLines {
			break
		}
	}
	if len(last) == 0 {
		return "none"
	}
	slices.Reverse(last)
	return strings.Join(last, "; ")
}

// bootedLine reads the guest's message from a line of its console.
func bootedLine(line string) (pid1.Booted, bool) {
	at := strings.Index(line, "@wfs ")
	if at < 0 {
		return pid1.Booted{}, false
	}
	m, err := wire.Decode([]byte(line[at:]))
	if err != nil || m.Kind != pid1.KindBooted {
		return pid1.Booted{}, false
	}
	var b pid1.Booted
	if m.Decode(&b) != nil {
		return pid1.Booted{}, false
	}
	return harmless.Copy(b, len(line)), true
}

// bootParameters are the kernel parameters of such a guest.
func (s *Session) bootParameters(c filesystem.Candidate) []string {
	out := []string{"whichfs.root=" + c.FS}
	if o := bootOptions(c); len(o) > 0 {
		out = append(out, "whichfs.options="+strings.Join(o, ","))
	}
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
