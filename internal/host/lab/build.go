package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/steps"
)

// Build makes the image of the current recipe for an architecture, or returns
// the existing one. It writes only to the cache directory, runs as any user,
// and leaves a complete image or none; a concurrent build waits for the first
// and uses its result. progress, which may be nil, receives one line per step.
func Build(ctx context.Context, a Arch, progress func(string)) (Image, error) {
	return build(ctx, a, progress, false)
}

// Rebuild makes the image again from the mirrors' current packages, even if it
// exists. The old one stays until the new one is complete.
func Rebuild(ctx context.Context, a Arch, progress func(string)) (Image, error) {
	return build(ctx, a, progress, true)
}

func build(ctx context.Context, a Arch, progress func(string), again bool) (Image, error) {
	if progress == nil {
		progress = func(string) {}
	}
	if runtime.GOARCH != "amd64" {
		return Image{}, fmt.Errorf("the lab runs on amd64 hosts only; this one is %s", runtime.GOARCH)
	}
	r := current(a)
	home, err := cache.Sub(folder)
	if err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	dir := filepath.Join(home, r.digest())
	if img, err := open(dir); err == nil && !again {
		return img, nil // another architecture's build does not matter
	}
	unlock, err := cache.LockContext(ctx, filepath.Join(home, lockName), func() { progress("waiting for another build of the lab image") })
	if err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	defer unlock()

	if img, err := open(dir); !again && !errors.Is(err, ErrNotBuilt) {
		return img, err
	}
	if err := Missing(a); err != nil {
		return Image{}, err
	}
	// What a killed build left behind is unused while we hold the lock.
	old, _ := filepath.Glob(filepath.Join(home, UnfinishedPrefix+"*"))
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return Image{}, fmt.Errorf("lab image: %w", err)
		}
	}
	temp, err := os.MkdirTemp(home, UnfinishedPrefix)
	if err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	work := steps.Of("lab image " + r.Arch)
	if err := r.build(ctx, temp, work.Saying(progress)); err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	work.End()
	if err := os.RemoveAll(dir); err != nil { // the old one, or its remains
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	if err := os.Rename(temp, dir); err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	return open(dir)
}

// build makes all parts of an image in dir.
func (r recipe) build(ctx context.Context, dir string, progress func(string)) error {
	begun := time.Now()
	a := archOf(r.Arch)
	tree, packed, scratch := filepath.Join(dir, "tree"), filepath.Join(dir, "packed"), filepath.Join(dir, "scratch")
	stages := stageClock{last: begun}
	packages, err := r.bootstrap(ctx, tree, packed, scratch, func(line string) {
		if line == debian.SaysUnpacking {
			stages.again(stageFetch) // after each attempt: the last one counts
		}
		progress(line)
	})
	if err != nil {
		return err
	}
	stages.end("unpack")
	m := Manifest{
		Digest: r.digest(), Arch: r.Arch, Suite: r.Suite, Built: begun.UTC(),
		Download: time.Since(begun).Seconds(), Packages: packages,
	}
	if m.Kernel, err = kernelVersion(tree); err != nil {
		return err
	}
	progress("kernel " + m.Kernel)
	if err := furnish(tree); err != nil {
		return err
	}
	depmod, err := command.Look("depmod")
	if err != nil {
		return err
	}
	if _, err := command.Run(ctx, command.Options{}, depmod, "-b", tree, m.Kernel); err != nil {
		return err
	}
	if m.Modules, err = BootModules(r.Boot, filepath.Join(tree, "lib/modules", m.Kernel), dir); err != nil {
		return err
	}
	stages.end("modules")
	if err := a.writeKernel(ctx, packed, filepath.Join(dir, a.kernelFile())); err != nil {
		return err
	}
	stages.end("kernel")
	progress("making the root image")
	root := filepath.Join(dir, "root.erofs")
	if err := MakeErofs(ctx, tree, root); err != nil {
		return err
	}
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	m.RootSize = info.Size()
	for _, path := range []string{tree, packed, scratch} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	stages.end("root image")
	m.Stages = stages.list
	m.Seconds = time.Since(begun).Seconds()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return Sync(dir)
}

// stageClock records how long the stages of a build take.
type stageClock struct {
	last time.Time
	list []Stage
}

// end ends the current stage.
func (c *stageClock) end(name string) {
	now := time.Now()
	c.list = append(c.list, Stage{Name: name, Seconds: now.Sub(c.last).Seconds()})
	c.last = now
}

// again ends a stage that may have ended before and was resumed.
func (c *stageClock) again(name string) {
	before := 0.0
	if n := len(c.list); n > 0 && c.list[n-1].Name == name {
		before = c.list[n-1].Seconds
		c.list = c.list[:n-1]
	}
	c.end(name)
	c.list[len(c.list)-1].Seconds += before
}

// MakeErofs makes a read-only image of a tree. It is not compressed: that takes
// a fifth of the time and saves an emulated guest the decompression.
func MakeErofs(ctx context.Context, tree, image string) error {
	_, err := command.Run(ctx, command.Options{}, "mkfs.erofs", "--quiet", "--all-root", "-T0",
		"-Uc0ffee00-0000-4000-8000-000000000001", "-x-1", image, tree)
	return err
}

// kernelVersion is the name of the only directory of kernel modules.
func kernelVersion(tree string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(tree, "lib/modules/*"))
	if err != nil {
		return "", err
	}
	if len(dirs) != 1 {
		return "", fmt.Errorf("the root filesystem has %d kernels instead of one", len(dirs))
	}
	// depmod will write there: it must be in the tree.
	root, err := os.OpenRoot(tree)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name := filepath.Base(dirs[0])
	if _, err := root.Stat(filepath.Join("lib/modules", name)); err != nil {
		return "", fmt.Errorf("the kernel's modules: %w", err)
	}
	return name, nil
}
