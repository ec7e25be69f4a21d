package lab

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/sys/bounded"
)

type entry struct {
	name, text, link string
	kind             byte
	mode             int64
}

func archive(entries ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		_ = w.WriteHeader(&tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode, Size: int64(len(e.text))})
		_, _ = w.Write([]byte(e.text))
	}
	_ = w.Close()
	return b.Bytes()
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	tree, aside := filepath.Join(dir, "tree"), filepath.Join(dir, "kernel")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	text := archive(
		entry{name: "./", kind: tar.TypeDir, mode: 0o755},
		entry{name: "./locked/", kind: tar.TypeDir, mode: 0o500},
		entry{name: "./locked/file", kind: tar.TypeReg, mode: 0o4755, text: "x"},
		entry{name: "./deep/er/file", kind: tar.TypeReg, mode: 0, text: "y"},
		entry{name: "./link", kind: tar.TypeSymlink, link: "/etc/passwd"},
		entry{name: "./hard", kind: tar.TypeLink, link: "./locked/file"},
		entry{name: "./orphan", kind: tar.TypeLink, link: "./unwanted/file"},
		entry{name: "./dev/null", kind: tar.TypeChar},
		entry{name: "./unwanted/file", kind: tar.TypeReg, text: "z"},
		entry{name: "./boot/vmlinuz-6", kind: tar.TypeReg, text: "kernel"},
		entry{name: "./../../escape", kind: tar.TypeReg, text: "contained"},
	)
	drop := func(name string) bool { return strings.HasPrefix(name, "unwanted") || name == "boot" }
	if err := Extract(bytes.NewReader(text), tree, drop, aside); err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = filepath.WalkDir(tree, func(path string, d fs.DirEntry, _ error) error {
		rel, _ := filepath.Rel(tree, path)
		names = append(names, rel)
		return nil
	})
	want := []string{".", "deep", "deep/er", "deep/er/file", "dev", "escape", "hard", "link", "locked", "locked/file"}
	if !slices.Equal(names, want) {
		t.Errorf("tree %v, want %v", names, want)
	}
	if k, _ := os.ReadFile(aside); string(k) != "kernel" {
		t.Errorf("kernel %q", k)
	}
	if info, _ := os.Stat(filepath.Join(tree, "deep/er/file")); info.Mode() != 0o400 {
		t.Errorf("an unreadable file gets mode %v", info.Mode())
	}
	if info, _ := os.Stat(filepath.Join(tree, "locked")); info.Mode().Perm() != 0o700 {
		t.Errorf("an unwritable directory gets mode %v", info.Mode())
	}
}

func TestExtractStaysInside(t *testing.T) {
	outside := t.TempDir()
	tree := t.TempDir()
	text := archive(
		entry{name: "./way", kind: tar.TypeSymlink, link: outside},
		entry{name: "./way/out", kind: tar.TypeReg, text: "x"},
	)
	if err := Extract(bytes.NewReader(text), tree, func(string) bool { return false }, filepath.Join(tree, "k")); err == nil {
		t.Error("no error")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}

// What is added to a tree stays in it, whatever links the tree contains.
func TestFurnishStaysInside(t *testing.T) {
	for name, link := range map[string]string{"a file": "etc/passwd", "a directory": "etc", "a parent": "var", "of modules": "lib/modules/6.1"} {
		outside, tree := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "file"), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"usr/bin", filepath.Dir(link)} {
			if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		target := outside
		if link == "etc/passwd" {
			target = filepath.Join(outside, "file")
		}
		if err := os.Symlink(target, filepath.Join(tree, link)); err != nil {
			t.Fatal(err)
		}
		err := furnish(tree)
		if link == "lib/modules/6.1" {
			_, err = kernelVersion(tree)
		}
		if err == nil {
			t.Errorf("%s that leads out: no error", name)
		}
		left, err := os.ReadDir(outside)
		text, _ := os.ReadFile(filepath.Join(outside, "file"))
		if err != nil || len(left) != 1 || string(text) != "mine" {
			t.Errorf("%s that leads out: written outside: %v, %q, %v", name, left, text, err)
		}
	}
	// Links within the tree are followed, such as /lib to /usr/lib.
	tree := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(tree, "usr/lib/modules/6.1"), 0o755), os.Mkdir(filepath.Join(tree, "usr/bin"), 0o755),
		os.Symlink("usr/lib", filepath.Join(tree, "lib"))); err != nil {
		t.Fatal(err)
	}
	if err := furnish(tree); err != nil {
		t.Error(err)
	}
	if v, err := kernelVersion(tree); v != "6.1" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "etc/hostname")); err != nil || string(text) != "lab\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestExtractIsBounded(t *testing.T) {
	most := mostTree
	defer func() { mostTree = most }()
	mostTree = 4096
	text := archive(entry{name: "./file", kind: tar.TypeReg, text: strings.Repeat("x", 1<<16)})
	err := Extract(bytes.NewReader(text), t.TempDir(), func(string) bool { return false }, filepath.Join(t.TempDir(), "k"))
	if !errors.Is(err, bounded.ErrTooLong) || !strings.Contains(err.Error(), "the archive is too long: more than 4 KiB") {
		t.Error(err)
	}
}

func TestExtractTruncated(t *testing.T) {
	text := archive(entry{name: "./file", kind: tar.TypeReg, text: strings.Repeat("x", 4096)})
	tree := t.TempDir()
	if err := Extract(bytes.NewReader(text[:2048]), tree, func(string) bool { return false }, filepath.Join(tree, "k")); err == nil {
		t.Error("half an archive causes no error")
	}
}

func TestDropped(t *testing.T) {
	r := current(Native())
	for name, want := range map[string]bool{
		"usr/share/doc":                                            true,
		"usr/share/doc/e2fsprogs/copyright":                        true,
		"usr/share/documents":                                      false,
		"lib/modules/6.1.0-56-amd64/kernel/sound/core/snd.ko":      true,
		"lib/modules/6.1.0-56-amd64/kernel/net/core/pktgen.ko":     false,
		"lib/modules/6.1.0-56-amd64/kernel/net/sctp/sctp.ko":       true,
		"lib/modules/6.1.0-56-amd64/kernel/net":                    false,
		"lib/modules/6.1.0-56-amd64/kernel/fs/ext4/ext4.ko":        false,
		"lib/modules/6.1.0-56-amd64/kernel/drivers/mtd/nand/x.ko":  false,
		"lib/modules/6.1.0-56-amd64/kernel/drivers/mmc/host/x.ko":  false,
		"lib/modules/6.1.0-56-amd64/kernel/drivers/gpu/drm/drm.ko": true,
		"usr/lib/x86_64-linux-gnu/gconv/UTF-16.so":                 true,
		"usr/lib/x86_64-linux-gnu/libz.so.1":                       false,
		"usr/bin/perl5.36-x86_64-linux-gnu":                        true,
	} {
		if got := r.dropped(name); got != want {
			t.Errorf("%s: dropped %v", name, got)
		}
	}
}

func TestDigest(t *testing.T) {
	one := current(Native())
	if d := one.digest(); len(d) != 16 || d != current(Native()).digest() {
		t.Errorf("digest %q is not stable", d)
	}
	two := current(Native())
	two.Packages = append(two.Packages[:len(two.Packages):len(two.Packages)], "one-more")
	three := current(Native())
	three.Generation++
	if one.digest() == two.digest() || one.digest() == three.digest() || one.digest() == current(archOf("arm64")).digest() {
		t.Error("different recipes have one digest")
	}
}
