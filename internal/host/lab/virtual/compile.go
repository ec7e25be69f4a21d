package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/sys/command"
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
	r, err := command.Run(ctx, o, slices.Concat(argv, lab.CompilerCache(), words)...)
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
	if lines := lab.Vanished(b.recipe.Config, string(got)); len(lines) > 0 {
		return fmt.Errorf("these lines of the configuration are not in force in Linux %s: %s; the kernel's own rules (Kconfig) require something else for them", b.Series, strings.Join(lines, ", "))
	}
	b.Compiler = lab.CompilerOf(string(got))
	if b.Compiler == "" {
		return errors.New("the kernel's configuration does not name the compiler")
	}
	return nil
}

// sourceFiles is about how many files are compiled for Linux 6.1; other series
// have as many.
const sourceFiles = 1240

// compile compiles kernel and modules, or what a killed build left of them.
func (b *building) compile(ctx context.Context) error {
	c, err := lab.NewCounter("the virtual lab's kernel", sourceFiles, b.path(logFile), b.progress)
	if err != nil {
		return err
	}
	return b.make(ctx, c, c.Jobs(), "linux", "modules")
}
