package dataset

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/tree"
	"whichfs/internal/target/memory/memorytest"
	"whichfs/internal/testing/must"
)

var ctx = context.Background()

// weird makes a tree of every kind of file that a user's directory may contain.
func weird(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "a", "empty"), 0o755))
	write := func(name, text string, mode os.FileMode) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
		must.Do(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	write("a-b", "sorts between a and what is in it", 0o644)
	write("a/z", "has another name", 0o640)
	must.Do(t, os.Link(filepath.Join(dir, "a/z"), filepath.Join(dir, "a/b")))
	must.Do(t, os.Link(filepath.Join(dir, "a/z"), filepath.Join(dir, "zz")))
	write("suid", "", 0o755|os.ModeSetuid)
	write("new\nline", "x", 0o600)
	write("latin\xe9", "not UTF-8", 0o644)
	write("grün 雪", "UTF-8", 0o644)
	write(" spaces  ", "", 0o644)
	write(strings.Repeat("n", 255), "long", 0o644)
	deep := strings.Repeat("d", 200) + "/" + strings.Repeat("e", 200)
	must.Do(t, os.MkdirAll(filepath.Join(dir, deep), 0o700))
	write(deep+"/"+strings.Repeat("f", 200), "deep", 0o644)
	must.Do(t, os.Symlink("a/z", filepath.Join(dir, "link")))
	must.Do(t, os.Symlink("/nowhere/"+strings.Repeat("t", 300), filepath.Join(dir, "dangling")))
	must.Do(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	hole, err := os.Create(filepath.Join(dir, "sparse"))
	must.Do(t, err)
	must.Do(t, hole.Truncate(1<<20))
	must.Do(t, hole.Close())
	huge, err := os.Create(filepath.Join(dir, "huge"))
	must.Do(t, err)
	must.Do(t, huge.Truncate(1<<40))
	must.Do(t, huge.Close())
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	socket(t, filepath.Join(dir, "socket"))
	return dir
}

func socket(t testing.TB, path string) {
	t.Helper()
	// The path of a socket's address is short; its directory may not be.
	short := filepath.Join(os.TempDir(), filepath.Base(t.TempDir())+".sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short})
	must.Do(t, err)
	l.SetUnlinkOnClose(false)
	must.Do(t, l.Close())
	must.Do(t, os.Rename(short, path))
}

func pack(t testing.TB, dir string) (tree.Info, []byte) {
	t.Helper()
	var b bytes.Buffer
	info, err := Pack(ctx, dir, &b, Limits{})
	must.Do(t, err)
	return info, b.Bytes()
}

func headers(t testing.TB, archive []byte) (map[string]*tar.Header, []string) {
	t.Helper()
	byName, order := map[string]*tar.Header{}, []string(nil)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return byName, order
		}
		must.Do(t, err)
		byName[h.Name] = h
		order = append(order, strings.TrimSuffix(h.Name, "/"))
	}
}

func TestPackWeirdTree(t *testing.T) {
	dir := weird(t)
	want := map[string]int{"sockets": 1, "fifos": 1, "sparse files longer than 1.00 GiB": 1}
	if os.Geteuid() == 0 {
		must.Do(t, unix.Mknod(filepath.Join(dir, "chr"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
		must.Do(t, unix.Mknod(filepath.Join(dir, "blk"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 200))))
		want["character devices"], want["block devices"] = 1, 1
	}
	info, archive := pack(t, dir)
	if !maps.Equal(info.Skipped, want) {
		t.Errorf("left out %v, want %v", info.Skipped, want)
	}
	found, order := headers(t, archive)
	if !slices.IsSorted(order) {
		t.Errorf("order %q", order)
	}
	for _, name := range []string{"new\nline", "latin\xe9", "grün 雪", " spaces  ", strings.Repeat("n", 255), "a/empty/"} {
		if found[name] == nil {
			t.Errorf("%q is not in the archive", name)
		}
	}
	if h := found["a/b"]; h == nil || h.Typeflag != tar.TypeReg || h.Size != 16 {
		t.Errorf("first name of a file with three: %+v", h)
	}
	for _, name := range []string{"a/z", "zz"} {
		if h := found[name]; h == nil || h.Typeflag != tar.TypeLink || h.Linkname != "a/b" {
			t.Errorf("further name %q: %+v", name, h)
		}
	}
	if h := found["link"]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "a/z" {
		t.Errorf("symbolic link: %+v", h)
	}
	if h := found["sparse"]; h == nil || h.Size != 1<<20 {
		t.Errorf("sparse file: %+v", h)
	}
	if h := found["suid"]; h == nil || h.Mode != 0o4755 || h.Uid != os.Getuid() {
		t.Errorf("set-user-id file: %+v", h)
	}
	for name, h := range found {
		if h.ModTime.Unix() != 0 || h.Uname != "" {
			t.Errorf("%q has time %v or owner %q", name, h.ModTime, h.Uname)
		}
	}
	if info.Archive != int64(len(archive)) || info.Archive%512 != 0 {
		t.Errorf("archive of %d bytes, Info has %d", len(archive), info.Archive)
	}
	tail := archive[len(archive)-1024:]
	if !bytes.Equal(tail, make([]byte, 1024)) {
		t.Error("it does not end with two empty blocks")
	}
	memorytest.Loadable(t, info, archive)
}

// The same tree yields the same archive, whatever its times, its location and
// the order in which it was made.
func TestPackIsCanonical(t *testing.T) {
	one, first := pack(t, weird(t))
	two, second := pack(t, weird(t))
	if one.Digest != two.Digest || !bytes.Equal(first, second) {
		t.Errorf("digests %s and %s of equal trees", one.Digest, two.Digest)
	}
	dir := weird(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "a-b"), []byte("sorts between A and what is in it"), 0o644))
	if three, _ := pack(t, dir); three.Digest == one.Digest {
		t.Error("two different trees have the same digest")
	}
	var again bytes.Buffer
	info, err := Repack(ctx, bytes.NewReader(first), &again, RepackOptions{})
	must.Do(t, err)
	if info.Digest != one.Digest || !bytes.Equal(again.Bytes(), first) {
		t.Error("repacking a canonical archive changes it")
	}
}

func TestPackLimits(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), make([]byte, 600), 0o644))
	}
	must.Do(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "c")))
	if _, err := Pack(ctx, dir, io.Discard, Limits{Contents: 1200}); err != nil {
		t.Errorf("1200 bytes in 1200: %v", err)
	}
	var large *ErrTooLarge
	if _, err := Pack(ctx, dir, io.Discard, Limits{Contents: 1199}); !errors.As(err, &large) || large.Path != "b" {
		t.Errorf("1200 bytes in 1199: %v", err)
	}
}

func TestPackErrors(t *testing.T) {
	if _, err := Pack(ctx, filepath.Join(t.TempDir(), "none"), io.Discard, Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	if _, err := Pack(ctx, file, io.Discard, Limits{}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Pack(gone, weird(t), io.Discard, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
