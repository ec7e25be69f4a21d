package debian

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHostMirror(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {nil, Default},
		"one line": {map[string]string{"sources.list": "# deb http://old/debian bookworm main\n" +
			"deb-src http://src/debian bookworm main\n" +
			"deb [arch=amd64 signed-by=/k.gpg] http://near/debian bookworm main contrib # comment\n" +
			"deb http://near/security bookworm-security main\n"}, "http://near/debian"},
		"stanzas": {map[string]string{"sources.list.d/debian.sources": "Types: deb\n# snapshot\nURIs: https://a/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n" +
			"Types: deb\nURIs: https://a/security\nSuites:\n bookworm-security\nComponents: main\n"}, "https://a/debian"},
		"another release": {map[string]string{"sources.list": "deb http://near/debian trixie main\n"}, Default},
		"disabled": {map[string]string{"sources.list.d/a.sources": "Enabled: no\nTypes: deb\nURIs: http://off/debian\nSuites: bookworm\nComponents: main\n"},
			Default},
		"media and others": {map[string]string{"sources.list": "deb cdrom:[Debian]/ bookworm main\ndeb http://x/y bookworm contrib\n",
			"sources.list.d/notes.txt": "deb http://txt/debian bookworm main\n"}, Default},
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
		if got := HostMirror(etc, "bookworm"); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
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
