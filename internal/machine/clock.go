package machine

import "whichfs/internal/result"

// NoInstructions is the refusal of a machine whose clock cannot count
// instructions.
func NoInstructions(m Machine) error {
	return &Error{Outcome: result.Refused,
		Reason: "machine " + m.Name() + " has no clock that counts instructions: only an emulated processor's can",
		Hint:   "use --machine lab, or --clock wall"}
}
