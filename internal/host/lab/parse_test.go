package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInsertionOrder(t *testing.T) {
	depends, err := parseDep(strings.NewReader("kernel/a/virtio-pci.ko: kernel/a/modern.ko kernel/virtio.ko kernel/ring.ko\nkernel/a/modern.ko:\nkernel/virtio.ko: kernel/ring.ko\nkernel/ring.ko:\nkernel/blk.ko.xz: kernel/virtio.ko kernel/ring.ko\n"))
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := parseBuiltin(strings.NewReader("kernel/lib/crc32c-generic.ko\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := insertionOrder([]string{"crc32c_generic", "virtio_pci", "blk"}, depends, builtin)
	want := []string{"kernel/ring.ko", "kernel/virtio.ko", "kernel/a/modern.ko", "kernel/a/virtio-pci.ko", "kernel/blk.ko.xz"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := insertionOrder([]string{"erofs"}, depends, builtin); err == nil {
		t.Error("a missing module causes no error")
	}
	if _, err := parseDep(strings.NewReader("no colon here\n")); err == nil {
		t.Error("nonsense causes no error")
	}
}

func FuzzParseDep(f *testing.F) {
	f.Add("kernel/a.ko: kernel/b.ko\nkernel/b.ko:\n")
	f.Fuzz(func(t *testing.T, text string) {
		depends, err := parseDep(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, files := range depends {
			if len(files) == 0 {
				t.Errorf("module %q without its file", name)
			}
			if _, err := insertionOrder([]string{name}, depends, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBootArchive(t *testing.T) {
	stage(t)
	img, err := Build(t.Context(), Native(), nil)
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("agent!"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := img.BootArchive(agent)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for at := 0; ; {
		h := string(text[at : at+110])
		if h[:6] != "070701" {
			t.Fatalf("no header at %d", at)
		}
		size, nameSize := digits(t, h[54:62]), digits(t, h[94:102])
		name := string(text[at+110 : at+110+nameSize-1])
		if name == "TRAILER!!!" {
			break
		}
		names = append(names, name)
		body := (at + 110 + nameSize + 3) &^ 3
		if name == "init" && (string(text[body:body+size]) != "agent!" || h[14:22] != "000081ed") {
			t.Errorf("init: mode %s, %q", h[14:22], text[body:body+size])
		}
		at = (body + size + 3) &^ 3
	}
	want := []string{"dev", "proc", "sys", "modules", "ro", "rw", "new", "init", "modules/00-virtio.ko", "modules/01-virtio_pci.ko",
		"modules/02-virtio_blk.ko", "modules/03-virtio_console.ko", "modules/04-libcrc32c.ko", "modules/05-erofs.ko", "modules/06-overlay.ko"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if _, err := img.BootArchive(agent + "-missing"); err == nil {
		t.Error("a missing agent causes no error")
	}
}

func digits(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, c := range text {
		n = n*16 + strings.IndexRune("0123456789abcdef", c)
	}
	return n
}
