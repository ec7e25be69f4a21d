package module

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/bounded"
)

// generation counts changes of the building code that alter modules.
const generation = 1

// mostSource far exceeds the size of a driver's source, in bytes; a kernel's source is larger.
const mostSource = 256 << 20

// copySource copies the user's source to where it is compiled, with what the kernel's makefiles need
// in addition, and takes the digest.
func (b *building) copySource() error {
	info, err := os.Stat(b.Source)
	if err != nil {
		return result.Refuse("give the directory of the driver's source", "--source: %v", err)
	}
	if !info.IsDir() {
		return result.Refuse("give the directory of the driver's source", "--source: %s is not a directory", b.Source)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s %s %s\n", generation, b.Kernel.Release, b.Kernel.Virtual, b.Name)
	var size int64
	err = filepath.WalkDir(b.Source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(b.Source, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != b.Source:
			return fs.SkipDir // .git
		case d.IsDir():
			return os.MkdirAll(filepath.Join(b.tree, name), 0o755)
		case !d.Type().IsRegular() || made(d.Name()):
			return nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		if size > mostSource {
			return result.Refuse("give the directory of the driver alone", "--source: %s has more than %d MiB, which exceeds the source of any driver", b.Source, mostSource>>20)
		}
		return copyFile(sum, path, filepath.Join(b.tree, name), name)
	})
	if f := result.FailureOf(err); f != nil {
		return f
	}
	if err != nil {
		return result.Refuse("", "--source: %v", err)
	}
	if err := b.complete(sum); err != nil {
		return err
	}
	b.Digest = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// made reports whether a file is one that the kernel's makefiles made: of another build, perhaps for
// another kernel.
func made(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{".o", ".ko", ".mod", ".cmd", ".order", ".symvers", ".a"}, filepath.Ext(name)) ||
		strings.HasSuffix(name, ".mod.c")
}

func copyFile(sum hash.Hash, from, to, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	body, err := bounded.ReadAll(in, mostSource, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "%s %d\n", name, len(body))
	_, _ = sum.Write(body) // never fails
	return os.WriteFile(to, body, 0o644)
}

// complete adds to the source what its filesystem's file knows to be missing, and checks that there
// is something to build.
func (b *building) complete(sum io.Writer) error {
	for _, f := range filesystem.All {
		if f.Module != b.Name || f.Kbuild == nil {
			continue
		}
		more := f.Kbuild(func(name string) string {
			text, _ := os.ReadFile(filepath.Join(b.tree, name)) // "": there is none
			return string(text)
		})
		for _, name := range slices.Sorted(maps.Keys(more)) {
			fmt.Fprintf(sum, "%s %d\n%s", name, len(more[name]), more[name])
			if err := os.WriteFile(filepath.Join(b.tree, name), []byte(more[name]), 0o644); err != nil {
				return fmt.Errorf("module %s: %w", b.Name, err)
			}
		}
		break
	}
	for _, name := range []string{"Kbuild", "Makefile"} {
		if _, err := os.Stat(filepath.Join(b.tree, name)); err == nil {
			return nil
		}
	}
	return result.Refuse("give the directory with the Kbuild or Makefile of the module", "--source: %s has neither a Kbuild nor a Makefile", b.Source)
}
