package dirlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/must"
)

// parent is a struct linux_dirent64.
const parent = "\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x18\x00\x04..\x00\x00\x00"

func open(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	must.Do(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// drain takes names until the end or an error.
func drain(l *List) (names []string, err error) {
	for {
		name, kind, err := l.Next()
		if name == nil {
			return names, err
		}
		names = append(names, fmt.Sprint(string(name[:len(name)-1]), " ", kind))
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	want := []string{fmt.Sprint("d ", unix.DT_DIR), fmt.Sprint(".hidden ", unix.DT_REG)}
	must.Do(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o600))
	for i := range 1000 { // more than one system call
		name := fmt.Sprintf("%0100d", i)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		want = append(want, fmt.Sprint(name, " ", unix.DT_REG))
	}
	f := open(t, dir)
	l := Of(int(f.Fd()), make([]byte, Buffer))
	names, err := drain(&l)
	slices.Sort(names)
	slices.Sort(want)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%d names, %v", len(names), err)
	}
	// It goes on where the directory is: at its end, or again from the beginning.
	if names, err := drain(&l); len(names) != 0 || err != nil {
		t.Errorf("after the end: %d names, %v", len(names), err)
	}
	_, err = f.Seek(0, io.SeekStart)
	must.Do(t, err)
	if names, err := drain(&l); len(names) != len(want) || err != nil {
		t.Errorf("again: %d names, %v", len(names), err)
	}
	l = Of(int(open(t, t.TempDir()).Fd()), make([]byte, Buffer))
	if names, err := drain(&l); len(names) != 0 || err != nil {
		t.Errorf("an empty directory: %q, %v", names, err)
	}
	l = Of(-1, make([]byte, Buffer))
	if _, err := drain(&l); !errors.Is(err, unix.EBADF) {
		t.Error(err)
	}
}

// A damaged directory has an end.
func TestDamaged(t *testing.T) {
	defer func(was func(int, []byte) (int, unix.Errno)) { Getdents = was }(Getdents)
	for gives, want := range map[string]error{
		parent:         ErrEndless, // as JFS, whose root directory has lost a page: the same at each call
		parent + "abc": ErrBroken,
		"":             nil,
	} {
		calls := 0
		Getdents = func(_ int, buf []byte) (int, unix.Errno) {
			if calls++; calls > 100 {
				t.Fatal("it goes on")
			}
			return copy(buf, gives), 0
		}
		l := Of(-1, make([]byte, Buffer))
		if names, err := drain(&l); len(names) != 0 || err != want {
			t.Errorf("%q: %q, %v", gives, names, err)
		}
	}
}

func TestListAllocatesNothing(t *testing.T) {
	f := open(t, ".")
	buf := make([]byte, Buffer)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = f.Seek(0, io.SeekStart)
		l := Of(int(f.Fd()), buf)
		for {
			if name, _, err := l.Next(); name == nil || err != nil {
				return
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(parent))
	f.Add([]byte("12345678abcdefgh\x18\x00\x08foo\x00\x00"))
	f.Add(make([]byte, 24))
	f.Fuzz(func(t *testing.T, buf []byte) {
		name, _, length := entry(buf)
		if length > len(buf) || length > 0 && (len(name) < 2 || bytes.IndexByte(name, 0) != len(name)-1 || bytes.IndexByte(name, '/') >= 0) {
			t.Fatalf("name %q, length %d of %d", name, length, len(buf))
		}
	})
}
