// Package kernelsource builds kernels for the lab's guests from a user's source: a vendor's tree, or a series
// of Linux that Debian no longer has. Its point of view is package lab's: no privileges, nothing outside the
// cache, and a kernel is either complete or absent. The source is only read.
package kernelsource

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// generation counts changes of the building code that alter kernels.
const generation = 1

// folder contains the builds, in the lab's part of the cache.
const folder = "source"

// elfHeader is libelf's; tests have another one.
var elfHeader = "/usr/include/gelf.h"

// Requirements lists what building a kernel needs on this host.
func Requirements() []lab.Requirement {
	const without = "no kernel can be built from its source (whichfs lab build --kernel-source)"
	return []lab.Requirement{
		{Program: "gcc", Package: "gcc", Without: without},
		{Program: "/usr/include/stdio.h", Package: "libc6-dev", Without: without},
		{Program: "make", Package: "make", Without: without},
		{Program: "flex", Package: "flex", Without: without},
		{Program: "bison", Package: "bison", Without: without},
		{Program: "bc", Package: "bc", Without: without},
		// Since Linux 5.10 a program of the kernel's build is linked with it.
		{Program: elfHeader, Package: "libelf-dev", Without: without},
		{Program: "depmod", Package: "kmod", Without: "guests find no kernel modules"},
	}
}

// Check refuses what cannot be built, as far as that is known at once.
func Check(dir, config string) error {
	if _, err := open(dir, config); err != nil {
		return err
	}
	return lab.Unmet("a kernel's build", Requirements())
}

// Build builds a kernel for the lab's guests from the source in a directory, with the lab's configuration but
// for the options in the file config ("": none), or returns the one that was built
// from the same; again: it is built anew. The build of a killed whichfs continues where it was. progress
// receives one line per step.
func Build(ctx context.Context, dir, config string, again bool, progress func(string)) (k lab.Kernel, built bool, err error) {
	if err := Check(dir, config); err != nil {
		return k, false, err
	}
	t, err := open(dir, config)
	if err != nil {
		return k, false, err
	}
	progress("reading the source of Linux " + t.version + " in " + t.dir)
	if err := t.read(); err != nil {
		return k, false, err
	}
	b := building{tree: t, began: time.Now(), progress: progress, local: "-" + t.digest()[:8]}
	home, unlock, err := lab.Locked(ctx, folder, progress)
	if err != nil {
		return k, false, err
	}
	defer unlock()
	if k, err := find(t.digest()); err != nil || k.Root != "" && !again {
		return k, false, err
	}
	b.dir = filepath.Join(home, lab.UnfinishedPrefix+t.digest()[:16])
	if err := os.MkdirAll(filepath.Join(b.dir, outDir), 0o755); err != nil {
		return k, false, fmt.Errorf("kernel from %s: %w", t.dir, err)
	}
	if b.busy, err = lab.Busy(ctx, b.dir, progress); err != nil {
		return k, false, err
	}
	defer b.busy.Close()
	if k, err = b.run(ctx); ctx.Err() != nil {
		progress("the build is interrupted; the same command continues it")
		return k, false, context.Cause(ctx)
	}
	return k, true, err
}

// find is the kernel with a digest, or a zero one.
func find(digest string) (lab.Kernel, error) {
	all, err := lab.FromSource()
	if i := slices.IndexFunc(all, func(k lab.Kernel) bool { return k.Made.Digest == digest }); i >= 0 {
		return all[i], nil
	}
	return lab.Kernel{}, err
}

// building is a build. Its directory outlives it until the kernel is complete.
type building struct {
	tree
	dir       string
	local     string // what the release has behind the version
	began     time.Time
	processor float64 // s, of compiling
	progress  func(string)
	busy      *os.File
}

// What a build's directory contains.
const (
	outDir  = "out" // of the kernel's makefiles
	logFile = "build.log"
	made    = "kernel" // the result
)

func (b *building) path(name string) string { return filepath.Join(b.dir, name) }

