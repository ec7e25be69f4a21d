package local

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// kept is how many of the agent's last lines are kept.
const kept = 50

// lastLines keeps the last lines that the agent wrote beside its messages. It
// may be used from several goroutines.
type lastLines struct {
	mu      sync.Mutex
	lines   []string
	partial []byte
}

// Write implements io.Writer.
func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			break
		}
		l.keep(string(line))
		l.partial = append([]byte(nil), rest...)
	}
	if len(l.partial) > 4096 { // a line without an end
		l.keep(string(l.partial))
		l.partial = nil
	}
	return len(p), nil
}

func (l *lastLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(line)
}

func (l *lastLines) keep(line string) {
	l.lines = append(l.lines, strings.TrimRight(line, "\r"))
	if over := len(l.lines) - kept; over > 0 {
		l.lines = slices.Delete(l.lines, 0, over)
	}
}

// list returns the lines, oldest first.
func (l *lastLines) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := slices.Clone(l.lines)
	if len(l.partial) > 0 {
		lines = append(lines, string(l.partial))
	}
	return lines
}
