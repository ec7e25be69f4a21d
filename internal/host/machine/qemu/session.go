package qemu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// Session is a running guest.
type Session struct {
	*machine.Client
	lab              *Machine
	spec             machine.Spec
	image            lab.Image
	plan             planned
	guest            *guest
	machine, storage []result.Condition
	emulated         bool
}

// Start implements machine.Machine.
func (m *Machine) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h, err := m.hostFor(ctx, spec)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		p, err := m.plan(h, spec)
		if err != nil {
			return nil, err
		}
		s, err := m.run(ctx, h, p, spec)
		if err == nil {
			return s, nil
		}
		if e := result.FailureOf(err); e == nil || !machine.StaleCode(e.Console) || attempt == mostStarts {
			return nil, err
		}
		if m.o.Progress != nil {
			m.o.Progress("QEMU emulated the guest's kernel wrongly: starting it again")
		}
	}
}

// mostStarts is how often a guest is started that its emulator ends.
const mostStarts = 3

// run starts the planned guest and prepares its agent. The guest owns the plan's files, also after
// an error.
func (m *Machine) run(ctx context.Context, h *host, p planned, spec machine.Spec) (*Session, error) {
	g, err := start(p.config, true, p.files...)
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "the guest could not be started", Err: err}
	}
	screen := labguest.Watch(g.console, nil)
	// The end of the process is reported only after its last output has been read.
	dead := make(chan struct{})
	go func() {
		<-g.process.Done()
		<-screen.Ended()
		close(dead)
	}()
	s := &Session{lab: m, spec: spec, image: h.image, plan: p, guest: g, machine: h.conditions(p), storage: p.conditions(), emulated: !p.config.kvm}
	s.Client = machine.NewClient(wire.New(g.agent, g.agent, nil), machine.ClientOptions{
		Who:            "guest",
		Closer:         g.end,
		Console:        screen.Last,
		Dead:           dead,
		DeadReason:     func() string { return g.reason(screen) },
		Waited:         labguest.Waited(g.watch()),
		HandshakeLimit: m.o.Handshake,
		StepLimit:      m.o.Step,
		InTime:         !spec.Instructions && spec.Processor == nil,
		Slower:         slowerBy(spec.Instructions || spec.Processor != nil),
	})
	err = s.Open(ctx, p.prepare)
	if has, asked := s.Facts().Processors, max(1, spec.CPUs); err == nil && has != asked {
		err = &result.Failure{Outcome: result.LabFailed, Reason: fmt.Sprintf("the guest's kernel found %s, not %d", units.Count(has, "processor"), asked), Console: screen.Last()}
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Facts implements machine.Session.
func (s *Session) Facts() wire.Facts {
	f := s.Client.Facts()
	f.Conditions = append(append([]result.Condition(nil), f.Conditions...), s.machine...)
	return f
}

// Ready implements machine.Session.
func (s *Session) Ready() wire.Ready {
	r := s.Client.Ready()
	r.Conditions = append(append([]result.Condition(nil), r.Conditions...), s.storage...)
	return r
}

// Close implements machine.Session. Everything in a guest is discarded with it, so it need not tidy
// up first.
func (s *Session) Close() error {
	err := s.guest.end()
	// The goodbye can no longer be answered; this only cleans up.
	_ = s.Client.Close()
	return err
}

// Emulated reports whether the guest's processor is emulated, so that its
// figures show order and ratio and not this host's speed.
func (s *Session) Emulated() bool { return s.emulated }

// memory of a guest in bytes.
func (m *Machine) memory(spec machine.Spec, s media.Storage) (int64, error) {
	return labguest.Memory(cmp.Or(spec.Memory, m.o.Memory), spec, s)
}

// planned is a guest that is about to be started.
type planned struct {
	config  config
	files   []*os.File
	prepare wire.Prepare
	spec    media.Storage
	limits  limits
}

// card reports whether the storage is an SD card.
func (p planned) card() bool { return p.spec.Kind == media.KindSD }

// Check implements machine.Checker.
func (m *Machine) Check(spec machine.Spec) error {
	s, err := m.check(spec)
	if err != nil {
		return err
	}
	return foreseen(spec, s)
}

// check rejects what is impossible in the lab on any host.
func (m *Machine) check(spec machine.Spec) (media.Storage, error) {
	s, err := media.Parse(spec.Storage)
	switch {
	case err != nil:
		return s, result.Refuse("disk:1G", "%v", err)
	case !s.Lab():
		return s, result.Refuse("use sim:MODEL, disk:SIZE or sd:SIZE, or --machine local", "storage %s is not in the lab: guests cannot reach this host's devices", s)
	case spec.Virtual:
		return s, result.Refuse("use --clock wall", "a guest under QEMU has no virtual clock")
	case spec.Processor != nil && paceOf(*spec.Processor) == 0:
		return s, result.Refuse("use one of "+paces()+", or --clock virtual", "by wall clock a guest has no processor %s: the emulator has few speeds", spec.Processor.Name)
	case spec.Instructions && spec.Kernel != "":
		return s, result.Refuse("use --clock wall or virtual", "the clock that counts instructions has only the lab's own kernel, not %s", spec.Kernel)
	case spec.Instructions && !s.InMemory():
		return s, result.Refuse("use ram:SIZE or nand:SIZE", "the clock that counts instructions needs storage in memory, a disk or a raw chip; the guest would wait for %s", s)
	}
	return s, m.fits(spec, s)
}

// plan turns the needs of a session into a guest. Its errors are *result.Failure.
func (m *Machine) plan(h *host, spec machine.Spec) (planned, error) {
	s, err := m.check(spec)
	if err != nil {
		return planned{}, err
	}
	if err := h.provides(s); err != nil {
		return planned{}, err
	}
	p := planned{spec: s, limits: limitsOf(s)}
	p.config = config{program: h.program, arch: h.image.Manifest.Arch, kvm: h.kvm && !spec.Instructions, counts: spec.Instructions, kernel: h.image.Kernel, archive: descriptor(0), append: m.o.Append, cpus: spec.CPUs}
	if spec.Processor != nil {
		p.config.kvm, p.config.paced = false, paceOf(*spec.Processor)
	}
	if spec.Untimed {
		p.config.append = slices.Concat(p.config.append, coarseLine)
	}
	p.config.disks = []disk{{serial: pid1.RootSerial, file: h.image.Root, readOnly: true}}
	if h.modules != "" {
		p.config.disks = append(p.config.disks, disk{serial: pid1.ModulesSerial, file: h.modules, readOnly: true})
	}
	p.prepare = wire.Prepare{Storage: media.KindSerial + ":" + pid1.LabSerial, Destroy: spec.Destroy}
	if s.Kind == media.KindSD {
		p.prepare.Storage = media.KindMMC + ":0"
	}
	if s.InMemory() { // the agent makes it
		p.prepare.Storage = s.String()
	}
	p.prepare.Instructions = spec.Instructions
	p.prepare.ReadOnly, p.prepare.InUse = spec.ReadOnly, spec.InUse
	for _, d := range spec.Data {
		if d.Kind == "tree" {
			if d, err = p.carry(d); err != nil {
				return planned{}, result.Refuse("", "data set %s: %v", d.Name, err)
			}
		}
		p.prepare.Data = append(p.prepare.Data, d)
	}
	if err := p.carryModules(spec.Modules, p.config.arch); err != nil {
		return planned{}, err
	}
	if err := p.carryPrograms(spec.Given, p.config.arch); err != nil {
		return planned{}, err
	}
	if p.config.memory, err = m.memory(spec, s); err != nil {
		return planned{}, err
	}
	if err := labguest.Afford(p.config.memory, "", 0); err != nil {
		return planned{}, err
	}
	if s.InMemory() {
		return p.inMemory(h)
	}
	if s.Kind == media.KindSim {
		return p.simulate(h)
	}
	work := spec.Work
	if work == "" {
		work = os.TempDir()
	}
	under, err := scratch(work, s.Size)
	if errors.Is(err, errNoSpace) {
		return planned{}, result.Refuse("set TMPDIR to a directory with more space, or use smaller storage", "%v", err)
	}
	if err != nil {
		return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "cannot create the guest's disk", Err: err}
	}
	archive, err := labguest.InMemory("archive", h.archive)
	if err != nil {
		_ = under.Close()
		return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "no memory for the boot archive", Err: err}
	}
	p.files = []*os.File{archive, under}
	p.config.disks = append(p.config.disks, disk{
		serial: pid1.LabSerial, file: descriptor(1), card: s.Kind == media.KindSD, limits: p.limits,
	})
	return p, nil
}

// carry gives the guest a disk with a data set's archive, and returns the data
// set as the guest will find it.
func (p *planned) carry(d scenario.Data) (scenario.Data, error) {
	path, err := filepath.Abs(d.Path)
	if err != nil {
		return d, err
	}
	f, err := os.Open(path) // QEMU's own complaint would come too late and less clearly
	if err != nil {
		return d, err
	}
	_ = f.Close()
	serial := "data" + strconv.Itoa(len(p.config.disks)-1)
	p.config.disks = append(p.config.disks, disk{serial: serial, file: path, readOnly: true})
	d.Path = media.KindSerial + ":" + serial
	return d, nil
}
