package kernelsource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
)

// tree is a user's kernel source. It is only read.
type tree struct {
	dir     string // absolute
	version string // of Linux
	// options are those that the tree's Kconfig files define.
	options map[string]bool
	own     string // options that differ from the lab's
	sum     []byte // of the files' names and contents
}

var (
	makeVersion = regexp.MustCompile(`(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$`)
	definition  = regexp.MustCompile(`(?m)^\s*(?:menu)?config\s+(\w+)\s*$`)
)

// leftOut are parts of a source that no lab kernel is compiled from.
var leftOut = []string{".git", "Documentation", "arch/*", "samples", "sound", "tools/perf", "tools/testing"}

// open finds a source, and the file with options of the user's, if that is not "". Errors are *result.Failure.
func open(dir, config string) (tree, error) {
	const hint = "give the directory of a kernel's source, with its Makefile, Kconfig and arch/x86"
	t := tree{options: map[string]bool{}}
	var err error
	if t.dir, err = filepath.Abs(dir); err != nil {
		return t, err
	}
	makefile, err := os.ReadFile(filepath.Join(t.dir, "Makefile"))
	if err != nil {
		return t, result.Refuse(hint, "--kernel-source: %v", err)
	}
	version := map[string]string{}
	for _, m := range makeVersion.FindAllStringSubmatch(string(makefile), -1) {
		if _, known := version[m[1]]; !known {
			version[m[1]] = m[2]
		}
	}
	for _, needed := range []string{"Kconfig", "arch/x86/Makefile"} {
		if _, err := os.Stat(filepath.Join(t.dir, needed)); err != nil || version["VERSION"] == "" {
			return t, result.Refuse(hint, "--kernel-source: %s is no kernel's source", t.dir)
		}
	}
	t.version = version["VERSION"] + "." + version["PATCHLEVEL"]
	if version["SUBLEVEL"] != "" {
		t.version += "." + version["SUBLEVEL"]
	}
	t.version += version["EXTRAVERSION"]
	// What make calls clean (Makefile of Linux 6.1, outputmakefile).
	for _, left := range []string{".config", "include/config", "arch/x86/include/generated"} {
		if _, err := os.Stat(filepath.Join(t.dir, left)); err == nil {
			return t, result.Refuse("make -C "+t.dir+" mrproper cleans it, and removes its .config; or give a clean copy",
				"--kernel-source: %s has been built in (it has %s), and the lab builds elsewhere, which needs a clean source", t.dir, left)
		}
	}
	if config != "" {
		t.own, err = readOwn(config)
	}
	return t, err
}

// read takes the digest and collects the options.
func (t *tree) read() error {
	sum := sha256.New()
	err := filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(t.dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() && !strings.HasPrefix(name, "arch/x86") && lab.AnyMatch(leftOut, name) {
			return fs.SkipDir
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(sum, "%s -> %s\n", name, to)
			return err
		case !d.Type().IsRegular():
			return nil
		case strings.HasPrefix(d.Name(), "Kconfig"):
			text, err := os.ReadFile(path)
			for _, m := range definition.FindAllSubmatch(text, -1) {
				t.options[string(m[1])] = true
			}
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(sum, "%s\n", name)
		_, err = io.Copy(sum, f)
		return err
	})
	if err != nil {
		return result.Refuse("", "--kernel-source: %v", err)
	}
	t.sum = sum.Sum(nil)
	return nil
}

// digest is of all that a kernel is built from, but the compiler.
func (t *tree) digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s\n%s\n%x", generation, t.version, t.wanted(), t.sum)
	return hex.EncodeToString(sum.Sum(nil))
}
