package module

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/kmod"
)

// Requirements lists what building a module needs on this host.
func Requirements() []lab.Requirement {
	const without = "no module can be built (whichfs lab module)"
	return []lab.Requirement{
		// Debian's kernels and headers are for this version.
		{Program: compilerProgram, Package: "gcc-12", Without: without},
		{Program: "strip", Package: "binutils", Without: without},
		{Program: "make", Package: "make", Without: without},
		// A program of the kernel's build is linked with it.
		{Program: "/usr/lib/x86_64-linux-gnu/libelf.so.1", Package: "libelf1", Without: without},
		{Program: "apt-get", Package: "apt", Without: "the kernel's headers cannot be fetched"},
		{Program: "dpkg-deb", Package: "dpkg", Without: "the kernel's headers cannot be unpacked"},
	}
}

// compilerProgram is that of Debian 12's kernels (.kernelvariables of the headers).
const compilerProgram = "gcc-12"

// Missing returns nil if all requirements are met, and otherwise an error that names what is missing
// and the command that installs it.
func Missing() error { return lab.Unmet("a module's build", Requirements()) }

// Build builds the module of a name from a user's source, and replaces an older one: for the kernel of
// the lab's image, which is made first if need be, or for one of the virtual lab, if which names it.
// built is false if the same one existed. progress receives one line per step.
func Build(ctx context.Context, name, source string, which *virtual.Choice, progress func(string)) (m Module, built bool, err error) {
	if !plan.IsModuleName(name) {
		return m, false, result.Refuse("for instance "+Kernel{}.command("yaffs2", "DIR"), "%q is no name of a module", name)
	}
	if err := Missing(); err != nil {
		return m, false, err
	}
	if which != nil {
		k, err := virtual.Locate(*which)
		if err != nil {
			return m, false, err
		}
		return buildFor(ctx, onVirtual{k}, name, source, progress)
	}
	image, err := lab.Build(ctx, lab.Native(), progress)
	if err != nil {
		return m, false, err
	}
	return buildFor(ctx, onImage{image}, name, source, progress)
}

// bench is where a kernel's makefiles run.
type bench struct {
	dir                string
	words, environment []string
}

// target is what a module is built for.
type target interface {
	kernel() Kernel
	compiler() string
	// tree is where the source is copied to, and what the makefiles call the place, if the build has
	// the directory temp.
	tree(temp string) (path, name string)
	// bench makes the place where the makefiles run, in temp or the directory of modules.
	bench(ctx context.Context, home, temp string, progress func(string)) (bench, error)
}

type onImage struct{ lab.Image }

func (t onImage) kernel() Kernel   { return KernelOf(t.Image) }
func (t onImage) compiler() string { return compilerProgram }
func (t onImage) tree(temp string) (path, name string) {
	path = filepath.Join(temp, "source")
	return path, path
}

func (t onImage) bench(ctx context.Context, home, _ string, progress func(string)) (bench, error) {
	dir, err := headersOf(ctx, home, t.Image, progress)
	return bench{dir: dir}, err
}

// onVirtual: the source is below the tree, because the assembler of a kernel that counts counts in
// nothing else.
type onVirtual struct{ virtual.Kernel }

func (t onVirtual) kernel() Kernel   { return VirtualOf(t.Kernel) }
func (t onVirtual) compiler() string { return t.Manifest.Compiler }
func (t onVirtual) tree(temp string) (path, name string) {
	return filepath.Join(temp, "kernel", "module"), "module"
}

func (t onVirtual) bench(ctx context.Context, _, temp string, progress func(string)) (bench, error) {
	progress("unpacking the headers of kernel " + t.Manifest.Name())
	b := bench{dir: filepath.Join(temp, "kernel")}
	var err error
	b.words, b.environment, err = t.UnpackHeaders(ctx, b.dir, temp)
	return b, err
}

