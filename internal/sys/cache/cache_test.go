package cache

import (
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

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	unlock, err := Lock(path, func() { t.Error("waiting for a free lock") })
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
		t.Fatal("two callers hold the lock")
	default:
	}
	unlock()
	(<-second)()
}
