package usermode

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/usermode/monitor"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// patience is how long the start of a guest may take, half a second on most machines: on a host that
// is itself an emulated guest it takes a minute and more by that host's clock.
const patience = 5 * time.Minute

// Session is a running guest.
type Session struct {
	*machine.Client
	lab              *Machine
	host             *host
	spec             machine.Spec
	guest            *guest
	model            flash.Model // of the storage; the zero value if the guest makes it itself
	device           *later
	counters         counters
	machine, storage []result.Condition
}

// Start implements machine.Machine.
func (m *Machine) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, err := check(spec); err != nil {
		return nil, err
	}
	h, err := m.host(ctx, kernel(spec))
	if err != nil {
		return nil, err
	}
	p, err := h.plan(spec, nil)
	if err != nil {
		return nil, err
	}
	s, err := m.run(ctx, h, p, spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// run starts the planned guest and prepares its agent. The guest owns the plan's files, also after
// an error.
func (m *Machine) run(ctx context.Context, h *host, p planned, spec machine.Spec) (_ *Session, err error) {
	p.append = m.o.Append
	s := &Session{lab: m, host: h, spec: spec, model: p.model, device: p.device, machine: h.conditions(p), storage: p.conditions()}
	if p.device != nil && p.seen == nil {
		s.counters.device = p.device
		p.seen = s.counters.seen
	}
	if s.guest, err = start(h, p); err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "the guest could not be started", Err: err}
	}
	stream := s.guest.monitor.Stream()
	s.Client = machine.NewClient(wire.New(stream, stream, nil), machine.ClientOptions{
		Who:            "guest",
		Closer:         s.guest.end,
		Console:        s.guest.console.Last,
		Dead:           s.guest.dead,
		DeadReason:     s.guest.reason,
		Waited:         labguest.Waited(load.Observe("/proc", s.guest.process.Pid(), os.Getpid())),
		HandshakeLimit: cmp.Or(m.o.Handshake, patience),
		StepLimit:      m.o.Step,
	})
	if err := s.Open(ctx, p.prepare); err != nil {
		_ = s.Close()
		return nil, err
	}
	// The guest has found everything: nothing of it has a name any more.
	_ = os.RemoveAll(s.guest.dir)
	return s, nil
}

// Facts implements machine.Session.
func (s *Session) Facts() wire.Facts {
	f := s.Client.Facts()
	f.Conditions = append(slices.Clone(f.Conditions), s.machine...)
	return f
}

// Ready implements machine.Session.
func (s *Session) Ready() wire.Ready {
	r := s.Client.Ready()
	r.Conditions = append(slices.Clone(r.Conditions), s.storage...)
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

// Trial implements machine.Session.
func (s *Session) Trial(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	run := func(ctx context.Context, events machine.Events) (wire.Done, error) {
		return s.Client.Trial(ctx, t, events)
	}
	if s.device == nil {
		return run(ctx, events)
	}
	s.counters.begin(s.guest.monitor)
	return labguest.Trial(ctx, s.model, s.counters.next, run, events)
}

// counters are those of a device at the instants at which the guest sent its messages. The host
// reads a message some time later, while the guest goes on.
type counters struct {
	device flash.Device
	mu     sync.Mutex
	queue  []flash.Stats
}

// begin starts with what the device has counted so far.
func (c *counters) begin(m *monitor.Monitor) {
	c.mu.Lock()
	c.queue = nil
	c.mu.Unlock()
	m.Do(c.record)
}

// seen records the counters for each message whose handling asks for them.
func (c *counters) seen(kind string) {
	switch kind {
	case wire.KindPhase, wire.KindFigures, wire.KindDone:
		c.record()
	}
}

func (c *counters) record() {
	now := c.device.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, now)
}

func (c *counters) next() flash.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return flash.Stats{} // the guest died
	}
	now := c.queue[0]
	c.queue = c.queue[1:]
	return now
}

