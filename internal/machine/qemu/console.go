package qemu

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

const (
	consoleLines  = 200  // how many lines are kept
	consoleLength = 1000 // how much of each, in bytes
)

// console keeps the last lines of a guest's console.
type console struct {
	mu    sync.Mutex
	lines []string
	ended chan struct{} // closed at the end of the stream
	seen  func(line string)
}

// watch reads the console until it ends. seen, if not nil, gets each line as
// it comes.
func watch(r io.Reader, seen func(line string)) *console {
	c := &console{ended: make(chan struct{}), seen: seen}
	go func() {
		defer close(c.ended)
		in := bufio.NewReaderSize(r, 4096)
		var line []byte
		for {
			b, err := in.ReadByte()
			if err != nil {
				if len(line) > 0 {
					c.add(string(line))
				}
				return
			}
			if b != '\n' {
				if len(line) < consoleLength {
					line = append(line, b)
				}
				continue
			}
			c.add(string(line))
			line = line[:0]
		}
	}()
	return c
}

func (c *console) add(line string) {
	line = strings.TrimRight(line, "\r")
	c.mu.Lock()
	if len(c.lines) == consoleLines {
		copy(c.lines, c.lines[1:])
		c.lines = c.lines[:consoleLines-1]
	}
	c.lines = append(c.lines, line)
	c.mu.Unlock()
	if c.seen != nil {
		c.seen(line)
	}
}

// last returns the lines, oldest first.
func (c *console) last() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

// panicLine finds the kernel's word of its own end, "" if there is none.
func (c *console) panicLine() string {
	for _, line := range c.last() {
		if i := strings.Index(line, "Kernel panic"); i >= 0 {
			return line[i:]
		}
	}
	return ""
}
