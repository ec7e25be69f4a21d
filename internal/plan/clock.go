package plan

import (
	"fmt"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// CountingRounds is the default number of rounds when the clock counts instructions: the figures
// repeat, and two rounds show that they do.
const CountingRounds = 2

// Instructions reports whether the clock counts instructions. On a simulated
// chip the figures are nevertheless times (result.Run.Modelled).
func (p Plan) Instructions() bool { return p.Clock == result.ClockInstructions }

// checkClock rejects storage with a device, whose time instruction counts do not include.
func (p Plan) checkClock() error {
	switch p.Clock {
	case "", result.ClockWall:
		return nil
	case result.ClockInstructions:
	default:
		return fmt.Errorf("clock must be %q or %q, not %q", result.ClockWall, result.ClockInstructions, p.Clock)
	}
	s, err := media.Parse(p.Storage)
	if err != nil {
		return err
	}
	if !s.InMemory() {
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
