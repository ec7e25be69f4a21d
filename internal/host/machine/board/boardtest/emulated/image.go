package emulated

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/host/debian"
	"whichfs/internal/host/lab"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/newc"
)

// first is the board's first program.
//
//go:embed init
var first string

// contents is what boards have of Debian's packages.
var contents = []string{
	"lib/modules/*/modules.*", "lib/modules/*/kernel/crypto", "lib/modules/*/kernel/lib", "lib/modules/*/kernel/arch",
	"lib/modules/*/kernel/fs/*.ko", "lib/modules/*/kernel/fs/nls", "lib/modules/*/kernel/fs/ext4", "lib/modules/*/kernel/fs/jbd2", "lib/modules/*/kernel/fs/fat",
	"lib/modules/*/kernel/fs/exfat", "lib/modules/*/kernel/fs/btrfs", "lib/modules/*/kernel/fs/f2fs", "lib/modules/*/kernel/fs/xfs",
	"lib/modules/*/kernel/fs/nilfs2", "lib/modules/*/kernel/fs/jfs", "lib/modules/*/kernel/fs/squashfs", "lib/modules/*/kernel/fs/erofs",
	"lib/modules/*/kernel/drivers/mmc", "lib/modules/*/kernel/drivers/virtio", "lib/modules/*/kernel/drivers/block/loop.ko",
	"lib/modules/*/kernel/drivers/net/virtio_net.ko", "lib/modules/*/kernel/drivers/net/net_failover.ko", "lib/modules/*/kernel/net/core",
	"bin/busybox", "boot/vmlinux-*",
}

// server is what a board that is reached by ssh has besides.
var server = []string{"usr/sbin/dropbear", "usr/bin/dropbearconvert", "lib/*/ld*", "lib/ld*", "lib64", "lib/*/libc.so*", "lib/*/libcrypt.so*", "lib/*/libz.so*", "usr/lib/*/libtom*", "usr/lib/*/libgmp.so*"}

// maker is what a board has of e2fsprogs, if it has it.
var maker = []string{
	"sbin/mke2fs", "sbin/mkfs.ext?", "sbin/e2fsck", "sbin/fsck.ext?", "etc/mke2fs.conf",
	"lib/*/ld*", "lib/ld*", "lib64", "lib/*/libc.so*", "lib/*/libext2fs.so*", "lib/*/libe2p.so*", "lib/*/libcom_err.so*", "lib/*/libblkid.so*", "lib/*/libuuid.so*",
	"usr/lib/*/libblkid.so*", "usr/lib/*/libuuid.so*",
}

// files are the board's own.
var files = map[string]string{
	"etc/passwd":  "root:x:0:0:root:/root:/bin/sh\n",
	"etc/shadow":  "root:*:19000:0:99999:7:::\n",
	"etc/group":   "root:x:0:\n",
	"etc/shells":  "/bin/sh\n",
	"etc/inittab": "console::respawn:-/bin/sh\n",
	"etc/modules": "virtio_pci virtio_net sdhci_pci mmc_block loop\n",
}

// image is a kernel and what it unpacks when it boots.
type image struct{ kernel, archive string }

// build makes the image of an architecture's boards in the cache, unless it is there. With makes, they can make ext4.
func build(ctx context.Context, board string, makes bool, progress func(string)) (image, error) {
	home, err := cache.Sub("boards")
	if err != nil {
		return image{}, err
	}
	keep, packages := slices.Clone(contents), []string{hardware[board].kernel, "busybox-static"}
	if board == SSH {
		keep, packages = append(keep, server...), append(packages, "dropbear-bin")
	}
	if makes {
		keep, packages = append(keep, maker...), append(packages, "e2fsprogs")
	}
	sum := sha256.Sum256(fmt.Append(nil, lab.Suite, keep, packages, files, first))
	dir := filepath.Join(home, board+"-"+hex.EncodeToString(sum[:8]))
	i := image{filepath.Join(dir, "kernel"), filepath.Join(dir, "archive")}
	unlock, err := cache.LockContext(ctx, dir+".lock", func() { progress("another process is making this board's system: waiting") })
	if err != nil {
		return image{}, err
	}
	defer unlock()
	if _, err := os.Stat(i.archive); err == nil {
		return i, nil
	}
	if err := os.RemoveAll(dir); err != nil { // the remains of one that was killed
		return image{}, err
	}
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return image{}, err
	}
	b := debian.Bootstrap{
		Suite: lab.Suite, Architecture: board, Include: packages, Options: debian.HostOptions(ctx), Scratch: filepath.Join(dir, "scratch"),
		Sources: []string{debian.Source(debian.HostMirror("/etc", lab.Suite), lab.Suite)},
	}
	_, err = b.Fetch(ctx, progress, func(archive io.Reader) error {
		return lab.Extract(archive, tree, func(name string) bool { return !lab.AnyMatch(keep, name) }, i.kernel)
	})
	if err != nil {
		return image{}, err
	}
	if plain, _ := filepath.Glob(filepath.Join(tree, "boot/vmlinux-*")); len(plain) == 1 { // that of PowerPC is not packed
		if err := os.Rename(plain[0], i.kernel); err != nil {
			return image{}, err
		}
	}
	versions, err := filepath.Glob(filepath.Join(tree, "lib/modules/*"))
	if err != nil {
		return image{}, err
	}
	if len(versions) != 1 {
		return image{}, fmt.Errorf("the board's packages have modules of %d kernels, and not of one", len(versions))
	}
	depmod, err := command.Look("depmod")
	if err != nil {
		return image{}, err
	}
	if _, err := command.Run(ctx, command.Options{}, depmod, "-b", tree, filepath.Base(versions[0])); err != nil {
		return image{}, err
	}
	var all newc.Archive
	all.Add("init", 0o100755, []byte(first))
	all.Add("etc", 0o040755, nil)
	for name, text := range files {
		all.Add(name, 0o100644, []byte(text))
	}
	if err := add(&all, tree); err != nil {
		return image{}, err
	}
	if err := os.WriteFile(i.archive+".new", all.Finish(), 0o644); err != nil {
		return image{}, err
	}
	for _, done := range []string{tree, b.Scratch} {
		if err := os.RemoveAll(done); err != nil {
			return image{}, err
		}
	}
	return i, os.Rename(i.archive+".new", i.archive)
}

// add adds a tree.
func add(a *newc.Archive, tree string) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, tree), "/")
		if err != nil || name == "" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := uint32(info.Mode().Perm()); {
		case d.IsDir():
			a.Add(name, 0o040000|mode, nil)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			a.Add(name, 0o120777, []byte(target))
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			a.Add(name, 0o100000|mode, text)
		}
		return nil
	})
}
