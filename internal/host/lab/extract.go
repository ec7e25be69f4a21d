package lab

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"whichfs/internal/sys/bounded"
)

// mostTree is the maximum unpacked size of a root filesystem or a kernel
// package, in bytes; those used here have less than half a GiB.
var mostTree int64 = 8 << 30

// Extract unpacks a tar archive as it arrives and skips what drop names, so
// that unwanted files never reach the disk. Nothing can escape dir, whatever
// the archive says. It drops owners (the image gives everything to root) and
// device nodes (the guest has devtmpfs). The file aside receives the kernel
// image in boot, which is not part of the tree.
func Extract(r io.Reader, dir string, drop func(name string) bool, aside string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(bounded.Reader(r, mostTree, "the archive"))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if bootable(name) && h.Typeflag == tar.TypeReg {
			if err := writeFile(aside, archive); err != nil {
				return err
			}
			continue
		}
		if name == "" || drop(name) {
			continue
		}
		if err := place(root, name, h, archive); err != nil {
			return fmt.Errorf("archive: %s: %w", name, err)
		}
	}
}

// bootable reports whether a path of a package is the kernel: below /boot, or beside its modules since Linux 7.3.
func bootable(name string) bool {
	beside, _ := path.Match("usr/lib/modules/*/vmlinuz", name)
	return beside || strings.HasPrefix(name, "boot/vmlinuz-")
}

func place(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	mode := fs.FileMode(h.Mode) & 0o777
	if parent := path.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		// The owner must be able to fill it and, later, to remove it.
		if err := root.MkdirAll(name, mode|0o700); err != nil {
			return err
		}
		return nil
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode|0o400)
		if err != nil {
			return err
		}
		return fill(f, content)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		target := strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
		err := root.Link(target, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // skip links to skipped files
		}
		return err
	}
	return nil
}

func writeFile(name string, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return fill(f, content)
}

// fill writes a file and closes it.
func fill(f *os.File, content io.Reader) error {
	_, err := io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// furnish adds what the extract variant lacks: the accounts that tools look
// up, mount points, and links that maintainer scripts would have made. It does
// not follow links that lead out of the tree.
func furnish(tree string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "mnt", "root", "var/log", "var/lib", "var/tmp", "etc"} {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/passwd":   "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
		"etc/group":    "root:x:0:\ndisk:x:6:\nnogroup:x:65534:\n",
		"etc/hostname": "lab\n",
	} {
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for link, target := range map[string]string{"etc/mtab": "/proc/mounts", "usr/bin/awk": "mawk"} {
		if err := root.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
