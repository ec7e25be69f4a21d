// Package local runs trials on this host's own kernel. The agent is a contained child process
// (command.Options.Contain), so that whatever it mounted or started disappears with it, or with
// this program.
package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/load"
	"whichfs/internal/target/storage"
	"whichfs/internal/wire"
)

// patience is how long the agent may take to end: it may be unmounting.
var patience = 10 * time.Second

// Machine is this host.
type Machine struct {
	// Agent is the agent's binary; empty: machine.AgentPath finds it.
	Agent string
	// Arguments of the agent; default "serve".
	Arguments []string
	// Environment is added to this program's own.
	Environment []string

	euid func() int // for tests
}

// New returns this host.
func New() *Machine { return &Machine{} }

// Name implements machine.Machine.
func (m *Machine) Name() string { return "local" }

// Lasting implements machine.Lasting: there is only one kernel, so no session starts a fresh one.
func (m *Machine) Lasting() bool { return true }

// Busy implements machine.Shared.
func (m *Machine) Busy(ctx context.Context) float64 { return load.Try(ctx, time.Second) }

// Start implements machine.Machine.
func (m *Machine) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if err := m.Check(spec); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	modules, err := given(spec.Modules)
	if err != nil {
		return nil, err
	}
	programs, err := machine.PackPrograms(spec.Given, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	agent, err := machine.AgentPath(m.Agent, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	s, err := m.launch(agent)
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot start the agent " + agent, Err: err}
	}
	prepare := wire.Prepare{Storage: spec.Storage, Destroy: spec.Destroy, Data: spec.Data, Work: spec.Work, Modules: modules, Programs: programs,
		ReadOnly: spec.ReadOnly, InUse: spec.InUse, RiskKernel: spec.RiskKernel, Load: true}
	if err := s.Open(ctx, prepare); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Check implements machine.Checker.
func (m *Machine) Check(spec machine.Spec) error {
	parsed, err := machine.CheckOwnKernel(m, spec, "of this host")
	if err != nil {
		return err
	}
	if has := debian.Architecture(runtime.GOARCH); spec.Arch != "" && spec.Arch != has {
		return machine.FixedArch(m, spec.Arch, has)
	}
	euid := os.Geteuid
	if m.euid != nil {
		euid = m.euid
	}
	if euid() != 0 && parsed.Kind == media.KindDevice && !spec.ReadOnly {
		// That it is in use matters more than a missing permission.
		if used, ok := errors.AsType[*result.Failure](storage.Unused(parsed.Path)); ok {
			return used
		}
	}
	if euid() != 0 && spec.ReadOnly {
		return result.Refuse("run it with sudo",
			"no permission: probing %s needs root, which reads the device itself", spec.Storage)
	}
	if euid() != 0 {
		return result.Refuse("run it with sudo, or use --machine lab, which needs no root",
			"machine local needs root: it makes and mounts filesystems with this host's kernel")
	}
	return nil
}

// given are the user's modules; the agent, on this host as well, reads them in place. The agent
// knows better which processor the kernel is for: a 64-bit kernel may run 32-bit programs.
func given(paths []string) ([]wire.Module, error) {
	files, err := machine.CheckModules(paths, "")
	if err != nil {
		return nil, err
	}
	var out []wire.Module
	for i, f := range files {
		path, err := filepath.Abs(paths[i])
		if err != nil {
			return nil, err
		}
		out = append(out, wire.Module{Name: f.Base, Path: path, Size: f.Size})
	}
	return out, nil
}

// session is the agent's process with the host's end of the protocol.
type session struct {
	*machine.Client
	process *command.Piped
}

func (m *Machine) launch(agent string) (*session, error) {
	arguments := m.Arguments
	if arguments == nil {
		arguments = []string{"serve"}
	}
	words := &machine.Lines{}
	process, err := command.StartPiped(command.Options{Stderr: words, Env: m.Environment, Contain: true}, append([]string{agent}, arguments...)...)
	if err != nil {
		return nil, err
	}
	s := &session{process: process}
	s.Client = machine.NewClient(wire.New(process.Out, process.In, words.Add), machine.ClientOptions{
		Who: "agent", Closer: s.end, Console: words.Last, Dead: process.Done(), DeadReason: s.death, InTime: true,
	})
	return s, nil
}

func (s *session) death() string {
	if err := s.process.Err(); err != nil {
		return err.Error()
	}
	return "it ended without a message"
}

// Ready implements machine.Session.
func (s *session) Ready() wire.Ready {
	r := s.Client.Ready()
	if why := s.process.Loose(); why != "" {
		r.Notes = append(slices.Clone(r.Notes), result.Note{Level: result.Warning, Text: why})
	}
	return r
}

// end ends the agent, which exits when its input ends. An agent that cannot even be killed is left
// behind, together with its storage.
func (s *session) end() error { return s.process.End("the agent", patience) }
