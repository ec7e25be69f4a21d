// Package crash has crash states explored on a machine whose kernel may die of
// one: it keeps what was recorded, starts another guest after a death, turns the
// state that it died of into a finding, and goes on behind it.
package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/explore"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Order is what is to be explored: scripts, or the log in Files.
type Order struct {
	// Explore is as for the agent; After, Skip and Send are for this package to
	// fill in. Given is "" or "log".
	wire.Explore
	// Files that Given names: "log", "base".
	Files map[string][]byte
	// Record is where scripts are recorded; nil: on the machine that explores them.
	Record *Place
	// Restarts is how many deaths are outlived; 0: 20.
	Restarts int
}

// Place is a machine and what a session on it needs.
type Place struct {
	Machine machine.Machine
	Spec    machine.Spec
}

// SpecFor is what a session needs in which states are explored: the least storage
// that the machine has, since disks are made in memory.
func SpecFor(machineName string) machine.Spec {
	if machineName == "local" {
		return machine.Spec{Storage: "loop:16M"}
	}
	return machine.Spec{Storage: "ram:16M"}
}

// Death is the end of a guest.
type Death struct {
	Script string // that was recorded or explored
	State  int64  // that was about to be mounted; 0: none
	Reason string
	// Console has its last lines, oldest first.
	Console []string
}

// Result is what was found until the end, or until an error.
type Result struct {
	Facts    wire.Facts // of the machine that looked
	Emulated bool
	// Tallies by script, in order. Where there was an error, those of scripts that
	// were not wholly looked at are not there.
	Tallies  []finding.Tally
	Findings []finding.Finding
	Deaths   []Death
	// Recordings of the scripts, in order; the Log of one that could not be
	// recorded is empty.
	Recordings []explore.Recording
}

// defaultRestarts is how many deaths are outlived where nobody says.
const defaultRestarts = 20

// Run carries out an order. tell may be nil and is called on the calling
// goroutine. Errors are those of machine.Session; what was found before one is in
// the result. Cancelling ctx ends the sessions.
func Run(ctx context.Context, m machine.Machine, spec machine.Spec, o Order, tell func(wire.Progress)) (Result, error) {
	r := &run{order: o, tell: tell, look: &keeper{place: Place{m, spec}, left: o.Restarts}}
	if r.look.left == 0 {
		r.look.left = defaultRestarts
	}
	r.record = r.look
	if o.Record != nil {
		r.record = &keeper{place: *o.Record, left: r.look.left}
	}
	err := r.all(ctx)
	err = errors.Join(err, r.look.close())
	if r.record != r.look {
		err = errors.Join(err, r.record.close())
	}
	r.out.Facts, r.out.Emulated = r.look.facts, r.look.emulated
	return r.out, err
}

// run is an order under way.
type run struct {
	order        Order
	tell         func(wire.Progress)
	look, record *keeper
	out          Result
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
		return refuse("", "nobody knows how to explore %q", r.order.Given)
	case len(r.order.Scripts) == 0:
		return refuse("whichfs crash list names the scripts", "no script was given")
	default:
		if err := r.recordAll(ctx); err != nil {
			r.out.Tallies = nil
			return err
		}
	}
	if r.order.RecordOnly {
		return nil
	}
	if r.record != r.look {
		if err := r.record.close(); err != nil {
			return err
		}
	}
	for i, one := range r.out.Recordings {
		if len(one.Log.Entries) == 0 {
			continue // its tally says why
		}
		if err := r.explore(ctx, i, one); err != nil {
			r.out.Tallies = r.out.Tallies[:i]
			return fmt.Errorf("script %s: %w", one.Script.Name, err)
		}
	}
	return nil
}

func refuse(hint, format string, args ...any) error {
	return &machine.Error{Outcome: result.Refused, Reason: fmt.Sprintf(format, args...), Hint: hint}
}

// given is the recording that an order brings along.
func given(o Order) (explore.Recording, error) {
	one, err := recording(o.Files["log"], o.Files["base"])
	if err != nil {
		return one, refuse("", "%v", err)
	}
	one.Size = max(o.Size, one.Base.Size)
	one.Script = script.Script{Name: "given log"}
	if len(o.Scripts) > 0 {
		one.Script = o.Scripts[0]
	}
	if len(one.Log.Entries) == 0 {
		return one, refuse("", "the log has no entries")
	}
	return one, nil
}

// recording reads the files of one; a base that is not there is an empty disk.
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

func (r *run) say(share float64, format string, args ...any) {
	if r.tell != nil {
		r.tell(wire.Progress{What: fmt.Sprintf(format, args...), Share: share})
	}
}

// died notes a death; an error is that it cannot be outlived.
func (r *run) died(k *keeper, script string, state int64, gone *machine.Gone) error {
	d := Death{Script: script, State: state, Reason: gone.Error()}
	var e *machine.Error
	if errors.As(gone, &e) {
		d.Console = slices.Clone(e.Console)
	}
	r.out.Deaths = append(r.out.Deaths, d)
	if k.close() != nil && k.lasting() {
		return gone
	}
	if k.lasting() {
		return gone // this host's own agent: no state is to blame with certainty
	}
	if k.left--; k.left < 0 {
		return fmt.Errorf("too many guests died, %d: %w", len(r.out.Deaths), gone)
	}
	return nil
}
