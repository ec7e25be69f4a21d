package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostMirrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  mirrors
	}{
		"nothing": {nil, mirrors{defaultMirror, defaultSecurity}},
		"one line": {map[string]string{"sources.list": "# deb http://old/debian bookworm main\n" +
			"deb-src http://src/debian bookworm main\n" +
			"deb [arch=amd64 signed-by=/k.gpg] http://near/debian bookworm main contrib # comment\n" +
			"deb http://near/security bookworm-security main\n"}, mirrors{"http://near/debian", "http://near/security"}},
		"stanzas": {map[string]string{"sources.list.d/debian.sources": "Types: deb\n# snapshot\nURIs: https://a/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n" +
			"Types: deb\nURIs: https://a/security\nSuites:\n bookworm-security\nComponents: main\n"}, mirrors{"https://a/debian", "https://a/security"}},
		"another release": {map[string]string{"sources.list": "deb http://near/debian trixie main\n"}, mirrors{defaultMirror, defaultSecurity}},
		"disabled": {map[string]string{"sources.list.d/a.sources": "Enabled: no\nTypes: deb\nURIs: http://off/debian\nSuites: bookworm\nComponents: main\n"},
			mirrors{defaultMirror, defaultSecurity}},
		"media and others": {map[string]string{"sources.list": "deb cdrom:[Debian]/ bookworm main\ndeb http://x/y bookworm contrib\n",
			"sources.list.d/notes.txt": "deb http://txt/debian bookworm main\n"}, mirrors{defaultMirror, defaultSecurity}},
	} {
		etc := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(etc, "apt", file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := hostMirrors(etc, "bookworm"); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWantedOptions(t *testing.T) {
	got := wantedOptions("APT::Architecture \"amd64\";\nAcquire::http::Proxy \"http://p:3142\";\nAcquire::http::Proxy::host \"DIRECT\";\n" +
		"Acquire::Check-Date \"false\";\nAcquire::Languages \"de\";\nAcquire::http::Empty \"\";\nDPkg::Pre-Invoke:: \"rm x\";\n")
	want := []string{`Acquire::http::Proxy "http://p:3142";`, `Acquire::http::Proxy::host "DIRECT";`, `Acquire::Check-Date "false";`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFollow(t *testing.T) {
	var said []string
	got := follow(strings.NewReader("I: running apt-get update...\n"+
		"Get:1 http://deb.debian.org/debian bookworm InRelease [151 kB]\n"+
		"Get:5 http://deb.debian.org/debian bookworm/main amd64 Packages [8790 kB]\n"+
		"Get:6 http://deb.debian.org/debian bookworm/main amd64 Packages [8790 kB] [6 Packages 8790 kB]\n"+
		"Need to get 6464 kB of archives.\n"+
		"Get:9 http://deb.debian.org/debian bookworm/main amd64 busybox-static amd64 1:1.35.0-4+deb12u1+b1 [928 kB]\n"+
		"I: extracting archives...\nI: creating tarball...\n"), func(s string) { said = append(said, s) })
	if d := cmp.Diff(map[string]string{"busybox-static": "1:1.35.0-4+deb12u1+b1"}, got); d != "" {
		t.Error(d)
	}
	want := []string{"fetching 6464 kB of packages", "unpacking the packages", "writing the root filesystem"}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
}

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
		t.Error("a module that is not there is no error")
	}
	if _, err := parseDep(strings.NewReader("no colon here\n")); err == nil {
		t.Error("nonsense is no error")
	}
}

func FuzzAptSources(f *testing.F) {
	f.Add("deb [arch=amd64] http://a/debian bookworm main\n")
	f.Add("Types: deb\nURIs: http://a\n b\nSuites: x\n\n\nTypes:\n")
	f.Add("deb [")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range append(oneLine(text), deb822(text)...) {
			if !usableURI(e.uri) {
				t.Errorf("%q gives %q", text, e.uri)
			}
		}
	})
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
	img, err := Build(t.Context(), nil)
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
		t.Error("a missing agent is no error")
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
