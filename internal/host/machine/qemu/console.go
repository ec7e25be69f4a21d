package qemu

import (
	"io"
	"strings"

	"whichfs/internal/host/machine"
)

// console keeps the last lines of a guest's console.
type console struct {
	machine.Lines
	ended chan struct{} // closed at the end of the stream
}

// watch reads the console until it ends. seen, if not nil, gets each line as it arrives.
func watch(r io.Reader, seen func(line string)) *console {
	c := &console{Lines: machine.Lines{Seen: seen}, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		// It ends with the guest, whatever the error.
		_, _ = io.Copy(&c.Lines, r)
		c.End()
	}()
	return c
}

// panicLine finds the kernel's panic message, "" if there is none.
func (c *console) panicLine() string { return panicLine(c.Last()) }

func panicLine(console []string) string {
	for _, line := range console {
		if i := strings.Index(line, "Kernel panic"); i >= 0 {
			return strings.TrimSpace(line[i:])
		}
	}
	return ""
}
