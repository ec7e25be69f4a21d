package virtual

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// A kernel keeps what modules are compiled with, and says so if it is one of an older version.
func TestHeaders(t *testing.T) {
	stage(t)
	for _, counting := range []bool{false, true} {
		k, err := Build(t.Context(), Choice{Counting: counting}, nil)
		must.Do(t, err)
		dir := t.TempDir()
		words, environment, err := k.UnpackHeaders(t.Context(), dir, t.TempDir())
		must.Do(t, err)
		if !slices.Contains(words, "ARCH=um") || counting != strings.HasPrefix(strings.Join(environment, " "), assemblerVariable+"=") {
			t.Errorf("counting %v: %q, %q", counting, words, environment)
		}
		var names []string
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(dir, path)
				names = append(names, name)
			}
			return err
		})
		if want := []string{".config", "Makefile", "arch/um/Makefile", "include/config/kernel.release"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("headers %q, %v", names, err)
		}
		must.Do(t, os.Remove(filepath.Join(k.Dir, headersFile)))
		_, _, err = k.UnpackHeaders(t.Context(), dir, t.TempDir())
		if f := result.FailureOf(err); f == nil || f.Outcome != result.Refused || !strings.HasPrefix(f.Hint, "whichfs lab build --virtual") || !strings.HasSuffix(f.Hint, "--force") {
			t.Errorf("without headers: %+v", err)
		}
	}
}

func TestHeader(t *testing.T) {
	for name, want := range map[string]bool{
		"Makefile": true, "Module.symvers": true, ".config": true, "vmlinux": false, "linux": false, "include/linux/fs.h": true, "scripts/mod/modpost": true,
		"scripts/mod/modpost.o": false, "scripts/.x.cmd": false, "arch/x86/include/asm/bug.h": true, "arch/x86/um/asm/x.h": true, "arch/x86/Makefile.um": true,
		"arch/um/kernel/x.c": false, "fs/ext4/ext4.h": false, "arch/arm/include/x.h": false,
	} {
		if header(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
