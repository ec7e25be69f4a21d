package memory

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive writes entries as a tar archive that ends in two zero blocks.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		body := h.Uname // contents, for brevity
		h.Uname = ""
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dir(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
}

func file(name, body string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: body, Mode: 0o640}
}

func link(kind byte, name, target string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777}
}

var odd = []tar.Header{
	dir("./"), dir("./etc/"), file("etc/empty", ""), file("./etc/a file\nwith ü", "hello"),
	dir("etc/empty.d"), file("etc/"+strings.Repeat("n", 255), strings.Repeat("x", 70000)),
	link(tar.TypeSymlink, "etc/dangling", "../no/such"), link(tar.TypeLink, "etc/hard", "./etc/empty"),
	link(tar.TypeLink, "hard2", "etc/hard"),
	{Typeflag: tar.TypeReg, Name: "suid", Mode: 0o4755, Uid: 12, Gid: 34, Uname: "s"},
	{Typeflag: tar.TypeDir, Name: "closed", Mode: 0o500}, file("closed/in", "side"),
}

func TestLoadTree(t *testing.T) {
	body := archive(t, odd...)
	// As on a block device, zeros follow.
	padded := append(bytes.Clone(body), make([]byte, 100_000)...)
	tree, err := LoadTree("odd", bytes.NewReader(padded), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // a test
	sum := sha256.Sum256(body)
	if want := hex.EncodeToString(sum[:]); tree.Digest != want {
		t.Errorf("digest %s, want %s", tree.Digest, want)
	}
	if tree.Files != 5 || tree.Bytes != 5+70000+1+4 {
		t.Errorf("%d files, %d bytes", tree.Files, tree.Bytes)
	}
	if len(tree.Entries) != len(odd)-1 {
		t.Fatalf("%d entries", len(tree.Entries))
	}
	e := tree.Entries[2]
	if e.Kind != File || string(e.Path) != "etc/a file\nwith ü\x00" || string(e.Data) != "hello" || e.Mode != 0o640 {
		t.Errorf("%+v", e)
	}
	if e := tree.Entries[5]; e.Kind != Symlink || string(e.Target) != "../no/such\x00" {
		t.Errorf("%+v", e)
	}
	if e := tree.Entries[7]; e.Kind != Hardlink || string(e.Target) != "etc/empty\x00" {
		t.Errorf("a link to a link resolves to the file: %q", e.Target)
	}
	if e := tree.Entries[8]; e.UID != 12 || e.GID != 34 || e.Mode != 0o4755 {
		t.Errorf("%+v", e)
	}
}

func TestLoadTreeRefuses(t *testing.T) {
	long := strings.Repeat("n", 256)
	cases := []struct {
		name    string
		entries []tar.Header
		want    string
	}{
		{"absolute", []tar.Header{file("/etc", "")}, "absolute path"},
		{"dot dot", []tar.Header{file("a/../../b", "")}, "leaves the tree"},
		{"dots inside", []tar.Header{file("a/./b", "")}, "shortest form"},
		{"twice", []tar.Header{file("a", ""), dir("a/")}, "occurs twice"},
		{"orphan", []tar.Header{file("a/b", "")}, "precedes its directory"},
		{"below a file", []tar.Header{file("a", ""), file("a/b", "")}, "not a directory"},
		{"below a link", []tar.Header{link(tar.TypeSymlink, "a", "/"), file("a/b", "")}, "not a directory"},
		{"device", []tar.Header{{Typeflag: tar.TypeBlock, Name: "sda"}}, "unknown entry type"},
		{"fifo", []tar.Header{{Typeflag: tar.TypeFifo, Name: "p"}}, "unknown entry type"},
		{"link to nothing", []tar.Header{link(tar.TypeLink, "a", "b")}, "does not precede"},
		{"link to directory", []tar.Header{dir("b/"), link(tar.TypeLink, "a", "b")}, "a directory"},
		{"link out", []tar.Header{link(tar.TypeLink, "a", "../b")}, "leaves the tree"},
		{"long name", []tar.Header{file(long, "")}, "256 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := archive(t, c.entries...)
			tree, err := LoadTree("t", bytes.NewReader(body), int64(len(body)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("tree %v, error %v; want %q", tree, err, c.want)
			}
		})
	}
}

// An archive truncated anywhere is an error, even between two entries, where
// tar itself sees a proper end.
func TestLoadTreeTruncated(t *testing.T) {
	body := archive(t, odd...)
	for cut := 0; cut < len(body); cut += 256 {
		if _, err := LoadTree("t", bytes.NewReader(body[:cut]), int64(len(body))); err == nil {
			t.Fatalf("cut at %d of %d: no error", cut, len(body))
		}
	}
	for _, size := range []int64{0, -1} {
		if _, err := LoadTree("t", bytes.NewReader(body), size); err == nil {
			t.Errorf("size %d: no error", size)
		}
	}
}

func TestExtract(t *testing.T) {
	body := archive(t, odd...)
	tree, err := LoadTree("odd", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // a test
	top := t.TempDir()
	if err := tree.Extract(top); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(top, "etc/a file\nwith ü")); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if s, err := os.Readlink(filepath.Join(top, "etc/dangling")); err != nil || s != "../no/such" {
		t.Errorf("%q, %v", s, err)
	}
	one, err1 := os.Stat(filepath.Join(top, "etc/empty"))
	two, err2 := os.Stat(filepath.Join(top, "hard2"))
	if err1 != nil || err2 != nil || !os.SameFile(one, two) {
		t.Errorf("the hard link is a separate file: %v, %v", err1, err2)
	}
	if info, err := os.Stat(filepath.Join(top, "suid")); err != nil || info.Mode() != os.ModeSetuid|0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(top, "closed")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// Only root could remove its contents otherwise.
	if err := os.Chmod(filepath.Join(top, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tree.Extract(top); err == nil {
		t.Error("extracting over an existing tree: no error")
	}
}

func FuzzLoadTree(f *testing.F) {
	f.Add(archive(f, odd[:5]...)) // small: shrinking long inputs takes all the time
	f.Add(archive(f, file("/etc", "")))
	f.Add(archive(f, dir("a/"), link(tar.TypeLink, "b", "a/")))
	f.Add([]byte("not a tar archive"))
	f.Fuzz(func(t *testing.T, body []byte) {
		tree, err := LoadTree("f", bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return
		}
		defer tree.Close() //nolint:errcheck // a test
		var sum int64
		for _, e := range tree.Entries {
			p := string(e.Path)
			if !strings.HasSuffix(p, "\x00") || strings.Count(p, "\x00") != 1 || !filepath.IsLocal(p[:len(p)-1]) {
				t.Fatalf("path %q", p)
			}
			sum += int64(len(e.Data))
		}
		if sum != tree.Bytes {
			t.Fatalf("%d bytes in entries, %d in the tree", sum, tree.Bytes)
		}
	})
}

// Another implementation of the same recipe computed the digests.
func TestNewStream(t *testing.T) {
	s, err := NewStream("video", 1, 16)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(s.Data); got != "2cedf8e19516efcd40ad9a1c4bd2d661" {
		t.Errorf("%s", got)
	}
	_ = s.Close()
	if s, err = NewStream("video", 20230622, 100003); err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	if len(s.Data) != 100003 {
		t.Errorf("%d bytes", len(s.Data))
	}
	sum := sha256.Sum256(s.Data)
	if got := hex.EncodeToString(sum[:]); got != "24ca3e00ce23f3250c14e8b601e84551598a3f430ec7a6013c60de01d5ff885c" {
		t.Errorf("%s", got)
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression)
	_, _ = w.Write(s.Data)
	_ = w.Close()
	if packed.Len() < len(s.Data) {
		t.Errorf("compressible: %d of %d bytes", packed.Len(), len(s.Data))
	}
	empty, err := NewStream("none", 1, 0)
	if err != nil || len(empty.Data) != 0 {
		t.Errorf("%v, %v", empty, err)
	}
	if _, err := NewStream("none", 1, -1); err == nil {
		t.Error("a negative size: no error")
	}
}
