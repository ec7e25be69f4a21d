package labguest

import (
	"io"
	"strings"

	"whichfs/internal/host/machine"
)

// Console keeps the last lines of a guest's console.
type Console struct {
	machine.Lines
	ended chan struct{} // closed at the end of the stream
}

// Watch reads a console until it ends. seen, if not nil, gets each line as it arrives.
func Watch(r io.Reader, seen func(line string)) *Console {
	c := &Console{Lines: machine.Lines{Seen: seen}, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		// It ends with the guest, whatever the error.
		_, _ = io.Copy(&c.Lines, r)
		c.End()
	}()
	return c
}

// Ended is closed when the last output has been read.
func (c *Console) Ended() <-chan struct{} { return c.ended }

// PanicLine finds the kernel's panic message among the lines of a console, "" if there is none. Where
// the kernel ended because the agent did, its first program, that is what the agent's runtime said.
func PanicLine(console []string) string {
	agent := ""
	for _, line := range console {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			agent = "the agent ended with " + strings.TrimSpace(line)
		}
		if i := strings.Index(line, "Kernel panic"); i >= 0 {
			if agent != "" && strings.Contains(line, "Attempted to kill init") {
				return agent
			}
			return strings.TrimSpace(line[i:])
		}
	}
	return ""
}