// planned is a guest that is about to be started.
type planned struct {
	memory  int64 // B
	disks   []monitor.Disk
	files   []*os.File // behind the disks
	model   flash.Model
	device  *later // nil: the guest makes its storage
	prepare wire.Prepare
	seed    uint64
	// processor whose time passes; nil: it is free.
	processor *processor.Profile
	append    []string
	seen      func(kind string)
	line      func(line string) // gets each line of the console; nil: nothing does
}

func (p *planned) close() {
	for _, f := range p.files {
		_ = f.Close()
	}
}

// Check implements machine.Checker.
func (m *Machine) Check(spec machine.Spec) error {
	_, err := check(spec)
	return err
}

// kernel is the one that a session needs.
func kernel(spec machine.Spec) virtual.Choice {
	return virtual.Choice{Series: spec.Kernel, Counting: spec.Processor != nil}
}

// check rejects what is impossible in the virtual lab on any host.
func check(spec machine.Spec) (media.Storage, error) {
	s, err := media.Parse(spec.Storage)
	if err != nil {
		return s, result.Refuse("sim:sd-basic,1G", "%v", err)
	}
	if spec.Arch != "" && spec.Arch != lab.Native().Name {
		return s, result.Refuse("use --clock wall, or leave --arch out", "guests with the virtual clock run on this host's processor, %s", lab.Native().Name)
	}
	if spec.Instructions {
		return s, result.Refuse("use --clock instructions", "guests with the virtual clock do not count instructions")
	}
	if spec.CPUs > 1 {
		return s, result.Refuse("use --clock wall, or --cpus 1", "guests with the virtual clock have one processor, not %d", spec.CPUs)
	}
	if !s.Modelled() {
		return s, result.Refuse("use sim:MODEL (whichfs list models), nand:SIZE or ram:SIZE, or --clock wall",
			"the virtual clock needs storage whose time is modelled, not %s", s)
	}
	if err := virtual.Check(kernel(spec)); err != nil {
		return s, err
	}
	_, err = labguest.Memory(spec.Memory, spec, s)
	return s, err
}

