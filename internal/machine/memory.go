package machine

import (
	"whichfs/internal/result"
)

// FixedMemory is the refusal of a machine whose memory is what it is.
func FixedMemory(m Machine, asked int64) error {
	return result.Refuse("use --machine lab, or leave the memory out",
		"machine %s cannot be given %d MiB of memory: it has what it has", m.Name(), asked>>20)
}
