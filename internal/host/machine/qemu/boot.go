package qemu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

const (
	// bootMemory of a guest that boots from the filesystem under test, in bytes: the same whatever
	// data sets the trial used.
	bootMemory = 256 << 20
	// bootPatience limits such a guest from start to end; a filesystem that takes longer to mount
	// after a clean unmount hangs.
	bootPatience = 3 * time.Minute
	// quotedLines of the console are quoted in the reason of a failed boot.
	quotedLines = 4
)

// bootPlan is one kernel's part of a Boot.
type bootPlan struct {
	kernel  lab.Kernel
	phase   string
	archive []byte
	sizes   map[string]int64 // of the modules loaded for the filesystem, by name, B
	own     string           // its own
	booted  []pid1.Booted
	waited  load.Load // for processors, in all boots
}

// Boot implements machine.Booter: each boot is a separate guest on the same storage, while the
// session's own guest, which has unmounted and flushed it, is idle. Kernels take turns, so that
// changes on the host affect all of them alike.
func (s *Session) Boot(ctx context.Context, b machine.Boot, events machine.Events) (wire.Done, error) {
	c, done := s.bootable(b)
	if done.Outcome != "" {
		return done, nil
	}
	plans, done, err := s.bootPlans(ctx, b, c)
	if err != nil || done.Outcome != "" {
		return done, err
	}
	for range b.Repeats {
		for i := range plans {
			if events.Phase != nil {
				events.Phase(plans[i].phase)
			}
			got, err := s.bootOnce(ctx, &plans[i], c)
			var failure *result.Failure
			if errors.As(err, &failure) && failure.Outcome != result.LabFailed {
				return wire.Done{Outcome: failure.Outcome, Phase: plans[i].phase, Reason: failure.Reason, Hint: failure.Hint}, nil
			}
			if err != nil {
				return wire.Done{}, err
			}
			plans[i].booted = append(plans[i].booted, got)
		}
	}
	for i := range plans {
		if events.Figures != nil {
			events.Figures(plans[i].figures())
		}
	}
	return wire.Done{Outcome: result.Done}, nil
}

// bootable returns the candidate to boot, or the reason why it cannot be booted.
func (s *Session) bootable(b machine.Boot) (filesystem.Candidate, wire.Done) {
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
	case s.plan.spec.Kind == media.KindRAM:
		return no(result.Unsupported, "the storage is in the guest's memory, which ends with the guest")
	case strings.ContainsAny(strings.Join(bootOptions(c), ","), " \t\n\""):
		return no(result.Refused, "mount options %q cannot be given on a kernel's command line", c.Mount())
	}
	return c, wire.Done{}
}

// bootOptions are the options that the root is mounted with.
func bootOptions(c filesystem.Candidate) []string {
	return append(slices.Clone(c.Filesystem().MountOptions), c.Mount()...)
}

// bootPlans prepares everything that the boots need.
func (s *Session) bootPlans(ctx context.Context, b machine.Boot, c filesystem.Candidate) ([]bootPlan, wire.Done, error) {
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
	var plans []bootPlan
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
		p := bootPlan{kernel: k, phase: "boot " + asked}
		if len(b.Kernels) == 0 {
			p.phase = "boot " + k.Series()
		}
		var failure *result.Failure
		if err := p.load(agent, c, s.plan.card()); errors.As(err, &failure) && failure.Outcome != result.LabFailed {
			return nil, wire.Done{Outcome: failure.Outcome, Phase: p.phase, Reason: failure.Reason, Hint: failure.Hint}, nil
		} else if err != nil {
			return nil, wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "no boot archive for kernel " + asked, Err: err}
		}
		plans = append(plans, p)
	}
	return plans, wire.Done{}, nil
}

// load makes the boot archive of a kernel for a candidate.
func (p *bootPlan) load(agent string, c filesystem.Candidate, card bool) error {
	modules, err := workload.ReadModules(p.kernel.Root, p.kernel.Release)
	if err != nil {
		return err
	}
	files, err := workload.DriverFiles(modules, c)
	if err != nil {
		return err
	}
	var sizes map[string]int64
	if p.archive, sizes, err = p.kernel.BootArchive(agent, files, card); err != nil {
		return err
	}
	p.sizes, p.own = map[string]int64{}, moduleName(c.Filesystem().Module)
	for file, size := range sizes {
		p.sizes[moduleName(file)] = size
	}
	return nil
}

// moduleName is the kernel's name of the module in a file.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// figures of a kernel: geometric means, since times are compared by ratio.
func (p *bootPlan) figures() wire.Figures {
	var kernel, root float64
	least, most := math.Inf(1), 0.0
	unclean, refused := "", ""
	for _, b := range p.booted {
		kernel, root = kernel+math.Log(b.Kernel), root+math.Log(b.Root)
		least, most = min(least, b.Root), max(most, b.Root)
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
	m := func(metric string, value float64) result.Measurement { return result.Figure(metric, value).In(p.phase) }
	f := wire.Figures{Phase: p.phase, Measurements: []result.Measurement{
		m(result.Wall, math.Exp(root/n)), m(result.BootRoot, math.Exp(root/n)), m(result.BootKernel, math.Exp(kernel/n)),
		result.FigureOr(result.BootSpread, most/least-1, once).In(p.phase), m(result.BootRepeats, n),
	}}
	if p.waited.Window > 0 {
		f.Measurements = append(f.Measurements, labguest.LoadFigures(p.waited, p.phase)...)
	}
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
		f.Notes = append(f.Notes, result.Note{Phase: p.phase, Level: level, Text: text})
	}
	note(result.Info, fmt.Sprintf("kernel %s, package %s %s", p.kernel.Release, p.kernel.Package, p.kernel.Version))
	if unclean != "" {
		note(result.Warning, "before power-off "+unclean)
	}
	return f
}
