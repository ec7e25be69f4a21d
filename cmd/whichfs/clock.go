package main

import (
	"whichfs/internal/meter"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// checkStorage holds the storage against its form and the clock.
func checkStorage(p plan.Plan) error {
	s, err := media.Parse(p.Storage)
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if p.Clock != result.ClockWall && p.Clock != result.ClockInstructions {
		return result.Refuse("", "unknown clock %q; known are %s and %s", p.Clock, result.ClockWall, result.ClockInstructions)
	}
	if !p.Instructions() {
		return nil
	}
	if p.Machine == "lab" && !s.InMemory() {
		return result.Refuse("leave --storage out, or give ram:SIZE or nand:SIZE",
			"--clock instructions counts what the processor executes and sees no device: storage %s cannot be measured with it", p.Storage)
	}
	if p.Precondition {
		return result.Refuse("leave one of them out", "--precondition brings a device to a steady speed, and with --clock instructions there is no device")
	}
	return nil
}

// clockCondition keeps runs apart whose figures are not of one kind.
func clockCondition(p plan.Plan) result.Condition {
	c := result.Condition{Group: "machine", Name: "clock", Value: result.ClockWall, Matters: true}
	if p.Instructions() {
		c.Value = "counts instructions (" + meter.Instruction.String() + " each)"
	}
	return c
}

// preconditioned says whether trials begin on storage of a steady speed.
func preconditioned(p plan.Plan) result.Condition {
	c := result.Condition{Group: "run", Name: "preconditioned", Value: "no", Matters: true}
	if p.Precondition {
		c.Value = "yes, after the first mount"
	}
	return c
}
