package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
)

// kernelModules are the parts of the module tree for a root filesystem:
// filesystems, their helpers, and the drivers of guests' disks and cards.
var kernelModules = []string{
	"fs", "lib", "crypto", "arch/*/crypto", "arch/*/lib", "drivers/virtio", "drivers/block", "drivers/mmc", "drivers/char",
	"drivers/misc", "drivers/leds",
}

// keptModule reports whether to keep a path of a kernel package.
func keptModule(name string) bool {
	name = strings.TrimPrefix(name, "usr/")
	var patterns []string
	for _, m := range kernelModules {
		patterns = append(patterns, "lib/modules/*/kernel/"+m)
	}
	if AnyMatch(patterns, name) {
		return true
	}
	dir, file := filepath.Split(name)
	return strings.HasPrefix(file, "modules.") && strings.Count(dir, "/") == 3 && strings.HasPrefix(dir, "lib/modules/")
}

// unpack makes all parts of a kernel in dir.
func (o Offer) unpack(ctx context.Context, image Image, dir string, progress func(string)) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	get := o.fromNetwork
	if o.Own {
		get = func(ctx context.Context, dir string, progress func(string)) error {
			return image.ownKernel(ctx, dir, progress)
		}
	}
	if err := get(ctx, dir, progress); err != nil {
		return err
	}
	return o.complete(ctx, dir)
}

// complete makes the rest of a kernel in dir, which has its modules and what QEMU boots.
func (o Offer) complete(ctx context.Context, dir string) error {
	if err := uncompress(ctx, filepath.Join(dir, "lib/modules", o.Release)); err != nil {
		return err
	}
	depmod, err := command.Look("depmod")
	if err != nil {
		return err
	}
	if _, err := command.Run(ctx, command.Options{}, depmod, "-b", dir, o.Release); err != nil {
		return err
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "kernel.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return Sync(dir)
}

// Keep takes a kernel that was built from a user's source: dir has its modules, in lib/modules, and image is
// its bzImage. The caller holds the lock of Locked.
func (o Offer) Keep(ctx context.Context, dir, image string) (Kernel, error) {
	for _, link := range []string{"build", "source"} { // to where it was built
		if err := os.Remove(filepath.Join(dir, "lib/modules", o.Release, link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Kernel{}, err
		}
	}
	err := o.arch().writeKernel(ctx, image, filepath.Join(dir, o.arch().kernelFile()))
	if errors.Is(err, errNoEntry) { // before Linux 5.0: QEMU starts it as a boot loader does
		err = os.Rename(image, filepath.Join(dir, packedFile))
	}
	if err := errors.Join(err, o.complete(ctx, dir)); err != nil {
		return Kernel{}, err
	}
	home, err := cache.Sub(filepath.Join(folder, kernelsFolder))
	if err != nil {
		return Kernel{}, err
	}
	at := filepath.Join(home, o.dir(Image{}))
	if err := errors.Join(os.RemoveAll(at), os.Rename(dir, at)); err != nil {
		return Kernel{}, err
	}
	return openKernel(at)
}

// fromNetwork fetches the kernel's packages.
func (o Offer) fromNetwork(ctx context.Context, dir string, progress func(string)) error {
	a, err := newApt(ctx, o.arch(), filepath.Dir(dir))
	if err != nil {
		return err
	}
	scratch := filepath.Join(dir, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	progress("fetching kernel " + o.Release)
	wanted := o.packages()
	argv := []string{"apt-get", "download", "--quiet"}
	for _, name := range wanted {
		argv = append(argv, name+"="+o.Version)
	}
	if err := a.run(ctx, command.Options{Dir: scratch}, argv...); err != nil {
		return fmt.Errorf("fetch %s: %w", o.Package, err)
	}
	packages, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil || len(packages) != len(wanted) {
		return fmt.Errorf("fetch %s: received %d packages instead of %d", o.Package, len(packages), len(wanted))
	}
	progress("unpacking kernel " + o.Release)
	packed := filepath.Join(scratch, "vmlinuz")
	for _, name := range packages {
		if err := unpackKernel(ctx, name, dir, packed); err != nil {
			return fmt.Errorf("unpack %s: %w", o.Package, err)
		}
	}
	if err := mergeUsr(dir); err != nil {
		return err
	}
	return o.arch().writeKernel(ctx, packed, filepath.Join(dir, o.arch().kernelFile()))
}

// unpackKernel unpacks a package of a kernel: the modules that are kept to dir, and what is booted to packed.
func unpackKernel(ctx context.Context, name, dir, packed string) error {
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := command.Run(ctx, command.Options{Stdout: w}, "dpkg-deb", "--fsys-tarfile", name)
		w.CloseWithError(err)
		ended <- err
	}()
	err := Extract(r, dir, func(name string) bool { return !keptModule(name) }, packed)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // padding
	}
	_ = r.Close()
	if ran := <-ended; err == nil {
		err = ran
	}
	return err
}

// mergeUsr moves modules to the classic location.
func mergeUsr(dir string) error {
	from := filepath.Join(dir, "usr/lib")
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(from, filepath.Join(dir, "lib")); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, "usr"))
}

// ownKernel takes the image's kernel and its modules.
func (i Image) ownKernel(ctx context.Context, dir string, progress func(string)) error {
	progress("taking kernel " + i.Manifest.Kernel + " from the lab image")
	tree := filepath.Join(dir, "tree")
	if _, err := command.Run(ctx, command.Options{}, "fsck.erofs", "--extract="+tree, "--no-preserve", i.Root); err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err != nil || !keptModule(name) {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(name, "usr/"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.Rename(path, to)
	})
	if err != nil {
		return err
	}
	// The image may be removed before the kernel.
	from, err := os.Open(i.Kernel)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, filepath.Base(i.Kernel)), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return fill(to, from)
}

// uncompress decompresses modules, so that the sizes of all kernels are
// comparable and no kernel has to decompress them while it boots.
func uncompress(ctx context.Context, tree string) error {
	byTool := map[string][]string{}
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		switch {
		case strings.HasSuffix(path, ".ko.xz"):
			byTool["xz"] = append(byTool["xz"], path)
		case strings.HasSuffix(path, ".ko.zst"):
			byTool["zstd"] = append(byTool["zstd"], path)
		case strings.HasSuffix(path, ".ko.gz"):
			byTool["gzip"] = append(byTool["gzip"], path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for tool, files := range byTool {
		argv := []string{tool, "--decompress", "--quiet"}
		if tool == "zstd" {
			argv = append(argv, "--rm")
		}
		if _, err := command.Run(ctx, command.Options{}, append(append(argv, "--"), files...)...); err != nil {
			return fmt.Errorf("unpack modules: %w", err)
		}
	}
	return nil
}