func buildFor(ctx context.Context, to target, name, source string, progress func(string)) (m Module, built bool, err error) {
	b := building{begun: time.Now(), progress: progress}
	b.Name, b.Kernel, b.Compiler = lab.ModuleName(name), to.kernel(), to.compiler()
	if b.Source, err = filepath.Abs(source); err != nil {
		return m, false, err
	}
	home, unlock, err := lab.Locked(ctx, folder, progress)
	if err != nil {
		return m, false, err
	}
	defer unlock()
	b.log = filepath.Join(home, b.Name+".log")
	dir := filepath.Join(home, b.Name+"@"+cmp.Or(b.Kernel.Virtual, b.Kernel.Release))
	temp := filepath.Join(home, lab.UnfinishedPrefix+b.Name)
	if err := os.RemoveAll(temp); err != nil { // what a killed build left
		return m, false, fmt.Errorf("module %s: %w", b.Name, err)
	}
	defer os.RemoveAll(temp)
	b.made = filepath.Join(temp, "module")
	b.tree, b.called = to.tree(temp)
	if err := b.copySource(); err != nil {
		return m, false, err
	}
	if old, err := open(dir); err == nil && old.Digest == b.Digest {
		return old, false, nil
	}
	at, err := to.bench(ctx, home, temp, progress)
	if err != nil {
		return m, false, err
	}
	if err := b.run(ctx, at); err != nil {
		return m, false, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return m, false, fmt.Errorf("module %s: %w", b.Name, err)
	}
	if err := os.Rename(b.made, dir); err != nil {
		return m, false, fmt.Errorf("module %s: %w", b.Name, err)
	}
	m, err = open(dir)
	return m, true, err
}

// building is a build.
type building struct {
	Manifest
	begun      time.Time
	progress   func(string)
	tree, made string // copy of the source; directory of the result
	called     string // what the makefiles call tree
	log        string // of the kernel's makefiles; it stays
}

// run builds the module in the copy of the source.
func (b *building) run(ctx context.Context, at bench) error {
	jobs := runtime.NumCPU()
	b.progress(fmt.Sprintf("compiling module %s for kernel %s on %s", b.Name, b.Kernel, units.Count(jobs, "processor")))
	log, err := os.Create(b.log)
	if err != nil {
		return fmt.Errorf("module %s: %w", b.Name, err)
	}
	argv := append([]string{"make", "M=" + b.called, fmt.Sprintf("--jobs=%d", jobs),
		// Debug information would be stripped, and a path would differ from one machine to the next.
		"KCFLAGS=-g0 -fmacro-prefix-map=" + b.called + "/="}, at.words...)
	r, err := command.Run(ctx, command.Options{Dir: at.dir, Env: slices.Concat(lab.MakeEnvironment, at.environment), Stdout: log, Stderr: log}, append(argv, "modules")...)
	err = errors.Join(err, log.Close())
	b.Processor = (r.User + r.System).Seconds()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return lab.MakeFailure(err, strings.ReplaceAll(r.Stderr, b.called+"/", ""), "module "+b.Name, "the whole output is in "+b.log)
	}
	file, err := b.product()
	if err != nil {
		return err
	}
	return b.keep(ctx, file)
}

// product finds the module among the files that were made.
func (b *building) product() (string, error) {
	var names []string
	var found string
	err := filepath.WalkDir(b.tree, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ko" {
			return err
		}
		name := lab.ModuleName(path)
		if names = append(names, name); name == b.Name {
			found = path
		}
		return nil
	})
	slices.Sort(names)
	switch {
	case err != nil:
		return "", fmt.Errorf("module %s: %w", b.Name, err)
	case found != "":
		return found, nil
	case len(names) > 0:
		return "", result.Refuse(b.Kernel.command(names[0], b.Source), "the source in %s makes module %s, and not %s", b.Source, strings.Join(names, ", "), b.Name)
	}
	return "", result.Refuse("obj-m += "+b.Name+".o in its Kbuild or Makefile, for instance; the whole output is in "+b.log,
		"the makefile in %s makes no module for this kernel: its obj-m is empty, perhaps because the kernel is configured without the driver", b.Source)
}

// keep puts the module and its description into the directory of the result.
func (b *building) keep(ctx context.Context, file string) error {
	if err := os.Mkdir(b.made, 0o755); err != nil {
		return fmt.Errorf("module %s: %w", b.Name, err)
	}
	m := Module{Dir: b.made, Manifest: b.Manifest}
	if _, err := command.Run(ctx, command.Options{}, "strip", "--strip-debug", "-o", m.File(), file); err != nil {
		return fmt.Errorf("module %s: %w", b.Name, err)
	}
	f, err := kmod.Open(m.File())
	if err != nil {
		return err
	}
	m.Size, m.Built, m.Seconds = f.Size, b.begun.UTC(), time.Since(b.begun).Seconds()
	text, err := json.MarshalIndent(m.Manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.made, manifestFile), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("module %s: %w", b.Name, err)
	}
	return lab.Sync(b.made)
}