// plan turns the needs of a session into a guest. Its simulated storage is device, or new if that is
// nil. Its errors are *result.Failure.
func (h *host) plan(spec machine.Spec, device *later) (p planned, err error) {
	s, err := check(spec)
	if err != nil {
		return p, err
	}
	if p.memory, err = labguest.Memory(spec.Memory, spec, s); err != nil {
		return p, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.seed, p.processor = spec.Seed, spec.Processor
	if err := labguest.Afford(p.memory, "", 0); err != nil {
		return p, err
	}
	for _, disk := range []struct{ serial, path string }{{pid1.RootSerial, h.image.Root}, {pid1.ModulesSerial, h.kernel.Modules}} {
		if err := p.add(disk.serial, disk.path); err != nil {
			return p, &result.Failure{Outcome: result.LabFailed, Reason: "a part of the lab is missing", Err: err, Hint: "whichfs lab build --virtual"}
		}
	}
	p.prepare = wire.Prepare{
		Storage: s.String(), Destroy: spec.Destroy, ReadOnly: spec.ReadOnly, InUse: spec.InUse, Virtual: true,
	}
	for n, d := range spec.Data {
		if d.Kind == "tree" {
			serial := "data" + strconv.Itoa(n)
			if err := p.add(serial, d.Path); err != nil {
				return p, result.Refuse("", "data set %s: %v", d.Name, err)
			}
			d.Path = media.KindSerial + ":" + serial
		}
		p.prepare.Data = append(p.prepare.Data, d)
	}
	modules, err := machine.CheckModules(spec.Modules, h.image.Manifest.Arch)
	if err != nil {
		return p, err
	}
	for i, f := range modules {
		serial := pid1.ModuleSerial(i)
		if err := p.add(serial, spec.Modules[i]); err != nil {
			return p, result.Refuse("", "module %s: %v", f.Base, err)
		}
		p.prepare.Modules = append(p.prepare.Modules, wire.Module{Name: f.Base, Path: media.KindSerial + ":" + serial, Size: f.Size})
	}
	programs, err := machine.PackPrograms(spec.Given, h.image.Manifest.Arch)
	if err != nil {
		return p, err
	}
	for i, archive := range programs {
		serial := pid1.ProgramSerial(i)
		if err := p.add(serial, archive); err != nil {
			return p, &result.Failure{Outcome: result.LabFailed, Reason: "cannot give the guest a program", Err: err}
		}
		p.prepare.Programs = append(p.prepare.Programs, media.KindSerial+":"+serial)
	}
	if s.Kind != media.KindSim {
		return p, nil // the agent makes it
	}
	p.prepare.Storage = media.KindSerial + ":" + pid1.LabSerial
	return p, p.simulate(s, device)
}

// add gives the guest a disk with the contents of a file.
func (p *planned) add(serial, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	p.files = append(p.files, f)
	p.disks = append(p.disks, monitor.Disk{Serial: serial, File: f})
	return nil
}

// simulate adds the device under test, and makes it if there is none.
func (p *planned) simulate(s media.Storage, device *later) (err error) {
	p.device = device
	if p.model, err = models.Resolve(s.Path); err == nil {
		p.model, err = models.Sized(p.model, s.Size)
	}
	if err == nil && device == nil {
		if err := labguest.Afford(p.memory, s.Path, p.model.Size); err != nil {
			return err
		}
		p.device = &later{}
		p.device.Device, err = flash.New(p.model)
	}
	if err != nil {
		return result.Refuse("whichfs list models", "storage %s: %v", s, err)
	}
	p.disks = append(p.disks, monitor.Disk{Serial: pid1.LabSerial, Device: p.device, Trim: p.model.Trim.Supported})
	return nil
}

// queue is the number of requests that the guest's block layer has in flight: as many as the device
// works on, but at least four, so that merging and ordering are left to the guest's scheduler as with
// a real card.
func (p *planned) queue() int { return min(256, max(4, p.model.Bus.Queue)) }

// conditions describe the machine in a report.
func (h *host) conditions(p planned) []result.Condition {
	c := func(name, value string, matters bool) result.Condition {
		return result.Condition{Group: "machine", Name: name, Value: value, Matters: matters}
	}
	out := []result.Condition{
		c("emulated", "no", true),
		c("kernel package", h.kernel.Manifest.Package+" "+h.kernel.Manifest.Version+", user mode", true),
		c("kernel recipe", h.kernel.Manifest.Digest, true),
		c("guest memory", strconv.FormatInt(p.memory>>20, 10)+" MiB", true),
		c("lab image", h.image.Manifest.Digest+", "+h.image.Manifest.Suite, true),
	}
	if p.processor != nil {
		out = append(out, c("charged processor", p.processor.String(), true))
	}
	return out
}

// conditions describe the storage in a report.
func (p planned) conditions() []result.Condition {
	if p.device == nil {
		return nil // the agent describes the storage that it made
	}
	return labguest.Model(p.model, "each request takes the model's time exactly")
}

// kernelLine are parameters of every guest.
func (p planned) kernelLine() []string {
	line := []string{
		"mem=" + strconv.FormatInt(p.memory>>20, 10) + "M",
		"con=null", "con0=null,fd:1",
		"quiet", "loglevel=3", "panic=-1",
		// Nothing that differs between two guests, but by the seed.
		"norandmaps", "random_repeats=" + strconv.FormatUint(cmp.Or(p.seed, 1), 10),
		"virtio_blk.queue_depth=" + strconv.Itoa(p.queue()),
	}
	line = append(line, programs()...)
	if p.model.Kind == flash.KindDisk {
		line = append(line, "whichfs.rotational")
	}
	if p.processor != nil {
		line = append(line, "tt_cpu="+p.processor.Costs().String())
	}
	return append(line, p.append...)
}
