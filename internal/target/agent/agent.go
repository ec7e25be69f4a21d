// Package agent runs trials where the storage is: it claims storage, holds data sets in memory,
// performs scenarios step by step with figures for each, and reports to the host over one stream.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// Options of an agent.
type Options struct {
	Version string
	// AtStart are the modules that were loaded to start the machine.
	AtStart map[string]workload.AtStart
	// RequestLimit is how long a probe waits for a request before the device counts as hanging; 0:
	// the default of rawtarget.
	RequestLimit time.Duration
}

// Agent serves one host over one stream.
type Agent struct {
	conn     *wire.Conn
	o        Options
	claim    *storage.Claim
	modules  *workload.Modules
	programs []result.Condition // describe the user's programs
	path     string             // PATH without these
	trees    map[string]*memory.Tree
	streams  map[string]*memory.Stream
	dirs     map[string]string // trees written as directories
	work     string
	workLock *os.File
	used     bool           // a trial has written to the storage
	counts   bool           // the machine's clock counts instructions
	load     bool           // of the machine is a figure of every phase
	virtual  bool           // time passes only while the machine waits, unless its kernel charges work
	risk     bool           // broken filesystems may be mounted, even on a user's kernel
	hangs    error          // a call into the storage that did not return, so the storage is left alone; else nil
	raw      bool           // the storage is raw flash
	chip     *simulatedChip // simulated by a guest; else nil
	inbox    wire.Inbox
	given    map[string][]byte // files for the next exploration
}

// Serve answers requests until the host says goodbye or the stream ends, and
// releases everything. Its error is that of the stream.
func Serve(ctx context.Context, conn *wire.Conn, o Options) error {
	a := &Agent{conn: conn, inbox: wire.Inbox{Conn: conn}, o: o, trees: map[string]*memory.Tree{}, streams: map[string]*memory.Stream{},
		dirs: map[string]string{}}
	defer a.release()
	for {
		m, err := a.inbox.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Kind == wire.KindBye {
			a.release()
			return conn.Send(wire.KindBye, m.ID, nil)
		}
		if m.Kind == wire.KindStop {
			continue // for a probe that has ended meanwhile
		}
		kind, answer, err := a.answer(ctx, m)
		if err != nil {
			kind, answer = wire.KindFailed, failed(err)
		}
		if err := conn.Send(kind, m.ID, answer); err != nil {
			return err
		}
	}
}

func (a *Agent) answer(ctx context.Context, m wire.Message) (kind string, body any, err error) {
	switch m.Kind {
	case wire.KindHello:
		return wire.KindFacts, a.facts(), nil
	case wire.KindList:
		devices, err := storage.Devices(ctx, storage.System)
		return wire.KindListed, wire.Listed{Devices: devices}, err
	case wire.KindPrepare:
		var p wire.Prepare
		if err := m.Decode(&p); err != nil {
			return "", nil, err
		}
		ready, err := a.prepare(ctx, p)
		return wire.KindReady, ready, err
	case wire.KindCandidates:
		var p wire.Candidates
		if err := m.Decode(&p); err != nil {
			return "", nil, err
		}
		return wire.KindSupport, a.support(ctx, p), nil
	case wire.KindTrial:
		var t wire.Trial
		if err := m.Decode(&t); err != nil {
			return "", nil, err
		}
		if a.claim == nil {
			return "", nil, errors.New("a trial was requested before any storage was prepared")
		}
		if a.claim.ReadOnly() {
			return "", nil, notForTrials()
		}
		return wire.KindDone, a.trial(ctx, m.ID, t), nil
	case wire.KindProbe:
		var p wire.Probe
		if err := m.Decode(&p); err != nil {
			return "", nil, err
		}
		probed, err := a.probe(ctx, m.ID, p)
		return wire.KindProbed, probed, err
	case wire.KindGive:
		var g wire.Give
		if err := m.Decode(&g); err != nil {
			return "", nil, err
		}
		return wire.KindGiven, nil, a.give(g)
	case wire.KindExplore:
		var order wire.Explore
		if err := m.Decode(&order); err != nil {
			return "", nil, err
		}
		explored, err := a.explore(ctx, m.ID, order)
		return wire.KindExplored, explored, err
	}
	return "", nil, fmt.Errorf("unknown request %q", m.Kind)
}

