package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// CountingRounds is the default number of rounds when the clock counts instructions: the figures
// repeat, and two rounds show that they do.
const CountingRounds = 2

// PredictionRounds is the least default number of rounds of a prediction: its figures are compared with
// measured ones, and a single round has no intervals.
const PredictionRounds = 3

// Instructions reports whether the clock counts instructions. On a simulated
// chip the figures are nevertheless times (result.Run.Modelled).
func (p Plan) Instructions() bool { return p.Clock == result.ClockInstructions }

// Virtual reports whether the clock is that of the storage, and of Processor if there is one.
func (p Plan) Virtual() bool { return p.Clock == result.ClockVirtual }

// Repeats reports whether the figures do not depend on what else the host does, so that trials may
// run in parallel. What earlier trials leave in a kernel would show in them: each has a guest of its
// own.
func (p Plan) Repeats() bool { return p.Instructions() || p.Virtual() }

// GuestSeed determines what a guest with the virtual clock draws at random in a round. All candidates
// of a round draw the same.
func (p Plan) GuestSeed(round int) uint64 {
	return rand.New(rand.NewPCG(p.Seed, uint64(round))).Uint64() | 1 // never 0
}

// checkClock rejects storage whose time a clock cannot tell: instruction counts include no device, and
// the virtual clock knows none but those that are modelled.
func (p Plan) checkClock() error {
	if p.Predicted != "" && p.Processor == nil {
		return fmt.Errorf("a prediction needs a processor")
	}
	if p.Processor != nil {
		if p.Instructions() {
			return fmt.Errorf("the clock that counts instructions has no processor of some speed")
		}
		if err := p.Processor.Check(); err != nil {
			return fmt.Errorf("processor: %w", err)
		}
	}
	switch p.Clock {
	case "", result.ClockWall:
		return nil
	case result.ClockInstructions, result.ClockVirtual:
	default:
		return fmt.Errorf("clock must be one of %s, not %q", strings.Join(result.Clocks, ", "), p.Clock)
	}
	s, err := media.Parse(p.Storage)
	if err != nil {
		return err
	}
	if p.Virtual() && !s.Modelled() {
		return fmt.Errorf("the virtual clock needs storage whose time is modelled (sim:sd-basic,1G, nand:128M or ram:512M), not %s", s)
	}
	if p.Instructions() && !s.InMemory() {
		return fmt.Errorf("the clock that counts instructions needs storage in memory, a disk (ram:512M) or a chip (nand:128M), not %s", s)
	}
	return nil
}

func setPrecondition(f *File, value any) error {
	b, ok := value.(bool)
	if !ok {
		return errKind
	}
	f.Precondition = &b
	return nil
}
