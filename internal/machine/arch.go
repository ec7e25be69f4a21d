package machine

import (
	"fmt"

	"whichfs/internal/result"
)

// FixedArch is the refusal of a machine whose processor is what it is.
func FixedArch(m Machine, asked, has string) error {
	return &Error{Outcome: result.Refused,
		Reason: fmt.Sprintf("machine %s is of architecture %s, and %s was asked for: it has the processor that it has", m.Name(), has, asked),
		Hint:   "use --machine lab, whose guests can be of another architecture, or leave --arch out"}
}
