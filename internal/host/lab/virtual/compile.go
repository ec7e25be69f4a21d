package virtual

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/units"
)

// makeWords are arguments of every make. An empty LOCALVERSION prevents a plus sign for changes since a
// commit, should the cache be in someone's repository.
var makeWords = []string{"ARCH=um", "LOCALVERSION="}

// make runs the kernel's makefiles. Standard output also goes to out, which may
// be nil. If they fail, the error is a *result.Failure.
func (b *building) make(ctx context.Context, out io.Writer, words ...string) error {
	log, err := os.OpenFile(b.path(logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	o := command.Options{Dir: b.tree(), Env: lab.MakeEnvironment, Stdout: log, Stderr: log, Files: []*os.File{b.busy}}
	if out != nil {
		o.Stdout = io.MultiWriter(log, out)
	}
	argv := append([]string{"make"}, makeWords...)
	if b.recipe.Counting > 0 {
		more, err := assembler(b.dir)
		if err != nil {
			return err
		}
		o.Env = slices.Concat(lab.MakeEnvironment, more)
	}
	if _, err := command.Look("ccache"); err == nil {
		argv = append(argv, "CC=ccache gcc", "HOSTCC=ccache gcc")
	}
	r, err := command.Run(ctx, o, append(argv, words...)...)
	b.Processor += (r.User + r.System).Seconds()
	if err == nil || ctx.Err() != nil {
		return err
	}
	return lab.MakeFailure(err, r.Stderr, "the kernel", "the whole output is in "+b.path(logFile)+"; "+b.recipe.command()+" continues there, and after whichfs clean it starts over")
}

// configure makes the kernel's configuration and checks it.
func (b *building) configure(ctx context.Context) error {
	b.progress("configuring the kernel")
	for _, g := range b.recipe.gone {
		b.progress("without " + strings.Join(g.names, ", ") + ": " + g.why)
	}
	wanted := b.path("wanted.config")
	if err := os.WriteFile(wanted, []byte(b.recipe.Config), 0o644); err != nil {
		return err
	}
	if err := b.make(ctx, nil, "KCONFIG_ALLCONFIG="+wanted, "allnoconfig"); err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(b.tree(), ".config"))
	if err != nil {
		return err
	}
	if lines := vanished(b.recipe.Config, string(got)); len(lines) > 0 {
		return fmt.Errorf("these lines of the configuration are not in force in Linux %s: %s; the kernel's own rules (Kconfig) require something else for them", b.Series, strings.Join(lines, ", "))
	}
	b.Compiler = compiler(string(got))
	if b.Compiler == "" {
		return errors.New("the kernel's configuration does not name the compiler")
	}
	return nil
}

// vanished lists the lines of the wanted configuration that are not in force.
// An option that the configuration does not mention is not set.
func vanished(wanted, got string) (lines []string) {
	have := map[string]bool{}
	for line := range strings.Lines(got) {
		have[strings.TrimSpace(line)] = true
		name, _, _ := strings.Cut(line, "=")
		have[name] = true
	}
	for line := range strings.Lines(wanted) {
		line = strings.TrimSpace(line)
		if name, unset := strings.CutSuffix(line, " is not set"); unset {
			if have[strings.TrimPrefix(name, "# ")] {
				lines = append(lines, line)
			}
		} else if strings.HasPrefix(line, "CONFIG_") && !have[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

func compiler(config string) string {
	for line := range strings.Lines(config) {
		if text, ok := strings.CutPrefix(line, "CONFIG_CC_VERSION_TEXT="); ok {
			return strings.Trim(strings.TrimSpace(text), `"`)
		}
	}
	return ""
}

// sourceFiles is about how many files are compiled for Linux 6.1; other series
// have as many.
const sourceFiles = 1240

// sayEvery is the time between two lines about compiling.
var sayEvery = 20 * time.Second

// compile compiles kernel and modules, or what a killed build left of them.
func (b *building) compile(ctx context.Context) error {
	c := counter{all: sourceFiles, seen: map[string]bool{}}
	if log, err := os.Open(b.path(logFile)); err == nil {
		_, err = io.Copy(&c, bufio.NewReader(log))
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
	}
	c.before, c.begun, c.progress = len(c.seen), time.Now(), b.progress
	c.said = c.begun
	jobs := runtime.NumCPU()
	b.progress(fmt.Sprintf("compiling the virtual lab's kernel: %s on %s", c.state(), units.Count(jobs, "processor")))
	return b.make(ctx, &c, fmt.Sprintf("--jobs=%d", jobs), "linux", "modules")
}

// counter counts compiled files in make's output and reports now and then.
type counter struct {
	all      int // about
	seen     map[string]bool
	before   int // of the seen ones, in an earlier attempt
	begun    time.Time
	said     time.Time
	progress func(string)
	rest     []byte
}

// longestLine is how many bytes of an unterminated line are kept.
const longestLine = 1 << 12

func (c *counter) Write(p []byte) (int, error) {
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
	if c.progress != nil && time.Since(c.said) >= sayEvery {
		c.said = time.Now()
		c.progress("compiling the virtual lab's kernel: " + c.state() + c.left(c.said))
	}
	return len(p), nil
}

func (c *counter) state() string {
	return fmt.Sprintf("%s of about %s files", thousands(len(c.seen)), thousands(max(c.all, len(c.seen))))
}

// left is the estimate of the remaining time, once there is one.
func (c *counter) left(now time.Time) string {
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
