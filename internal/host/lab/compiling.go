package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/sys/units"
)

// SayEvery is the time between two lines about compiling.
var SayEvery = 20 * time.Second

// Counter counts compiled files in make's output and reports now and then.
type Counter struct {
	what     string // is compiled
	all      int    // about
	seen     map[string]bool
	before   int // of the seen ones, in an earlier attempt
	begun    time.Time
	said     time.Time
	progress func(string)
	rest     []byte
}

// NewCounter begins with what an earlier attempt compiled, according to its log, and reports it. about: so
// many files are compiled for what it makes ("the kernel").
func NewCounter(what string, about int, log string, progress func(string)) (*Counter, error) {
	c := &Counter{what: what, all: about, seen: map[string]bool{}}
	if f, err := os.Open(log); err == nil {
		_, err = io.Copy(c, bufio.NewReader(f))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	c.before, c.begun, c.progress = len(c.seen), time.Now(), progress
	c.said = c.begun
	progress(fmt.Sprintf("compiling %s: %s on %s", what, c.state(), units.Count(runtime.NumCPU(), "processor")))
	return c, nil
}

// Jobs is make's argument for as many compilers as there are processors.
func (c *Counter) Jobs() string { return fmt.Sprintf("--jobs=%d", runtime.NumCPU()) }

// longestLine is how many bytes of an unterminated line are kept.
const longestLine = 1 << 12

func (c *Counter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		end := bytes.IndexByte(c.rest, '\n')
		if end < 0 {
			break
		}
		if file := compiled(string(c.rest[:end])); file != "" {
			c.seen[file] = true
		}
		c.rest = c.rest[end+1:]
	}
	c.rest = slices.Clone(c.rest[:min(len(c.rest), longestLine)])
	if c.progress != nil && time.Since(c.said) >= SayEvery {
		c.said = time.Now()
		c.progress("compiling " + c.what + ": " + c.state() + c.left(c.said))
	}
	return len(p), nil
}

func (c *Counter) state() string {
	return fmt.Sprintf("%s of about %s files", thousands(len(c.seen)), thousands(max(c.all, len(c.seen))))
}

// left is the estimate of the remaining time, once there is one.
func (c *Counter) left(now time.Time) string {
	done := len(c.seen) - c.before
	if done < 20 {
		return ""
	}
	left := float64(max(0, c.all-len(c.seen))) * float64(now.Sub(c.begun)) / float64(done)
	return ", about " + units.Rough(time.Duration(left)) + " left"
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// compiled returns the object file that a line of make's output announces:
//
//	CC      fs/super.o
//	CC [M]  fs/ext4/super.o
//
// or "" for all other lines. Objects are compiled, assembled, or for programs
// of the build itself.
func compiled(line string) string {
	words := strings.Fields(line)
	if !strings.HasPrefix(line, "  ") || len(words) < 2 || !slices.Contains([]string{"CC", "AS", "HOSTCC"}, words[0]) {
		return ""
	}
	if words[1] == "[M]" {
		words = words[1:]
	}
	if len(words) != 2 {
		return ""
	}
	return words[1]
}
