// Package crash explores crash states on a machine whose kernel a state may crash: it keeps the
// recordings, starts another guest after a death, turns the state that caused it into a finding,
// and continues after it.
package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// Order is what to explore: scripts, or the log in Files.
type Order struct {
	// Explore is passed to the agent; this package fills in After, Skip and Send. Given is "" or
	// "log".
	wire.Explore
	// Files are those that Given names: "log", "base".
	Files map[string][]byte
	// Record is where scripts are recorded; nil: on the machine that explores them.
	Record *Place
	// Restarts is how many deaths are tolerated while scripts are recorded, and as many while their
	// states are judged; 0: 20. The latter are divided among the scripts beforehand, at least
	// leastRestarts to each (or Restarts, if that is less), so that the findings do not depend on
	// which guest was faster.
	Restarts int
	// Guests is how many guests judge the recordings of different scripts at the same time; 0: the
	// number of this host's processors, or one if the machine is this host, whose agent has its own
	// workers. There are never more guests than scripts. A single guest records.
	Guests int
}

// Place is a machine and what a session on it needs.
type Place struct {
	Machine machine.Machine
	Spec    machine.Spec
}

// SpecFor is the specification of a session in which states are explored: the least storage that
// the machine has, since disks are made in memory.
func SpecFor(machineName, clock string) machine.Spec {
	if machineName == "local" {
		return machine.Spec{Storage: "loop:16M", Damages: true}
	}
	return machine.Spec{Storage: "ram:16M", Untimed: true, Damages: true, Virtual: clock == result.ClockVirtual}
}

// Death is the end of a guest.
type Death struct {
	Script string // being recorded or explored
	State  int64  // about to be mounted; 0: none
	Reason string
	// Console has its last lines, oldest first.
	Console []string
}

// Result holds the findings up to the end, or up to an error.
type Result struct {
	Facts    wire.Facts // of the machine that judged
	Emulated bool
	// Tallies by script, in order. After an error, those of scripts that were not completely judged
	// are missing.
	Tallies  []finding.Tally
	Findings []finding.Finding // by script, in order
	Deaths   []Death           // while recording, and then by script, in order
	// Looking is how long at least one guest judged states, in seconds of wall time: without starts
	// of guests, recording and minimising.
	Looking float64
	Guests  int // maximum number that judged at the same time
	// Recordings of the scripts, in order; the Log of a failed recording is empty.
	Recordings []explore.Recording
}

// defaultRestarts is how many deaths are tolerated by default.
const defaultRestarts = 20

// leastRestarts is how many deaths a script may cost, however many scripts there are.
const leastRestarts = 3

// Run carries out an order. tell may be nil and is called on the calling goroutine. Errors are
// those of machine.Session; findings before an error are in the result. Cancelling ctx ends the
// sessions.
func Run(ctx context.Context, m machine.Machine, spec machine.Spec, o Order, tell func(wire.Progress)) (Result, error) {
	if o.Restarts == 0 {
		o.Restarts = defaultRestarts
	}
	r := &run{order: o, tell: tell}
	for range guestsFor(m, o) {
		r.look = append(r.look, &keeper{place: Place{m, spec}})
	}
	r.record = r.look[0]
	if o.Record != nil {
		r.record = &keeper{place: *o.Record}
	}
	ctx, cancel := context.WithCancel(ctx)
	err := r.all(ctx)
	cancel() // ends guests that are still starting and have nothing to judge
	for _, k := range r.look {
		err = errors.Join(err, k.close())
	}
	if r.record != r.look[0] {
		err = errors.Join(err, r.record.close())
	}
	for _, k := range slices.Backward(r.look) {
		if k.facts.Kernel != "" {
			r.out.Facts, r.out.Emulated = k.facts, k.emulated
		}
	}
	return r.out, err
}

// guestsFor is the number of guests for an order.
func guestsFor(m machine.Machine, o Order) int {
	n := o.Guests
	if n <= 0 {
		n = runtime.NumCPU()
		if lasting(m) {
			n = 1
		}
	}
	if o.Given != "" || o.RecordOnly {
		n = 1
	}
	return max(1, min(n, len(o.Scripts)))
}

// run is the current order.
type run struct {
	order  Order
	tell   func(wire.Progress)
	record *keeper
	look   []*keeper // one for each guest
	out    Result
}

func (r *run) all(ctx context.Context) error {
	switch {
	case r.order.Given == "log":
		one, err := given(r.order)
		if err != nil {
			return err
		}
		r.out.Recordings = []explore.Recording{one}
		r.out.Tallies = make([]finding.Tally, 1)
	case r.order.Given != "":
		return result.Refuse("", "cannot explore %q", r.order.Given)
	case len(r.order.Scripts) == 0:
		return result.Refuse("whichfs crash list names the scripts", "no script was given")
	default:
		for _, k := range r.look[1:] {
			k.warm(ctx) // a processor is free while one guest records
		}
		if err := r.recordAll(ctx); err != nil {
			r.out.Tallies = nil
			return err
		}
	}
	if r.order.RecordOnly {
		return nil
	}
	if r.record != r.look[0] {
		if err := r.record.close(); err != nil {
			return err
		}
	}
	return r.lookAll(ctx)
}

// given is the recording that comes with an order.
func given(o Order) (explore.Recording, error) {
	one, err := recording(o.Files["log"], o.Files["base"])
	if err != nil {
		return one, result.Refuse("", "%v", err)
	}
	one.Size = max(o.Size, one.Base.Size)
	one.Script = script.Script{Name: "given log"}
	if len(o.Scripts) > 0 {
		one.Script = o.Scripts[0]
	}
	if len(one.Log.Entries) == 0 {
		return one, result.Refuse("", "the log has no entries")
	}
	return one, nil
}

// recording reads the files of a recording; a missing base is an empty disk.
func recording(log, base []byte) (explore.Recording, error) {
	var out explore.Recording
	var err error
	if out.Log, err = writelog.Read(bytes.NewReader(log), int64(len(log))); err != nil {
		return out, fmt.Errorf("the log: %w", err)
	}
	if len(base) > 0 {
		if out.Base, err = fault.DecodeImage(bytes.NewReader(base)); err != nil {
			return out, fmt.Errorf("the base image: %w", err)
		}
	}
	out.Size = out.Base.Size
	return out, nil
}

// files are those of a recording, for an agent.
func files(one explore.Recording) (map[string][]byte, error) {
	var log, base bytes.Buffer
	if err := one.Log.Write(&log); err != nil {
		return nil, err
	}
	out := map[string][]byte{"log": log.Bytes()}
	if one.Base.Size > 0 {
		if err := one.Base.Encode(&base); err != nil {
			return nil, err
		}
		out["base"] = base.Bytes()
	}
	return out, nil
}

// budget is the number of deaths still tolerated, and the deaths so far.
type budget struct {
	left   int
	deaths []Death
}

// died records a death; an error means that it is one too many.
func (b *budget) died(k *keeper, script string, state int64, gone *machine.Gone) error {
	d := Death{Script: script, State: state, Reason: gone.Error()}
	var e *result.Failure
	if errors.As(gone, &e) {
		d.Console = slices.Clone(e.Console)
	}
	b.deaths = append(b.deaths, d)
	_ = k.close() // it is dead
	if k.lasting() {
		return gone // this host's own agent: no state is certainly to blame
	}
	if b.left--; b.left < 0 {
		return fmt.Errorf("too many guests died, %d: %w", len(b.deaths), gone)
	}
	return nil
}
