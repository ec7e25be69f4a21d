package virtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/steps"
	"whichfs/internal/sys/whole"
)

// Requirements lists what building the kernel needs on this host.
func Requirements() []lab.Requirement {
	const without = "no kernel of the virtual lab can be compiled"
	return []lab.Requirement{
		{Program: "gcc", Package: "gcc", Without: without},
		{Program: "/usr/include/stdio.h", Package: "libc6-dev", Without: without},
		{Program: "make", Package: "make", Without: without},
		{Program: "flex", Package: "flex", Without: without},
		{Program: "bison", Package: "bison", Without: without},
		{Program: "bc", Package: "bc", Without: without},
		{Program: "patch", Package: "patch", Without: without},
		{Program: "apt-get", Package: "apt", Without: "the kernel's source cannot be fetched"},
		{Program: "dpkg-deb", Package: "dpkg", Without: "the kernel's source cannot be unpacked"},
		{Program: "xz", Package: "xz-utils", Without: "the kernel's source cannot be unpacked"},
		{Program: "depmod", Package: "kmod", Without: "guests find no kernel modules"},
		{Program: "mkfs.erofs", Package: "erofs-utils", Without: "no image of kernel modules can be made"},
	}
}

// Missing returns nil if all requirements are met, and otherwise an error that
// names what is missing and the command that installs it.
func Missing() error { return lab.Unmet("the virtual lab", Requirements()) }

// Build makes a kernel of the current recipe, or returns the existing one. It writes only to the cache
// directory, runs as any user, and leaves a complete kernel or none. A build
// that was killed or failed continues where it was; a concurrent build waits
// for the first and uses its result. progress, which may be nil, receives one
// line per step.
func Build(ctx context.Context, which Choice, progress func(string)) (Kernel, error) {
	return build(ctx, which, progress, false)
}

// Rebuild makes the kernel again, even if it exists. The old one stays until
// the new one is complete.
func Rebuild(ctx context.Context, which Choice, progress func(string)) (Kernel, error) {
	return build(ctx, which, progress, true)
}

func build(ctx context.Context, which Choice, progress func(string), again bool) (Kernel, error) {
	if progress == nil {
		progress = func(string) {}
	}
	if runtime.GOARCH != "amd64" {
		return Kernel{}, fmt.Errorf("the virtual lab runs on amd64 hosts only; this one is %s", runtime.GOARCH)
	}
	r, err := recipeFor(which)
	if err != nil {
		return Kernel{}, err
	}
	if k, err := Locate(which); err == nil && !again {
		return k, nil // a build of another kernel does not matter
	}
	home, unlock, err := lab.Locked(ctx, folder, progress)
	if err != nil {
		return Kernel{}, err
	}
	defer unlock()
	if k, err := r.open(home); !again && !errors.Is(err, ErrNotBuilt) {
		return k, err
	}
	if err := Missing(); err != nil {
		return Kernel{}, err
	}
	work := steps.Of(r.command())
	b := building{recipe: r, dir: filepath.Join(home, lab.UnfinishedPrefix+r.digest()), progress: work.Saying(progress)}
	if err := b.start(ctx); err != nil {
		return Kernel{}, fmt.Errorf("virtual lab: %w", err)
	}
	defer b.busy.Close()
	continued := len(b.Stages) > 0
	if err := b.run(ctx); err != nil {
		if ctx.Err() != nil {
			progress("the build is interrupted; the same command continues it")
			return Kernel{}, context.Cause(ctx)
		}
		return Kernel{}, fmt.Errorf("virtual lab: %w", err)
	}
	if err := b.finish(filepath.Join(home, r.digest())); err != nil {
		return Kernel{}, fmt.Errorf("virtual lab: %w", err)
	}
	if !continued {
		work.End()
	}
	return r.open(home)
}

// building is a build. Its directory outlives it until the kernel is complete.
type building struct {
	recipe   recipe
	dir      string
	progress func(string)
	busy     *os.File // see lab.Busy
	sofar
}

// sofar is what an unfinished build has done, in a file of this name. Its stages
// are complete, and what they made is durable.
type sofar struct {
	Manifest
	// Partial is the time in seconds spent on stages that did not end.
	Partial map[string]float64 `json:"partial"`
}

