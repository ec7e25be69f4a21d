package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func calls(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestBuild(t *testing.T) {
	dir := stage(t)
	if _, err := Locate(Native()); !errors.Is(err, ErrNotBuilt) {
		t.Fatalf("Locate before the build: %v", err)
	}
	var said []string
	img, err := Build(t.Context(), Native(), func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	m := img.Manifest
	if m.Kernel != "6.1.0-1-amd64" || m.Packages["libkmod2"] != "30+20221128-1" || m.Digest != current(Native()).digest() {
		t.Errorf("manifest: %+v", m)
	}
	var stages []string
	sum := 0.0
	for _, s := range m.Stages {
		stages, sum = append(stages, s.Name), sum+s.Seconds
	}
	if want := []string{"fetch packages", "unpack", "modules", "kernel", "root image"}; !slices.Equal(stages, want) || sum > m.Seconds {
		t.Errorf("stages %v of %g s, want %v", m.Stages, m.Seconds, want)
	}
	if after, ok := m.AfterFetch(); !ok || after != m.Seconds-m.Stages[0].Seconds {
		t.Errorf("after the fetch: %g, %v", after, ok)
	}
	if _, ok := (Manifest{Seconds: 1}).AfterFetch(); ok {
		t.Error("an old image claims to know stages")
	}
	want := []string{"virtio.ko", "virtio_pci.ko", "virtio_blk.ko", "virtio_console.ko", "libcrc32c.ko", "erofs.ko", "overlay.ko"}
	if !slices.Equal(m.Modules, want) {
		t.Errorf("modules %v, want %v", m.Modules, want)
	}
	if root, _ := os.ReadFile(img.Root); !strings.Contains(string(root), "etc lib mnt proc root run sys tmp usr var") || m.RootSize != int64(len(root)) {
		t.Errorf("root image of %d bytes: %s", m.RootSize, root)
	}
	if kernel, _ := os.ReadFile(img.Kernel); !strings.HasPrefix(string(kernel), "\x7fELF") {
		t.Error("the kernel is not an ELF file")
	}
	if !slices.Contains(said, "fetching 153 MB of packages") {
		t.Errorf("progress: %q", said)
	}
	if argv := calls(t, dir)[0]; !strings.Contains(argv, `--aptopt=Acquire::http::Proxy "http://proxy:3142";`) {
		t.Errorf("the host's proxy is not passed on: %q", argv)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(img.Dir), "[^.]*"))
	inside, _ := filepath.Glob(filepath.Join(img.Dir, "*"))
	if len(left) != 1 || len(inside) != 4 {
		t.Errorf("left behind: %v with %v", left, inside)
	}
	again, err := Build(t.Context(), Native(), nil)
	if err != nil || again.Dir != img.Dir || len(calls(t, dir)) != 1 {
		t.Errorf("a second build does not use the first: %v, %d calls", err, len(calls(t, dir)))
	}
	if _, err := Rebuild(t.Context(), Native(), nil); err != nil || len(calls(t, dir)) != 2 {
		t.Errorf("rebuild: %v, %d calls", err, len(calls(t, dir)))
	}
	freed, err := Clean()
	if err != nil || freed <= 0 {
		t.Errorf("clean freed %d: %v", freed, err)
	}
	if _, err := Locate(Native()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("Locate after clean: %v", err)
	}
}

func TestBuildTriesAgain(t *testing.T) {
	for _, c := range []struct {
		failures int
		calls    int
	}{
		{failures: 2, calls: 3},
		{failures: attempts, calls: attempts},
	} {
		dir := stage(t)
		if err := os.WriteFile(filepath.Join(dir, "fail"), make([]byte, c.failures), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Build(t.Context(), Native(), nil)
		got := calls(t, dir)
		if len(got) != c.calls {
			t.Errorf("%d failures: %d attempts, want %d", c.failures, len(got), c.calls)
		}
		if c.failures < attempts {
			if err != nil {
				t.Errorf("%d failures: %v", c.failures, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "Mirror sync") {
			t.Errorf("%d failures: error %v", c.failures, err)
		}
		if left, _ := filepath.Glob(filepath.Join(os.Getenv("WHICHFS_CACHE"), "lab/[^.]*")); len(left) != 0 {
			t.Errorf("a failed build leaves %v", left)
		}
	}
}

func TestBuildIsInterrupted(t *testing.T) {
	dir := stage(t)
	if err := os.WriteFile(filepath.Join(dir, "hang"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "hanging")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Build(ctx, Native(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("WHICHFS_CACHE"), "lab/[^.]*")); len(left) != 0 {
		t.Errorf("an interrupted build leaves %v", left)
	}
}

func TestConcurrentBuildsShareTheImage(t *testing.T) {
	dir := stage(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := Build(t.Context(), Native(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(calls(t, dir)); n != 1 {
		t.Errorf("%d builds for one image", n)
	}
}

func TestIncompleteImageIsNotBuilt(t *testing.T) {
	stage(t)
	img, err := Build(t.Context(), Native(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(img.Root); err != nil {
		t.Fatal(err)
	}
	if _, err := Locate(Native()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("Locate: %v", err)
	}
	if _, err := Build(t.Context(), Native(), nil); err != nil {
		t.Errorf("it is not built again: %v", err)
	}
}

func TestMissingNamesPackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Missing(Native())
	if err == nil || !strings.Contains(err.Error(), "apt-get install") || !strings.Contains(err.Error(), "mmdebstrap") {
		t.Errorf("error %v", err)
	}
}
