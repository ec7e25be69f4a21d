package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
)

// Suite is Debian's, of images and of their kernel.
const Suite = "bookworm"

// recipe determines the contents of an image, except for package versions:
// those are the mirror's current ones at build time, and the manifest records
// them.
type recipe struct {
	// Generation counts changes of the building code that alter the image.
	Generation int
	Arch       string // GOARCH
	Suite      string
	Kernel     string // package
	Packages   []string
	Boot       []string // modules that the boot archive needs
	Drop       []string // see dropped
	Keep       []string
}

// current is the recipe for guests of an architecture.
func current(a Arch) recipe {
	// libcrc32c requests crc32c by name, so that comes first.
	boot := []string{"crc32c_generic"}
	if a.checksums != "" {
		boot = append(boot, a.checksums)
	}
	boot = append(boot, "virtio_pci", "virtio_blk", "virtio_console", "erofs", "overlay")
	return recipe{
		Generation: 2,
		Arch:       a.GOARCH,
		Suite:      Suite,
		Kernel:     a.kernel,
		Packages: set(filesystem.Packages(), []string{
			// tools that measure, simulate and probe
			"fio", "bonnie++", "flashbench", "btrfs-compsize", "dmsetup", "mmc-utils", "kmod", "mount", "sqlite3",
			// The extract variant includes dependencies but no Essential packages.
			"bash", "dash", "coreutils", "util-linux", "findutils", "grep", "sed", "mawk", "gzip", "tar", "xz-utils", "zstd",
			"lz4", "procps", "less", "ncurses-base", "busybox-static",
		}),
		Boot: boot,
		Drop: []string{
			"boot", "dev", "proc", "sys", "run", "tmp", "home", "etc/resolv.conf", "etc/hostname", "etc/apt",
			"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/bash-completion",
			"usr/share/zoneinfo", "usr/share/lintian", "usr/share/bug", "usr/share/pixmaps", "usr/share/icons",
			"usr/share/initramfs-tools", "usr/share/i18n", "usr/share/perl", "usr/share/perl5", "usr/share/python3",
			"usr/lib/*/gconv", "usr/lib/*/perl", "usr/lib/*/perl-base", "usr/lib/python3", "usr/lib/python3.11",
			"usr/lib/systemd", "lib/systemd", "lib/udev", "usr/lib/udev", "usr/share/gcc", "usr/share/gdb",
			"var/cache", "var/lib/apt", "var/lib/dpkg", "var/log",
			"usr/bin/perl*", "usr/bin/python3*", "usr/bin/localedef", "usr/sbin/iconvconfig", "usr/lib/locale",
			"lib/modules/*/kernel/sound", "lib/modules/*/kernel/net/*", "lib/modules/*/kernel/drivers/net/*",
			"lib/modules/*/kernel/drivers/accessibility", "lib/modules/*/kernel/drivers/bluetooth",
			"lib/modules/*/kernel/drivers/comedi", "lib/modules/*/kernel/drivers/edac",
			"lib/modules/*/kernel/drivers/firewire", "lib/modules/*/kernel/drivers/gnss",
			"lib/modules/*/kernel/drivers/gpu", "lib/modules/*/kernel/drivers/hwmon",
			"lib/modules/*/kernel/drivers/iio", "lib/modules/*/kernel/drivers/infiniband",
			"lib/modules/*/kernel/drivers/isdn", "lib/modules/*/kernel/drivers/leds",
			"lib/modules/*/kernel/drivers/media", "lib/modules/*/kernel/drivers/platform",
			"lib/modules/*/kernel/drivers/power", "lib/modules/*/kernel/drivers/staging",
			"lib/modules/*/kernel/drivers/thermal", "lib/modules/*/kernel/drivers/video",
			"lib/modules/*/kernel/drivers/w1", "lib/modules/*/kernel/drivers/watchdog",
		},
		Keep: []string{
			"lib/modules/*/kernel/net/core", "lib/modules/*/kernel/net/9p",
		},
	}
}

// set returns all names of the lists, sorted, each once: the same packages make the same image,
// whoever needs them.
func set(lists ...[]string) []string {
	names := slices.Concat(lists...)
	slices.Sort(names)
	return slices.Compact(names)
}

// digest names the image in the cache.
func (r recipe) digest() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// dropped reports whether a path of the root filesystem is left out of the
// image. A pattern matches the path itself and everything below it; Keep wins.
// Patterns use the classic layout: lib and usr/lib are different.
func (r recipe) dropped(name string) bool {
	return AnyMatch(r.Drop, name) && !AnyMatch(r.Keep, name)
}

// AnyMatch reports whether a pattern matches the path or a directory above it.
func AnyMatch(patterns []string, name string) bool {
	for _, p := range patterns {
		head := name
		if want, have := strings.Count(p, "/"), strings.Count(name, "/"); have > want {
			parts := strings.SplitN(name, "/", want+2)
			head = strings.Join(parts[:want+1], "/")
		}
		if ok, _ := path.Match(p, head); ok {
			return true
		}
	}
	return false
}
