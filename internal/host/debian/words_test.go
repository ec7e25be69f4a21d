package debian

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/sys/command"
)

func TestTransient(t *testing.T) {
	for text, want := range map[string]bool{
		"E: Failed to fetch http://x  File has unexpected size (1 != 2). Mirror sync in progress?": true,
		"E: Temporary failure resolving 'deb.debian.org'":                                          true,
		"E: Unable to locate package nonesuch":                                                     false,
	} {
		err := &command.Error{Argv: []string{"mmdebstrap"}, Status: 25, Stderr: text + "\nI: removing tempdir\nx\ny\nz"}
		if got := Transient(err); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestComplaint(t *testing.T) {
	err := complaint(&command.Error{Argv: []string{"mmdebstrap"}, Status: 25, Stderr: "I: a\nE: Unable to locate package x\nI: b\nE: mmdebstrap failed to run\n"})
	if want := "mmdebstrap (exit status 25): E: Unable to locate package x"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// Output may arrive in pieces of any size, and without a final newline.
func TestFollower(t *testing.T) {
	text := "I: running apt-get update...\n" +
		"Get:1 http://deb.debian.org/debian bookworm InRelease [151 kB]\n" +
		"Get:5 http://deb.debian.org/debian bookworm/main amd64 Packages [8790 kB]\n" +
		"Get:6 http://deb.debian.org/debian bookworm/main amd64 Packages [8790 kB] [6 Packages 8790 kB]\n" +
		"Need to get 6464 kB of archives.\n" +
		"Get:9 http://deb.debian.org/debian bookworm/main amd64 busybox-static amd64 1:1.35.0-4+deb12u1+b1 [928 kB]\n" +
		"I: extracting archives...\nI: creating tarball...\n"
	for _, piece := range []int{1, 7, len(text)} {
		var said []string
		f := &follower{progress: func(s string) { said = append(said, s) }, packages: map[string]string{}}
		for rest := text; rest != ""; {
			part := rest[:min(piece, len(rest))]
			rest = rest[len(part):]
			if n, err := f.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if d := cmp.Diff(map[string]string{"busybox-static": "1:1.35.0-4+deb12u1+b1"}, f.packages); d != "" {
			t.Errorf("pieces of %d: %s", piece, d)
		}
		if d := cmp.Diff([]string{SaysIndex, "fetching 6464 kB of packages", SaysUnpacking, "writing the root filesystem"}, said); d != "" {
			t.Errorf("pieces of %d: %s", piece, d)
		}
		for range 3 {
			_, _ = f.Write(make([]byte, longestLine))
		}
		if len(f.rest) > longestLine {
			t.Errorf("%d bytes of a line are kept", len(f.rest))
		}
	}
}

// A download says how much has come, of how much, and how long the rest takes.
func TestDownloadState(t *testing.T) {
	f := &follower{progress: func(string) {}, packages: map[string]string{}}
	_, _ = f.Write([]byte("Get:9 http://deb.debian.org/debian bookworm/main amd64 a amd64 1 [928 kB]\n"))
	if got, want := f.state(time.Second), "1 package, 906 KiB fetched"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, _ = f.Write([]byte("Need to get 4,640 kB of archives.\n"))
	if got, want := f.state(10*time.Second), "1 package, 906 KiB of 4.43 MiB fetched, about 40 s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzFollower(f *testing.F) {
	f.Add("Get:9 http://deb.debian.org/debian bookworm/main amd64 busybox-static amd64 1:1.35.0-4 [928 kB]\nNeed to get \n")
	f.Add("Get:6 http://a b c Packages [1 kB] [6 Packages 8790 kB]\n")
	f.Fuzz(func(t *testing.T, text string) {
		w := &follower{progress: func(string) {}, packages: map[string]string{}}
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		for name, version := range w.packages {
			if name == "" || version == "" || strings.HasSuffix(version, "]") {
				t.Errorf("package %q has version %q", name, version)
			}
		}
	})
}
