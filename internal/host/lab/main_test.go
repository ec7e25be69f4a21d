package lab

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"whichfs/internal/testing/players"
)

func TestMain(m *testing.M) { cast.Main(m) }

// cast plays the programs that a build runs.
var cast = players.Players{
	"mmdebstrap":         playMmdebstrap,
	"mkfs.erofs":         playMkfs,
	"depmod":             playDepmod,
	"qemu-system-x86_64": func(string) int { return 0 },
	"qemu-system-arm":    func(string) int { return 0 },
	"apt-get":            playAptGet,
	"apt-cache":          playAptCache,
	"dpkg-deb":           playDpkgDeb,
	"fsck.erofs":         playFsck,
	"mksquashfs":         playMksquashfs,
	"apt-config":         func(string) int { fmt.Print("Acquire::http::Proxy \"http://proxy:3142\";\n"); return 0 },
}

// stage puts the players on PATH, sets an empty cache, and returns the
// directory that controls them.
func stage(t *testing.T) string {
	t.Helper()
	dir, bin := cast.Stage(t)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	before := retryPause
	retryPause = 0
	t.Cleanup(func() { retryPause = before })
	return dir
}

// playMksquashfs writes the names at the top of a tree.
func playMksquashfs(string) int {
	entries, err := os.ReadDir(os.Args[1])
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || os.WriteFile(os.Args[2], []byte("squashfs of "+strings.Join(names, " ")), 0o644) != nil {
		return 1
	}
	return 0
}

// playMmdebstrap records its arguments, fails as many times as the file "fail"
// has bytes, and then writes a root filesystem.
func playMmdebstrap(dir string) int {
	log, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 9
	}
	fmt.Fprintln(log, strings.Join(os.Args[1:], "\x00"))
	_ = log.Close()
	if left, _ := os.ReadFile(filepath.Join(dir, "fail")); len(left) > 0 {
		_ = os.WriteFile(filepath.Join(dir, "fail"), left[1:], 0o644)
		fmt.Fprintln(os.Stderr, "E: File has unexpected size (1 != 2). Mirror sync in progress?")
		return 1
	}
	if _, err := os.Stat(filepath.Join(dir, "hang")); err == nil {
		_ = os.WriteFile(filepath.Join(dir, "hanging"), nil, 0o644)
		_, _ = io.Copy(io.Discard, neverEnding{})
	}
	fmt.Fprintln(os.Stderr, "Need to get 153 MB of archives.")
	fmt.Fprintln(os.Stderr, "Get:7 http://deb.debian.org/debian bookworm/main amd64 libkmod2 amd64 30+20221128-1 [57.9 kB]")
	fmt.Fprintln(os.Stderr, "I: extracting archives...")
	w := tar.NewWriter(os.Stdout)
	release, image := "6.1.0-1-amd64", string(bzImage("xz", elfWithNote("Xen\x00", 18)))
	if slices.Contains(os.Args, "--architectures=armhf") {
		release, image = "6.1.0-1-armmp", "a kernel that unpacks itself"
	}
	for _, f := range []struct{ name, text string }{
		{"./boot/vmlinuz-" + release, image},
		{"./lib/modules/" + release + "/modules.builtin", "kernel/lib/crc32c_generic.ko\nkernel/arch/x86/crypto/crc32c-intel.ko\n"},
		{"./lib/modules/" + release + "/kernel/fs/erofs.ko", "erofs"},
		{"./lib/modules/" + release + "/kernel/lib/libcrc32c.ko", "crc"},
		{"./lib/modules/" + release + "/kernel/virtio.ko", "virtio"},
		{"./lib/modules/" + release + "/kernel/sound/loud.ko", "loud"},
		{"./usr/bin/mawk", "awk"},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.text))}); err != nil {
			return 9
		}
		_, _ = io.WriteString(w, f.text)
	}
	if w.Close() != nil {
		return 9
	}
	return 0
}

type neverEnding struct{}

func (neverEnding) Read([]byte) (int, error) { select {} }

func playDepmod(string) int {
	tree, kernel := os.Args[2], os.Args[3]
	base := filepath.Join(tree, "lib/modules", kernel)
	if _, err := os.Stat(filepath.Join(base, "kernel/sound")); err == nil {
		fmt.Fprintln(os.Stderr, "the tree was not trimmed")
		return 1
	}
	var text bytes.Buffer
	text.WriteString("kernel/lib/libcrc32c.ko:\nkernel/fs/erofs.ko: kernel/lib/libcrc32c.ko\nkernel/virtio.ko:\n")
	for _, m := range []string{"virtio_pci", "virtio_blk", "virtio_console", "overlay"} {
		fmt.Fprintf(&text, "kernel/%s.ko: kernel/virtio.ko\n", m)
		_ = os.WriteFile(filepath.Join(base, "kernel", m+".ko"), []byte(m), 0o644)
	}
	if os.WriteFile(filepath.Join(base, "modules.dep"), text.Bytes(), 0o644) != nil {
		return 1
	}
	return 0
}

// playMkfs writes the names of the tree's entries as the image.
func playMkfs(string) int {
	image, tree := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	entries, err := os.ReadDir(tree)
	if err != nil {
		return 1
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if os.WriteFile(image, []byte(strings.Join(names, " ")), 0o644) != nil {
		return 1
	}
	return 0
}
