package result

import (
	"cmp"
	"strings"
)

// Clocks for figures.
const (
	// ClockWall is elapsed time.
	ClockWall = "wall"
	// ClockInstructions counts executed instructions: a filesystem's own cost, without any device.
	ClockInstructions = "instructions"
	// ClockVirtual is the time that simulated storage makes a filesystem wait, and that its instructions
	// would take on the processor of Run.Processor.
	ClockVirtual = "virtual"
)

// Clocks lists them.
var Clocks = []string{ClockWall, ClockInstructions, ClockVirtual}

// VirtualSlack is a hundred readings of the virtual clock, in seconds: a difference below it is one of
// programs, which read the clock some times more or less, and not one of storage.
const VirtualSlack = 100 * 256e-9

// ClockName is the clock of the run's figures, also for runs from before there
// were two.
func (r Run) ClockName() string {
	return cmp.Or(r.Clock, ClockWall)
}

// Virtual reports whether the run's times are those of its storage, and of Processor if there is one.
// Those of its storage alone are the same on every machine.
func (r Run) Virtual() bool { return r.Clock == ClockVirtual }

// ByProcessor reports whether the runs of a series differ in the processor that guests were charged for,
// and not in the storage.
func ByProcessor(series []Run) bool {
	return len(series) > 1 && series[0].Storage == series[1].Storage && series[0].Processor != series[1].Processor
}

// ByMachine reports whether the runs of a series differ in the machine. They are carried out at the same time.
func ByMachine(series []Run) bool { return len(series) > 1 && series[0].Machine != series[1].Machine }

// Counts reports whether the run's figures are instructions and not times.
func (r Run) Counts() bool { return r.Clock == ClockInstructions && !r.Modelled() }

// Modelled reports whether the run's times are those of an imaginary machine: its processor takes
// the same time for every instruction, and the delays of its simulated chip pass in that time. They
// are reproducible on any machine.
func (r Run) Modelled() bool {
	return r.Clock == ClockInstructions && strings.HasPrefix(r.Storage, "nand:")
}
