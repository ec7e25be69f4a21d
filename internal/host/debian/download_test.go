package debian

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// playApt leaves packages in its working directory, as apt-get does.
func playApt(what string) int {
	settings, err := os.ReadFile(os.Getenv("APT_CONFIG"))
	if err != nil || os.Args[1] != "--quiet" {
		fmt.Fprintln(os.Stderr, "E: no settings:", err)
		return 100
	}
	switch words := os.Args[2:]; {
	case what == "index broken" && words[0] == "update":
		fmt.Fprintln(os.Stderr, "E: Failed to fetch http://x/InRelease 503 Service Unavailable")
		return 100
	case what == "nothing found" && words[0] == "download":
		fmt.Fprintln(os.Stderr, "E: Unable to locate package b")
		return 100
	case words[0] == "download" && what != "nothing left":
		for n, name := range words[1:] {
			name, _, _ = strings.Cut(name, "=")
			fmt.Printf("Get:%d http://mirror/debian bookworm/main amd64 %s all 1:2 [57.9 kB]\n", n+1, name)
			if err := os.WriteFile(name+"_1%3a2_all.deb", append(settings, name...), 0o644); err != nil {
				return 1
			}
		}
	}
	return 0
}

func playDpkg(what string) int {
	if what == "damaged" {
		fmt.Fprintln(os.Stderr, "dpkg-deb: error: not a Debian format archive")
		return 2
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil || os.Args[1] != "--fsys-tarfile" {
		return 1
	}
	fmt.Print(string(text))
	return 0
}

// playing substitutes the test binary for programs.
func playing(t *testing.T, programs ...string) {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if err := os.Symlink(self, filepath.Join(bin, p)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

func TestDownload(t *testing.T) {
	playing(t, "apt-get", "dpkg-deb")
	stop := errors.New("disk full")
	for what, c := range map[string]struct {
		read error
		want string // of the error
	}{
		"all is well":   {nil, ""},
		"reader stops":  {stop, "package a: disk full"},
		"index broken":  {nil, "fetch the packages: apt-get (exit status 100): E: Failed to fetch http://x/InRelease 503 Service Unavailable"},
		"nothing found": {nil, "fetch the packages: apt-get (exit status 100): E: Unable to locate package b"},
		"nothing left":  {nil, "apt-get left 0 files of a"},
		"damaged":       {nil, "package a: dpkg-deb (exit status 2): dpkg-deb: error: not a Debian format archive"},
	} {
		t.Setenv("DEBIAN_TEST", what)
		scratch := filepath.Join(t.TempDir(), "scratch")
		d := Download{Architecture: "amd64", Packages: []string{"a=1:2", "b"}, Sources: []string{"deb x"}, Options: []string{"Opt \"1\";"}, Scratch: scratch}
		var got []string
		versions, err := d.Fetch(t.Context(), func(string) {}, func(name string, r io.Reader) error {
			text, err := io.ReadAll(r)
			if err != nil || c.read != nil {
				return errors.Join(err, c.read)
			}
			if c.want == "" && (!strings.HasSuffix(string(text), name) || !strings.Contains(string(text), "Opt \"1\";\n") || !strings.Contains(string(text), `APT::Architecture "amd64";`)) {
				t.Errorf("%s: package %s holds %q", what, name, text)
			}
			got = append(got, name)
			return nil
		})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
		if c.want == "" && !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: read %v", what, got)
		}
		if left, _ := filepath.Glob(filepath.Join(scratch, "packages", "*")); c.want == "" && len(left) != 0 {
			t.Errorf("%s: left %v", what, left)
		}
		if want := map[string]string{"a": "1:2", "b": "1:2"}; c.want == "" && !maps.Equal(versions, want) {
			t.Errorf("%s: versions %v", what, versions)
		}
		if what == "nothing found" != (err != nil && Absent(err)) {
			t.Errorf("%s: absent: %v", what, err)
		}
		if what == "index broken" && !Transient(err) {
			t.Errorf("%s: not recognised as transient: %v", what, err)
		}
	}
}

func TestDownloadRefusesPath(t *testing.T) {
	d := Download{Packages: []string{"a"}, Scratch: filepath.Join(t.TempDir(), `quote"d`)}
	if _, err := d.Fetch(t.Context(), func(string) {}, nil); err == nil || !strings.Contains(err.Error(), "WHICHFS_CACHE") {
		t.Errorf("error %v", err)
	}
}