// failed turns an error into an answer. Failures without a known cause are the lab's: our own
// machinery.
func failed(err error) result.Failure {
	if known, ok := errors.AsType[*result.Failure](err); ok {
		return *result.Fail(known.Outcome, known.Hint, "%v", err)
	}
	return *result.Fail(result.LabFailed, "", "%v", err)
}

// prepare claims the storage and loads the data sets.
func (a *Agent) prepare(ctx context.Context, p wire.Prepare) (wire.Ready, error) {
	a.release() // the host may continue with other storage
	if err := a.makeWork(p.Work); err != nil {
		return wire.Ready{}, err
	}
	var err error
	if a.modules, err = readModules(); err != nil {
		return wire.Ready{}, err
	}
	if err := a.giveModules(ctx, p.Modules); err != nil {
		return wire.Ready{}, err
	}
	if err := a.givePrograms(ctx, p.Programs); err != nil {
		return wire.Ready{}, err
	}
	a.counts, a.virtual, a.load, a.risk = p.Instructions, p.Virtual, p.Load, p.RiskKernel || guest.Ours()
	spec, err := media.Parse(p.Storage)
	if err != nil {
		return wire.Ready{}, result.Refuse("", "%v", err)
	}
	a.raw = spec.Kind == media.KindNAND || spec.Kind == media.KindMTD
	switch spec.Kind {
	case media.KindMMC:
		if err := workload.LoadFor(a.modules, "sdhci_pci", "mmc_block"); err != nil {
			return wire.Ready{}, err
		}
	case media.KindRAM:
		if err := a.makeRAM(spec.Size); err != nil {
			return wire.Ready{}, err
		}
	case media.KindNAND:
		if err := a.makeNAND(spec); err != nil {
			return wire.Ready{}, err
		}
	case media.KindLoop:
		// If that fails, the storage reports what is missing.
		if _, err := os.Stat("/dev/loop-control"); err != nil {
			_ = workload.LoadFor(a.modules, "loop")
		}
	}
	a.claim, err = storage.Open(ctx, spec, p.Destroy, storage.Options{Work: p.Work, ReadOnly: p.ReadOnly, InUse: p.InUse, Lab: guest.Ours()})
	if err != nil {
		return wire.Ready{}, err
	}
	for _, d := range p.Data {
		if err := a.loadData(ctx, d); err != nil {
			return wire.Ready{}, fmt.Errorf("data set %s: %w", d.Name, err)
		}
	}
	a.modules.Keep() // the storage's drivers
	return wire.Ready{Identity: a.claim.Identity(), Size: a.claim.Size(), Conditions: slices.Concat(a.claim.Conditions(), a.chipConditions(), a.moduleConditions(), a.programs), Notes: a.disturbed()}, nil
}

// release undoes all effects of the agent. It may be called at any time.
func (a *Agent) release() {
	if a.hangs != nil {
		a.leave()
	}
	if a.work != "" {
		_ = unix.Unmount(filepath.Join(a.work, "mnt"), unix.MNT_DETACH)
	}
	if a.claim != nil {
		if a.used && !a.claim.ReadOnly() && a.chip == nil {
			// The storage is left empty, as was permitted; storage that is no longer the one that
			// was claimed is left alone.
			_, _ = a.claim.Discard(context.Background())
		}
		_ = a.claim.Close()
		a.claim = nil
	}
	if a.chip != nil {
		_ = a.chip.unload()
		a.chip = nil
	}
	_ = a.modules.Unload() // loaded by an exploration
	for _, t := range a.trees {
		_ = t.Close()
	}
	for _, s := range a.streams {
		_ = s.Close()
	}
	clear(a.trees)
	clear(a.streams)
	clear(a.dirs)
	a.used, a.raw, a.risk = false, false, false
	a.returnPrograms()
	a.leaveWork()
}
