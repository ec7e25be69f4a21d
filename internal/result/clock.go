package result

// Clocks that figures can be taken with.
const (
	// ClockWall is time as it passes.
	ClockWall = "wall"
	// ClockInstructions counts what the processor executes: a filesystem's own
	// cost, without any device.
	ClockInstructions = "instructions"
)

// Counts reports whether the run's figures are instructions and not times.
func (r Run) Counts() bool { return r.Clock == ClockInstructions }
