package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/sys/command"
)

// Under returns the image with another kernel, and the path of an image of that kernel's modules, which the
// root image lacks. Both are kept with the kernel. Kernels before Linux 5.4 have no EROFS: for them, both images
// are SquashFS.
func (i Image) Under(ctx context.Context, k Kernel, progress func(string)) (with Image, modules string, err error) {
	if progress == nil {
		progress = func(string) {}
	}
	failed := func(err error) (Image, string, error) {
		return Image{}, "", fmt.Errorf("kernel %s: %w", k.Release, err)
	}
	_, unlock, err := kernelsLocked(ctx, progress)
	if err != nil {
		return Image{}, "", err
	}
	defer unlock()
	wanted, err := k.guestModules()
	if err != nil {
		return failed(err)
	}
	with = i
	with.Dir, with.Kernel, with.Manifest.Kernel = k.Root, k.File, k.Release
	if with.Manifest.Modules, err = BootModules(wanted, k.modules(), k.Root); err != nil {
		return failed(err)
	}
	write, suffix := MakeErofs, ".erofs"
	if slices.Contains(wanted, squashfs) {
		write, suffix = makeSquashfs, "."+squashfs
		if with.Root, err = i.squashed(ctx, progress); err != nil {
			return failed(err)
		}
	}
	modules = filepath.Join(k.Root, "modules"+suffix)
	if err := once(ctx, modules, func(at string) error { return write(ctx, k.modules(), at) }); err != nil {
		return failed(err)
	}
	return with, modules, nil
}

// once makes a file, unless it exists; it is complete or absent.
func once(ctx context.Context, path string, write func(at string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	dir, name := filepath.Split(path)
	unfinished := filepath.Join(dir, UnfinishedPrefix+name)
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := write(unfinished); err != nil {
		return err
	}
	if err := Sync(dir); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

const squashfs = "squashfs"

// squashed is the root image as SquashFS, which is made when it is first needed and kept with it.
func (i Image) squashed(ctx context.Context, progress func(string)) (string, error) {
	path := strings.TrimSuffix(i.Root, ".erofs") + "." + squashfs
	return path, once(ctx, path, func(at string) error {
		progress("making the root image for kernels without EROFS")
		tree := at + ".tree"
		defer os.RemoveAll(tree)
		if _, err := command.Run(ctx, command.Options{}, "fsck.erofs", "--extract="+tree, "--preserve-perms", "--no-preserve-owner", i.Root); err != nil {
			return err
		}
		return makeSquashfs(ctx, tree, at)
	})
}

// makeSquashfs makes a read-only image of a tree, not compressed either.
func makeSquashfs(ctx context.Context, tree, image string) error {
	if _, err := command.Look("mksquashfs"); err != nil {
		return fmt.Errorf("it has no EROFS, and images of another kind need mksquashfs: sudo apt-get install squashfs-tools")
	}
	_, err := command.Run(ctx, command.Options{}, "mksquashfs", tree, image, "-all-root", "-noappend", "-no-progress", "-noI", "-noD", "-noF", "-noX")
	return err
}

// guestModules are those that the boot archive of the lab's guests needs. Checksums are in the kernel's
// library since Linux 6.14.
func (k Kernel) guestModules() ([]string, error) {
	depends, builtin, err := moduleLists(k.modules())
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		_, own := builtin[name]
		return own || depends[name] != nil
	}
	wanted := slices.DeleteFunc(current(k.arch()).Boot, func(name string) bool { return strings.HasPrefix(name, "crc32c") && !has(name) })
	if at := slices.Index(wanted, "erofs"); !has("erofs") && has(squashfs) {
		wanted[at] = squashfs
	}
	return wanted, nil
}
