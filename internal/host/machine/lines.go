package machine

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"whichfs/internal/sys/harmless"
)

const (
	keptLines = 200  // of a console
	keptBytes = 1000 // of each line
)

// Lines keeps the last lines written to it, each truncated and sanitised: the console of a guest,
// or an agent's output besides its messages. It is safe for concurrent use.
type Lines struct {
	// Seen, if not nil, gets each line as it arrives, truncated but otherwise unchanged.
	Seen func(line string)

	mu      sync.Mutex
	lines   []string
	partial []byte // at most keptBytes of a line without its end
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	rest := p
	for {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		l.mu.Lock()
		l.partial = append(l.partial, line[:min(len(line), keptBytes-len(l.partial))]...)
		if !ended {
			l.mu.Unlock()
			return len(p), nil
		}
		whole := string(l.partial)
		l.partial = l.partial[:0]
		l.mu.Unlock()
		l.Add(whole)
		rest = after
	}
}

// Add adds a line of its own.
func (l *Lines) Add(line string) {
	for len(line) > 0 && line[len(line)-1] == '\r' { // a terminal's line end
		line = line[:len(line)-1]
	}
	clean := harmless.Cut(line, keptBytes)
	l.mu.Lock()
	if len(l.lines) == keptLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, clean)
	l.mu.Unlock()
	if l.Seen != nil {
		l.Seen(line[:min(len(line), keptBytes)])
	}
}

// End says that nothing more will be written: an unfinished line becomes a line.
func (l *Lines) End() {
	l.mu.Lock()
	rest := string(l.partial)
	l.partial = l.partial[:0]
	l.mu.Unlock()
	if rest != "" {
		l.Add(rest)
	}
}

// Last returns the lines, oldest first; the last may not have ended yet.
func (l *Lines) Last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := append([]string(nil), l.lines...)
	if len(l.partial) > 0 {
		lines = append(lines, harmless.Line(string(l.partial)))
	}
	return lines
}

// StaleCode reports whether a console shows that a guest died of its emulator. Linux changes its code
// behind a breakpoint, and stops at one that is there no longer. An emulator with a thread for each
// processor that translates a piece of code while another processor changes it may keep the
// breakpoint: QEMU 7.2 does, once in some hundred starts of a guest with two processors.
func StaleCode(console []string) bool {
	return slices.ContainsFunc(console, func(line string) bool { return strings.Contains(line, "int3: 0000") })
}
