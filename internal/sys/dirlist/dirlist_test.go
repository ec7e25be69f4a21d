package dirlist_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/dirlist"
	"whichfs/internal/sys/dirlist/dirlisttest"
	"whichfs/internal/testing/must"
)

func open(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	must.Do(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// drain takes names until the end or an error.
func drain(l *dirlist.List) (names []string, err error) {
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
	l := dirlist.Of(int(f.Fd()), make([]byte, dirlist.Buffer))
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
	l = dirlist.Of(int(open(t, t.TempDir()).Fd()), make([]byte, dirlist.Buffer))
	if names, err := drain(&l); len(names) != 0 || err != nil {
		t.Errorf("an empty directory: %q, %v", names, err)
	}
	l = dirlist.Of(-1, make([]byte, dirlist.Buffer))
	if _, err := drain(&l); !errors.Is(err, unix.EBADF) {
		t.Error(err)
	}
}

// A damaged directory has an end.
func TestDamaged(t *testing.T) {
	for gives, want := range map[string]error{
		dirlisttest.Parent:         dirlist.ErrEndless,
		dirlisttest.Parent + "abc": dirlist.ErrBroken,
		"":                         nil,
	} {
		dirlisttest.Gives(t, gives)
		l := dirlist.Of(-1, make([]byte, dirlist.Buffer))
		if names, err := drain(&l); len(names) != 0 || err != want {
			t.Errorf("%q: %q, %v", gives, names, err)
		}
	}
}

func TestListAllocatesNothing(t *testing.T) {
	f := open(t, ".")
	buf := make([]byte, dirlist.Buffer)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = f.Seek(0, io.SeekStart)
		l := dirlist.Of(int(f.Fd()), buf)
		for {
			if name, _, err := l.Next(); name == nil || err != nil {
				return
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
