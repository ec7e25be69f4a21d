// Package qemu is the machine "lab": a QEMU guest with a distribution's kernel and every
// filesystem's tools, no network, and a disk or card that exists only as long as the guest. It
// needs no privileges. A guest is cheap and may fail in any way; the host handles every failure,
// and nothing of the guest is left behind.
package qemu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/load"
)

// Options of the lab; the zero value is for users.
type Options struct {
	// Progress receives a line per step when the lab image must be made first.
	Progress func(string)
	// Agent is the path of the agent; empty: machine.AgentPath finds it.
	Agent string
	// Memory of a guest in bytes; 0: enough for its data sets.
	Memory int64
	// Append are further kernel parameters.
	Append []string
	// Handshake and Step limit how long a guest may be silent while starting and in a trial; 0: the
	// default of machine.ClientOptions.
	Handshake, Step time.Duration

	processors int // of this host; 0: as many as whichfs may use
}

// Machine is the lab. It may be used from several goroutines.
type Machine struct {
	o  Options
	mu sync.Mutex
	h  map[string]*host // by GOARCH of the guests, since their first start
	on map[string]*host // those with another kernel, by GOARCH and what was asked for
}

// New makes the machine "lab". Nothing happens before Start.
func New(o Options) *Machine { return &Machine{o: o} }

// Name implements machine.Machine.
func (m *Machine) Name() string { return "lab" }

// Busy implements machine.Shared: guests have this host's processors.
func (m *Machine) Busy(ctx context.Context) float64 { return load.Try(ctx, time.Second) }

// host is what all guests of one architecture share on this host.
type host struct {
	image   lab.Image
	program string
	version string // of QEMU
	archive []byte
	kvm     bool
	noKVM   string // why KVM is not used

	noSandbox string // why QEMU has none; "": it has one
	// modules is an image of the modules of a kernel that is not the root image's; "": it is.
	modules string
	made    *lab.Made // of a kernel from a user's source; nil: it is another one
}

// find locates image, agent and QEMU.
func (h *host) find(a lab.Arch, o Options) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the lab runs on amd64 hosts only; this one is %s", runtime.GOARCH)
	}
	var err error
	if h.image, err = lab.Locate(a); err != nil {
		return err
	}
	agent, err := machine.AgentPath(o.Agent, a.GOARCH)
	if err != nil {
		return err
	}
	if h.archive, err = h.image.BootArchive(agent); err != nil {
		return err
	}
	if h.program, err = command.Look(a.QEMU); err != nil {
		return lab.Missing(a)
	}
	return nil
}

// host prepares on its first call what guests of an architecture share, and builds the lab image if
// there is none.
func (m *Machine) host(ctx context.Context, a lab.Arch) (*host, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.h[a.GOARCH]; h != nil {
		return h, nil
	}
	if err := lab.Missing(a); err != nil {
		return nil, result.Fail(result.Unsupported, "whichfs doctor", "%v", err)
	}
	h := &host{}
	err := h.find(a, m.o)
	if errors.Is(err, lab.ErrNotBuilt) {
		if m.o.Progress != nil {
			m.o.Progress(making(a))
		}
		if _, err = lab.Build(ctx, a, m.o.Progress); err == nil {
			err = h.find(a, m.o)
		}
	}
	if known := (*result.Failure)(nil); errors.As(err, &known) {
		return nil, known
	}
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot set up the lab", Err: err, Hint: "whichfs doctor"}
	}
	r, err := command.Run(ctx, command.Options{}, h.program, "--version")
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "QEMU does not work", Err: err, Hint: "whichfs doctor"}
	}
	h.version = qemuVersion(r.Stdout)
	h.noSandbox = unsandboxed(h.program)
	if a.Foreign() {
		h.noKVM = "the guest's architecture is " + a.Name + ", this host's is " + lab.Native().Name
	} else {
		h.kvm, h.noKVM = h.kvmWorks(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.h == nil {
		m.h = map[string]*host{}
	}
	m.h[a.GOARCH] = h
	return h, nil
}

// hostFor prepares what guests of a spec share: those of its architecture, on its kernel.
func (m *Machine) hostFor(ctx context.Context, spec machine.Spec) (*host, error) {
	a, err := archOf(spec)
	if err != nil {
		return nil, err
	}
	h, err := m.host(ctx, a)
	if err != nil || spec.Kernel == "" {
		return h, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := a.GOARCH + " " + spec.Kernel
	if known := m.on[key]; known != nil {
		return known, nil
	}
	with, err := h.under(ctx, spec.Kernel, m.o)
	if known := (*result.Failure)(nil); errors.As(err, &known) {
		return nil, known
	}
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot prepare kernel " + spec.Kernel, Err: err, Hint: "whichfs doctor"}
	}
	if m.on == nil {
		m.on = map[string]*host{}
	}
	m.on[key] = with
	return with, nil
}

// under is the same with another kernel, unless the version means the image's own.
func (h *host) under(ctx context.Context, version string, o Options) (*host, error) {
	offer, err := lab.FindKernel(ctx, h.image.Arch(), version)
	if err != nil || offer.Own {
		return h, err
	}
	k, err := lab.FetchKernel(ctx, h.image.Arch(), version, o.Progress)
	if err != nil {
		return nil, err
	}
	with := *h
	with.made = k.Made
	if with.image, with.modules, err = h.image.Under(ctx, k, o.Progress); err != nil {
		return nil, err
	}
	agent, err := machine.AgentPath(o.Agent, h.image.Manifest.Arch)
	if err != nil {
		return nil, err
	}
	with.archive, err = with.image.BootArchive(agent)
	return &with, err
}

// making announces a step that takes half a minute.
func making(a lab.Arch) string {
	if a.Foreign() {
		return "building the lab image for guests of architecture " + a.Name + " (only once)"
	}
	return "building the lab image (only once)"
}

// qemuVersion picks the version from "QEMU emulator version 7.2.22 (Debian …)".
func qemuVersion(text string) string {
	line, _ := bufio.NewReader(strings.NewReader(text)).ReadString('\n')
	return strings.TrimSpace(strings.TrimPrefix(line, "QEMU emulator version "))
}
