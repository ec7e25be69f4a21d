package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDir(t *testing.T) {
	for _, c := range []struct{ own, xdg, want string }{
		{"/a", "/b", "/a"},
		{"", "/b", "/b/whichfs"},
		{"", "", "/h/.cache/whichfs"},
	} {
		t.Setenv("WHICHFS_CACHE", c.own)
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", "/h")
		if got, err := Dir(); err != nil || got != c.want {
			t.Errorf("%q %q: %q, %v, want %q", c.own, c.xdg, got, err, c.want)
		}
	}
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "thing")
	say := func(text string) func(*os.File) error {
		return func(f *os.File) error {
			_, err := f.WriteString(text)
			return err
		}
	}
	// What a killed process left does not stay in the file.
	if err := os.WriteFile(path+".partial", []byte("a long rest of an earlier attempt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Publish(path, say("one")); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if err := Publish(path, func(f *os.File) error { _ = say("two")(f); return no }); !errors.Is(err, no) {
		t.Errorf("error %v, want %v", err, no)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one" {
		t.Errorf("after a failed attempt: %q, %v, want the old contents", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	unlock, err := Lock(path, func() { t.Error("waiting for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	waiting, second := make(chan bool), make(chan func())
	go func() {
		u, err := Lock(path, func() { close(waiting) })
		if err != nil {
			t.Error(err)
		}
		second <- u
	}()
	<-waiting
	select {
	case <-second:
		t.Fatal("two hold the lock")
	default:
	}
	unlock()
	(<-second)()
}
