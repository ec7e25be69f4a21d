package machine

import (
	"whichfs/internal/result"
)

// FixedArch is the refusal of a machine whose processor is what it is.
func FixedArch(m Machine, asked, has string) error {
	return result.Refuse("use --machine lab, whose guests can be of another architecture, or leave --arch out",
		"machine %s is of architecture %s, and %s was asked for: it has the processor that it has", m.Name(), has, asked)
}
