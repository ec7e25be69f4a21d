// Package usermode is the machine "lab" with the virtual clock: guests whose kernel is an ordinary
// process, and whose time is what the models of their storage say (package monitor). It needs no
// privileges and no accelerator, a guest is ready in half a second, and what it measures is the same
// on every host, under any load.
//
// Unless it is charged for, the processor is free: a phase takes as long as the storage makes the
// filesystem wait, and no longer.
package usermode

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
)

// Options of the lab; the zero value is for users.
type Options struct {
	// Progress receives a line per step when the lab must be built first.
	Progress func(string)
	// Agent is the path of the agent; empty: machine.AgentPath finds it.
	Agent string
	// Append are further kernel parameters.
	Append []string
	// Handshake and Step limit how long a guest may be silent while starting and in a trial, in the
	// host's time; 0: five minutes, and the default of machine.ClientOptions.
	Handshake, Step time.Duration
}

// Machine is the virtual lab. It may be used from several goroutines.
type Machine struct {
	o    Options
	mu   sync.Mutex
	with map[virtual.Choice]*host // by the kernel, since its first start
}

// New makes the machine. Nothing happens before Start.
func New(o Options) *Machine { return &Machine{o: o, with: map[virtual.Choice]*host{}} }

// Name implements machine.Machine.
func (m *Machine) Name() string { return "lab" }

// host is what all guests with one kernel share.
type host struct {
	image   lab.Image
	kernel  virtual.Kernel
	archive []byte
	carried *carried // nil: the host's C library is the kernel's
}

// find locates what guests are made of.
func (h *host) find(kernel virtual.Choice, agent string) (err error) {
	if h.image, err = lab.Locate(lab.Native()); err != nil {
		return err
	}
	if h.kernel, err = virtual.Locate(kernel); err != nil {
		return err
	}
	if agent, err = machine.AgentPath(agent, h.image.Manifest.Arch); err != nil {
		return err
	}
	h.archive, err = h.kernel.BootArchive(agent)
	return err
}

// host prepares on the first call for a kernel what its guests share, and builds what is missing.
func (m *Machine) host(ctx context.Context, kernel virtual.Choice) (*host, error) {
	kernel.Series = cmp.Or(kernel.Series, virtual.Default)
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.with[kernel]; h != nil {
		return h, nil
	}
	if runtime.GOARCH != "amd64" {
		return nil, result.Fail(result.Unsupported, "use --clock wall", "the virtual clock needs an amd64 host; this one is %s", runtime.GOARCH)
	}
	h := &host{}
	err := h.find(kernel, m.o.Agent)
	if errors.Is(err, lab.ErrNotBuilt) || errors.Is(err, virtual.ErrNotBuilt) {
		if err = m.build(ctx, kernel); err == nil {
			err = h.find(kernel, m.o.Agent)
		}
	}
	if err == nil {
		h.carried, err = h.carry(ctx)
	}
	if known := (*result.Failure)(nil); errors.As(err, &known) {
		return nil, known
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot set up the virtual lab", Err: err, Hint: "whichfs doctor"}
	}
	m.with[kernel] = h
	return h, nil
}

// Built reports whether everything that guests need on this host exists already.
func Built() bool {
	_, image := lab.Locate(lab.Native())
	_, kernel := virtual.Locate(virtual.Choice{})
	return runtime.GOARCH == "amd64" && image == nil && kernel == nil
}

// build makes the image and the kernel, as far as they do not exist yet.
func (m *Machine) build(ctx context.Context, kernel virtual.Choice) error {
	if err := virtual.Missing(); err != nil {
		return result.Fail(result.Unsupported, "whichfs doctor", "%v", err)
	}
	if m.o.Progress != nil {
		m.o.Progress("building the virtual lab (only once)")
	}
	if _, err := lab.Build(ctx, lab.Native(), m.o.Progress); err != nil {
		return err
	}
	_, err := virtual.Build(ctx, kernel, m.o.Progress)
	return err
}
