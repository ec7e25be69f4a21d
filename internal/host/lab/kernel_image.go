package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Under returns the image with another kernel, and the path of an EROFS image of that kernel's modules,
// which the root image lacks. Both are kept with the kernel.
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
	modules = filepath.Join(k.Root, "modules.erofs")
	if _, err := os.Stat(modules); err == nil {
		return with, modules, nil
	}
	unfinished := filepath.Join(k.Root, UnfinishedPrefix+"modules")
	if err := os.RemoveAll(unfinished); err != nil {
		return failed(err)
	}
	if err := MakeErofs(ctx, k.modules(), unfinished); err != nil {
		return failed(err)
	}
	if err := Sync(k.Root); err != nil {
		return failed(err)
	}
	if err := os.Rename(unfinished, modules); err != nil {
		return failed(err)
	}
	return with, modules, nil
}

// guestModules are those that the boot archive of the lab's guests needs. Checksums are in the kernel's
// library since Linux 6.14.
func (k Kernel) guestModules() ([]string, error) {
	depends, builtin, err := moduleLists(k.modules())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(current(k.arch()).Boot, func(name string) bool {
		_, own := builtin[name]
		return strings.HasPrefix(name, "crc32c") && depends[name] == nil && !own
	}), nil
}