func (b *building) path(name string) string { return filepath.Join(b.dir, name) }

// What a build's directory contains.
const (
	sofarFile  = "sofar.json"
	logFile    = "build.log"
	sourceFile = "source.tar.xz"
	sourceDir  = "source"
	kernelDir  = "kernel" // the result
)

// start takes the directory of an unfinished build, or makes one.
func (b *building) start(ctx context.Context) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	var err error
	if b.busy, err = lab.Busy(ctx, b.dir, b.progress); err != nil {
		return err
	}
	text, err := os.ReadFile(b.path(sofarFile))
	if err == nil {
		err = json.Unmarshal(text, &b.sofar)
	}
	if err == nil && len(b.Stages) > 0 {
		b.progress("continuing the interrupted build of the virtual lab's kernel")
		return nil
	}
	b.sofar = sofar{
		Manifest: Manifest{Digest: b.recipe.digest(), Series: b.recipe.Series, Counting: b.recipe.Counting > 0, Package: b.recipe.Package, Built: time.Now().UTC()},
		Partial:  map[string]float64{},
	}
	return nil
}

// run runs the stages that are still to do.
func (b *building) run(ctx context.Context) error {
	for _, s := range []struct {
		name string
		work func(context.Context) error
	}{
		{"fetch source", b.fetch},
		{"unpack", b.unpack},
		{"configure", b.configure},
		{"compile", b.compile},
		{"modules", b.install},
	} {
		if slices.ContainsFunc(b.Stages, func(done lab.Stage) bool { return done.Name == s.name }) {
			continue
		}
		begun := time.Now()
		err := s.work(ctx)
		took := time.Since(begun).Seconds()
		b.Seconds += took
		b.Partial[s.name] += took
		if err == nil {
			err = lab.Sync(b.dir)
		}
		if err == nil {
			b.Stages = append(b.Stages, lab.Stage{Name: s.name, Seconds: b.Partial[s.name]})
			delete(b.Partial, s.name)
		}
		if failed := b.save(b.path(sofarFile), b.sofar); err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *building) save(path string, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(path, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
}

// finish gives the complete kernel its name and removes everything else.
func (b *building) finish(dir string) error {
	made := at(b.path(kernelDir))
	if err := b.save(made.manifest(), b.Manifest); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // the old one, or its remains
		return err
	}
	if err := os.Rename(made.Dir, dir); err != nil {
		return err
	}
	return os.RemoveAll(b.dir)
}

// install makes the parts of the kernel from what was compiled.
func (b *building) install(ctx context.Context) error {
	b.progress("making the image of the kernel's modules")
	release, err := os.ReadFile(filepath.Join(b.tree(), "include/config/kernel.release"))
	if err != nil {
		return err
	}
	b.Release = strings.TrimSpace(string(release))
	depmod, err := command.Look("depmod")
	if err != nil {
		return err
	}
	stage, made := b.path("install"), at(b.path(kernelDir))
	for _, dir := range []string{stage, made.Dir} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := b.make(ctx, nil, "INSTALL_MOD_PATH="+stage, "INSTALL_MOD_STRIP=1", "DEPMOD="+depmod, "modules_install"); err != nil {
		return err
	}
	modules := filepath.Join(stage, "lib/modules", b.Release)
	if err := tidy(modules); err != nil {
		return err
	}
	if b.Boot, err = lab.BootModules(b.recipe.Boot, modules, made.Dir); err != nil {
		return err
	}
	if err := lab.MakeErofs(ctx, modules, made.Modules); err != nil {
		return err
	}
	if err := b.packHeaders(filepath.Join(made.Dir, headersFile)); err != nil {
		return err
	}
	return copyFile(filepath.Join(b.tree(), "linux"), made.Program)
}

// tidy removes what would make the image differ from one machine to the next:
// links to the source, and permissions that depend on the user's umask.
func tidy(modules string) error {
	for _, link := range []string{"build", "source"} {
		if err := os.Remove(filepath.Join(modules, link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

// copyFile copies a program.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
