package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whichfs/internal/sys/command"
)

// The test binary plays mmdebstrap, apt-get and dpkg-deb as $DEBIAN_TEST says.
func TestMain(m *testing.M) {
	if what := os.Getenv("DEBIAN_TEST"); what != "" {
		switch filepath.Base(os.Args[0]) {
		case "mmdebstrap":
			os.Exit(play(what))
		case "apt-get":
			os.Exit(playApt(what))
		case "dpkg-deb":
			os.Exit(playDpkg(what))
		}
	}
	os.Exit(m.Run())
}

func play(what string) int {
	fmt.Fprintln(os.Stderr, "I: running apt-get update...")
	switch what {
	case "nothing found":
		fmt.Fprint(os.Stderr, "E: Unable to locate package x\nI: removing tempdir\n")
		return 25
	case "killed":
		fmt.Print("half")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "much":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<16)); err != nil {
				fmt.Fprintln(os.Stderr, "E: Broken pipe")
				return 1
			}
		}
	}
	fmt.Println(strings.Join(os.Args[1:], " "), filepath.Base(os.Getenv("TMPDIR")), os.Getenv("EXTRA"))
	return 0
}

// The program succeeds while its output is still being read, and then the
// context ends: the reader got only a part.
func TestPipeIsInterrupted(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := Pipe(ctx, command.Options{}, func(r io.Reader) error {
			_, err := r.Read(make([]byte, 1))
			cancel()
			return err
		}, "echo", "abc")
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	}
}

func TestFetch(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "mmdebstrap")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	b := Bootstrap{
		Suite: "bookworm", Architecture: "armhf", Include: []string{"a", "?or(b,c)"}, Sources: []string{"deb x"},
		Options: []string{"o"}, Scratch: filepath.Join(t.TempDir(), "scratch"), Env: []string{"EXTRA=extra"},
	}
	full := errors.New("disk full")
	four := func(r io.Reader) error { _, err := io.ReadFull(r, make([]byte, 4)); return err }
	for what, c := range map[string]struct {
		read func(io.Reader) error
		want string // of the error
	}{
		"all is well":   {four, ""},
		"nothing found": {four, "fetch the packages: mmdebstrap (exit status 25): E: Unable to locate package x"},
		"killed":        {func(r io.Reader) error { _, err := io.ReadFull(r, make([]byte, 512)); return err }, "signal: killed"},
		"much":          {func(r io.Reader) error { return errors.Join(four(r), full) }, "disk full"},
	} {
		t.Setenv("DEBIAN_TEST", what)
		var said []string
		_, err := b.Fetch(t.Context(), func(s string) { said = append(said, s) }, c.read)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
		if !slices.Equal(said, []string{SaysIndex}) {
			t.Errorf("%s: said %q", what, said)
		}
	}
	t.Setenv("DEBIAN_TEST", "all is well")
	var text []byte
	if _, err := b.Fetch(t.Context(), func(string) {}, func(r io.Reader) (err error) { text, err = io.ReadAll(r); return err }); err != nil {
		t.Fatal(err)
	}
	want := "--verbose --mode=chrootless --variant=extract --format=tar --architectures=armhf --include=a --include=?or(b,c) --aptopt=o bookworm - deb x scratch extra\n"
	if string(text) != want {
		t.Errorf("%q, want %q", text, want)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := b.Fetch(t.Context(), func(string) {}, four); err == nil {
		t.Error("no program and no error")
	}
}
