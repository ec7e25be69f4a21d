package toolset_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"whichfs/internal/host/lab/toolset"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/toolbox"
	"whichfs/internal/testing/must"
)

// hostSet is an empty set of programs of this host.
func hostSet(t *testing.T) *toolset.Set {
	t.Helper()
	s, err := toolset.New(os.DirFS("/"), runtime.GOARCH)
	must.Do(t, err)
	return s
}

func packed(t *testing.T, s *toolset.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, s.Write(&b))
	return b.Bytes()
}

// blank is a file to make a filesystem in.
func blank(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	must.Do(t, os.WriteFile(image, nil, 0o600))
	must.Do(t, os.Truncate(image, 8<<20))
	return image
}

// A program whose threads end themselves has the library that glibc loads then, though it does not name it.
func TestThreadsEnd(t *testing.T) {
	for name, want := range map[string]bool{"mksquashfs": true, "mkfs.vfat": false} {
		s := hostSet(t)
		must.Do(t, s.Add(name))
		if has := bytes.Contains(packed(t, s), []byte("lib/libgcc_s.so.1")); has != want {
			t.Errorf("%s with libgcc_s: %v", name, has)
		}
	}
}

// Programs of this host run from another directory, with their own loader, libraries and name.
func TestSentProgramsRun(t *testing.T) {
	s := hostSet(t)
	for _, name := range []string{"mkfs.ext4", "e2fsck", "mkfs.ext2"} {
		must.Do(t, s.Add(name))
	}
	archive := packed(t, s)
	dir := filepath.Join(t.TempDir(), "it's here")
	_, err := toolbox.Unpack(bytes.NewReader(archive), dir)
	must.Do(t, err)
	image := blank(t)
	// The image's features say by which name mke2fs was called, and that it found its configuration.
	_, err = command.Run(t.Context(), command.Options{}, filepath.Join(dir, "bin/mkfs.ext4"), "-q", "-F", image)
	must.Do(t, err)
	r, err := command.Run(t.Context(), command.Options{}, filepath.Join(dir, "bin/e2fsck"), "-f", "-n", "-v", image)
	if err != nil || !strings.Contains(r.Stdout, "Extent depth histogram") {
		t.Errorf("%v: %s", err, r.Stdout)
	}
	// The libraries come from the directory: without them the program does not start.
	libraries, err := filepath.Glob(filepath.Join(dir, "lib", "libext2fs*"))
	if err != nil || len(libraries) != 1 {
		t.Fatal(libraries, err)
	}
	must.Do(t, os.WriteFile(libraries[0], nil, 0o700))
	if _, err := command.Run(t.Context(), command.Options{}, filepath.Join(dir, "bin/mkfs.ext4"), "-V"); err == nil {
		t.Error("mkfs.ext4 runs with a library that is not the sent one")
	}
}

// A program that has several names, and libraries of several programs, are there once.
func TestNothingTwiceAndNothingElse(t *testing.T) {
	s := hostSet(t)
	for _, name := range []string{"mkfs.ext4", "mkfs.ext3", "e2fsck"} {
		must.Do(t, s.Add(name))
	}
	var names []string
	r := tar.NewReader(bytes.NewReader(packed(t, s)))
	for {
		h, err := r.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is there twice", name)
		}
		if !strings.HasPrefix(name, "lib/") && !slices.Contains([]string{"program/mke2fs", "program/e2fsck", "etc/mke2fs.conf", toolbox.ListName}, name) {
			t.Errorf("%s was not asked for", name)
		}
	}
	if !bytes.Equal(packed(t, s), packed(t, s)) {
		t.Error("the same set gives different bytes")
	}
}

func TestRefused(t *testing.T) {
	s := hostSet(t)
	if err := s.Add("no-such-program"); !errors.Is(err, toolset.ErrNoProgram) {
		t.Error(err)
	}
	if _, err := toolset.New(os.DirFS("/"), "mips"); err == nil || !strings.Contains(err.Error(), "programs for mips cannot") {
		t.Error(err)
	}
	program, err := fs.ReadFile(os.DirFS("/"), "sbin/mke2fs")
	must.Do(t, err)
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	for word, c := range map[string]struct {
		root   fstest.MapFS
		goarch string
	}{
		"for another processor":     {fstest.MapFS{"sbin/p": {Data: program}}, other},
		"its loader":                {fstest.MapFS{"sbin/p": {Data: program}}, runtime.GOARCH},
		"neither a script nor":      {fstest.MapFS{"sbin/p": {Data: []byte("text")}}, runtime.GOARCH},
		"libext2fs.so.2 is nowhere": {fstest.MapFS{"sbin/p": {Data: program}, "lib64/ld-linux-x86-64.so.2": {Data: program}, "lib/ld-linux-aarch64.so.1": {Data: program}}, runtime.GOARCH},
	} {
		s, err := toolset.New(c.root, c.goarch)
		must.Do(t, err)
		if err := s.Add("p"); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}
