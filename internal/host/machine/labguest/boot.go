package labguest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

const (
	// BootMemory of a guest that boots from the filesystem under test, in bytes: the same whatever
	// data sets the trial used.
	BootMemory = 256 << 20
	// BootPatience limits such a guest from start to end; a filesystem that takes longer to mount
	// after a clean unmount hangs.
	BootPatience = 3 * time.Minute
	// quotedLines of the console are quoted in the reason of a failed boot.
	quotedLines = 4
)

// BootPhase and LoginPhase, with the kernel, are the phases of boots to the first process of the root
// filesystem and to its login prompt.
const (
	BootPhase  = "boot "
	LoginPhase = "login "
)

// BootPlan is one kernel's part of a Boot.
type BootPlan struct {
	Kernel  lab.Kernel
	Phase   string
	Archive []byte
	Waited  load.Load // for processors, in all boots
	Login   bool      // it boots to a login prompt
	// NoKernel says why the time of the kernel's own start means nothing; empty: it is a figure.
	NoKernel string

	kernel string           // as requested
	sizes  map[string]int64 // of the modules loaded for the filesystem, by name, B
	own    string           // its own
	booted []pid1.Booted
}

// Boots boots from each plan in turn, so that changes on the host affect all of them alike, and then to
// the login prompt. once boots one guest; its *result.Failure blames the filesystem unless the lab failed.
func Boots(ctx context.Context, repeats int, plans []BootPlan, once func(context.Context, *BootPlan) (pid1.Booted, error), events machine.Events) (wire.Done, error) {
	plain := len(plans)
	for _, p := range plans {
		p.Phase, p.Login = LoginPhase+p.kernel, true
		plans = append(plans, p)
	}
	// The userspace writes to the filesystem, so it comes last.
	for n := range 2 * repeats {
		turn := plans[:plain]
		if n >= repeats {
			turn = plans[plain:]
		}
		for i := range turn {
			if events.Phase != nil {
				events.Phase(turn[i].Phase)
			}
			got, err := once(ctx, &turn[i])
			var failure *result.Failure
			if errors.As(err, &failure) && failure.Outcome != result.LabFailed {
				return wire.Done{Outcome: failure.Outcome, Phase: turn[i].Phase, Reason: failure.Reason, Hint: failure.Hint}, nil
			}
			if err != nil {
				return wire.Done{}, err
			}
			turn[i].booted = append(turn[i].booted, got)
		}
	}
	for i := range plans {
		if events.Figures != nil {
			events.Figures(plans[i].figures())
		}
	}
	return wire.Done{Outcome: result.Done}, nil
}

// BootPlans prepares a boot with each kernel; prepare makes one plan. Its *result.Failure is the answer, unless the lab failed.
func BootPlans(ctx context.Context, kernels []string, prepare func(kernel string) (BootPlan, error)) ([]BootPlan, wire.Done, error) {
	var plans []BootPlan
	for _, kernel := range kernels {
		p, err := prepare(kernel)
		p.Phase, p.kernel = BootPhase+kernel, kernel
		failure, known := errors.AsType[*result.Failure](err)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, wire.Done{}, machine.Canceled(ctx)
		case known && failure.Outcome != result.LabFailed:
			return nil, wire.Done{Outcome: failure.Outcome, Phase: p.Phase, Reason: failure.Reason, Hint: failure.Hint}, nil
		case known:
			return nil, wire.Done{}, failure
		case err != nil:
			return nil, wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "no boot with kernel " + kernel, Err: err}
		}
		plans = append(plans, p)
	}
	return plans, wire.Done{}, nil
}

// Bootable returns the candidate to boot from the storage, or the reason why it cannot be booted.
func Bootable(b machine.Boot, on media.Storage) (filesystem.Candidate, wire.Done) {
	no := func(outcome result.Outcome, format string, args ...any) (filesystem.Candidate, wire.Done) {
		return filesystem.Candidate{}, wire.Done{Outcome: outcome, Reason: fmt.Sprintf(format, args...)}
	}
	c, err := b.Candidate.With(b.Variant.Make, b.Variant.Mount)
	switch {
	case err != nil:
		return no(result.Refused, "%v", err)
	case b.Repeats < 1:
		return no(result.Refused, "%d boots", b.Repeats)
	case b.Variant.Part != nil:
		return no(result.Refused, "a filesystem on a part of the storage cannot be booted: without a partition table no kernel would find it")
	case c.Filesystem().ReadOnly:
		return no(result.Unsupported, "%s is made as an image, to which no root filesystem can be added", c.Filesystem().Title)
	case c.Forgets() != "":
		return no(result.Unsupported, "%s", c.Forgets())
	case on.Kind == media.KindRAM:
		return no(result.Unsupported, "the storage is in the guest's memory, which ends with the guest")
	case strings.ContainsAny(strings.Join(filesystem.MountData(c), ","), " \t\n\""):
		return no(result.Refused, "mount options %q cannot be given on a kernel's command line", c.Mount())
	}
	return c, wire.Done{}
}

// Load makes the boot archive of a kernel for a candidate.
func (p *BootPlan) Load(agent string, c filesystem.Candidate, card bool) error {
	modules, err := workload.ReadModules(p.Kernel.Root, p.Kernel.Release)
	if err != nil {
		return err
	}
	files, err := workload.DriverFiles(modules, c)
	if err != nil {
		return err
	}
	var sizes map[string]int64
	if p.Archive, sizes, err = p.Kernel.BootArchive(agent, files, card); err != nil {
		return err
	}
	p.sizes, p.own = map[string]int64{}, lab.ModuleName(c.Filesystem().Module)
	for file, size := range sizes {
		p.sizes[lab.ModuleName(file)] = size
	}
	return nil
}