// make runs the kernel's makefiles. Standard output also goes to out, which may be nil. If they fail, the error
// is a *result.Failure.
func (b *building) make(ctx context.Context, out io.Writer, words ...string) error {
	log, err := os.OpenFile(b.path(logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	o := command.Options{Dir: b.tree.dir, Env: lab.MakeEnvironment, Stdout: log, Stderr: log, Files: []*os.File{b.busy}}
	if out != nil {
		o.Stdout = io.MultiWriter(log, out)
	}
	argv := []string{"make", "O=" + b.path(outDir), "ARCH=x86_64", "LOCALVERSION=" + b.local}
	r, err := command.Run(ctx, o, slices.Concat(argv, lab.CompilerCache(), words)...)
	b.processor += (r.User + r.System).Seconds()
	if err == nil || ctx.Err() != nil {
		return err
	}
	return lab.MakeFailure(err, r.Stderr, "the kernel from "+b.tree.dir, "the whole output is in "+b.path(logFile)+"; the same command continues there")
}

// sourceFiles is about how many files are compiled of Linux 6.1; others have as many.
const sourceFiles = 1900

// run is the build. make itself finds out what of it a killed one has done.
func (b *building) run(ctx context.Context) (lab.Kernel, error) {
	failed := func(err error) (lab.Kernel, error) {
		if result.FailureOf(err) == nil {
			err = fmt.Errorf("kernel from %s: %w", b.tree.dir, err)
		}
		return lab.Kernel{}, err
	}
	offer, err := b.configure(ctx)
	if err != nil {
		return failed(err)
	}
	c, err := lab.NewCounter("kernel "+offer.Release, sourceFiles, b.path(logFile), b.progress)
	if err != nil {
		return failed(err)
	}
	if err := b.make(ctx, c, c.Jobs(), "bzImage", "modules"); err != nil {
		return failed(err)
	}
	if err := os.RemoveAll(b.path(made)); err != nil {
		return failed(err)
	}
	depmod, err := command.Look("depmod")
	if err != nil {
		return failed(err)
	}
	if err := b.make(ctx, nil, "INSTALL_MOD_PATH="+b.path(made), "INSTALL_MOD_STRIP=1", "DEPMOD="+depmod, "modules_install"); err != nil {
		return failed(err)
	}
	offer.Made.Seconds, offer.Made.Processor = time.Since(b.began).Seconds(), b.processor
	k, err := offer.Keep(ctx, b.path(made), filepath.Join(b.path(outDir), "arch/x86/boot/bzImage"))
	if err != nil {
		return failed(err)
	}
	return k, os.RemoveAll(b.dir)
}

// configure makes the kernel's configuration, and says what the kernel will be.
func (b *building) configure(ctx context.Context) (lab.Offer, error) {
	b.progress("configuring Linux " + b.version)
	config := b.path("wanted.config")
	if err := os.WriteFile(config, []byte(b.wanted()), 0o644); err != nil {
		return lab.Offer{}, err
	}
	if err := b.make(ctx, nil, "KCONFIG_ALLCONFIG="+config, "allnoconfig"); err != nil {
		return lab.Offer{}, err
	}
	got, err := os.ReadFile(filepath.Join(b.path(outDir), ".config"))
	if err != nil {
		return lab.Offer{}, err
	}
	if err := b.compare(string(got), b.progress); err != nil {
		return lab.Offer{}, err
	}
	var release strings.Builder
	if err := b.make(ctx, &release, "--silent", "kernelrelease"); err != nil {
		return lab.Offer{}, err
	}
	compiler := lab.CompilerOf(string(got))
	if compiler == "" { // before Linux 4.18
		r, err := command.Run(ctx, command.Options{}, "gcc", "--version")
		if err != nil {
			return lab.Offer{}, err
		}
		compiler, _, _ = strings.Cut(r.Stdout, "\n")
	}
	return lab.Offer{
		Release: lastLine(release.String()), Version: b.version, Arch: lab.Native().GOARCH,
		Made: &lab.Made{Source: b.tree.dir, Digest: b.digest(), Compiler: compiler, Built: b.began.UTC()},
	}, nil
}

// lastLine is what make kernelrelease prints after what it says about itself.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
