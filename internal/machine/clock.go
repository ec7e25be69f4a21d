package machine

import "whichfs/internal/result"

// NoInstructions is the refusal of a machine whose clock cannot count
// instructions.
func NoInstructions(m Machine) error {
	return result.Refuse("use --machine lab, or --clock wall",
		"%s", "machine "+m.Name()+" has no clock that counts instructions: only an emulated processor's can")
}