// end is when a boot has come as far as the plan wants.
func (p *BootPlan) end(b pid1.Booted) float64 {
	if p.Login {
		return b.Login
	}
	return b.Root
}

// figures of a kernel: geometric means, since times are compared by ratio.
func (p *BootPlan) figures() wire.Figures {
	var kernel, root, login float64
	least, most := math.Inf(1), 0.0
	unclean, refused := "", ""
	for _, b := range p.booted {
		kernel, root, login = kernel+math.Log(b.Kernel), root+math.Log(b.Root), login+math.Log(b.Login)
		least, most = min(least, p.end(b)), max(most, p.end(b))
		if b.Unclean != "" {
			unclean = b.Unclean
		}
		refused = b.Refused // the same each time
	}
	n := float64(len(p.booted))
	once := ""
	if n == 1 {
		once = "it booted once"
	}
	m := func(metric string, value float64) result.Measurement { return result.Figure(metric, value).In(p.Phase) }
	f := wire.Figures{Phase: p.Phase, Measurements: []result.Measurement{
		result.FigureOr(result.BootSpread, most/least-1, once).In(p.Phase), m(result.BootRepeats, n),
	}}
	if p.Waited.Window > 0 {
		f.Measurements = append(f.Measurements, LoadFigures(p.Waited, p.Phase)...)
	}
	if p.Login {
		f.Measurements = append(f.Measurements, m(result.Wall, math.Exp(login/n)), m(result.BootInit, math.Exp(root/n)), m(result.BootLogin, math.Exp(login/n)))
		return f
	}
	f.Measurements = append(f.Measurements, m(result.Wall, math.Exp(root/n)), m(result.BootRoot, math.Exp(root/n)),
		result.FigureOr(result.BootKernel, math.Exp(kernel/n), p.NoKernel).In(p.Phase))
	var sum int64
	for name, size := range p.sizes {
		if !slices.Contains(strings.Split(refused, ","), name) {
			sum += size
		}
	}
	size, own := m(result.ModuleSize, float64(sum)), m(result.ModuleOwn, float64(p.sizes[p.own]))
	if p.sizes[p.own] == 0 {
		size.Absent, own.Absent = "built into this kernel", "built into this kernel"
	}
	f.Measurements = append(f.Measurements, size, own)
	note := func(level result.Level, text string) {
		f.Notes = append(f.Notes, result.Note{Phase: p.Phase, Level: level, Text: text})
	}
	note(result.Info, fmt.Sprintf("kernel %s, package %s %s", p.Kernel.Release, p.Kernel.Package, p.Kernel.Version))
	if unclean != "" {
		note(result.Warning, "before power-off "+unclean)
	}
	return f
}

// JudgeBoot turns the guest's report into figures or a failure. free: the kernel's own start may take
// no time.
func (p *BootPlan) JudgeBoot(b pid1.Booted, late, free bool, console []string) (pid1.Booted, error) {
	switch {
	case b.Outcome == result.Done && b.Failed == "" && b.Root > 0 && (b.Kernel > 0 || free && b.Kernel == 0) && p.end(b) >= b.Root &&
		p.end(b)+b.Kernel <= BootPatience.Seconds() && !late:
		return b, nil
	case late:
		return b, workload.Subject("the guest booted but did not power off within %v (the console's last lines: %s)", BootPatience, Quoted(console))
	case b.Outcome == result.SubjectFailed && b.Failed != "":
		return b, workload.Subject("%s (the console's last lines: %s)", b.Failed, Quoted(console))
	}
	reason := b.Failed
	if reason == "" {
		reason = fmt.Sprintf("it reports times of %v s and %v s", b.Kernel, p.end(b))
	}
	return b, &result.Failure{Outcome: result.LabFailed, Reason: "the guest could not boot from the filesystem: " + reason, Console: console}
}

// Unbooted is the failure of a guest that ended for a reason without a report.
func Unbooted(reason string, console []string) error {
	if !machine.StaleCode(console) && slices.ContainsFunc(console, func(line string) bool { return strings.Contains(line, pid1.RootMark) }) {
		return workload.Subject("the guest did not boot from it: %s (the console's last lines: %s)", reason, Quoted(console))
	}
	return &result.Failure{Outcome: result.LabFailed, Reason: "the guest died before it could boot from the filesystem: " + reason, Console: console}
}

// Quoted returns the last non-empty lines, without our own message.
func Quoted(console []string) string {
	var last []string
	for _, line := range slices.Backward(console) {
		if _, ours := BootedLine(line); ours || strings.TrimSpace(line) == "" || strings.Contains(line, pid1.RootMark) {
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

// BootedLine reads the guest's message from a line of its console.
func BootedLine(line string) (pid1.Booted, bool) {
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

// RootParameters are the kernel parameters of a guest whose root is the filesystem under test.
func (p *BootPlan) RootParameters(c filesystem.Candidate) []string {
	out := []string{"whichfs.root=" + c.FS}
	if p.Login {
		out = append(out, "whichfs.login")
	}
	if o := filesystem.MountData(c); len(o) > 0 {
		out = append(out, "whichfs.options="+strings.Join(o, ","))
	}
	return out
}
