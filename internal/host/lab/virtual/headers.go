package virtual

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
)

// headersFile has what modules are compiled with, of the tree that the kernel was compiled in. Kernels
// of older versions have none.
const headersFile = "headers.tar.gz"

// packHeaders keeps what modules are compiled with: the makefiles, the headers, the build's own
// programs and the checksums of symbols (as scripts/package/builddeb of Linux 6.1 does).
func (b *building) packHeaders(file string) error {
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(to)
	archive := tar.NewWriter(packed)
	err = filepath.WalkDir(b.tree(), func(path string, d fs.DirEntry, err error) error {
		name, relative := filepath.Rel(b.tree(), path)
		if err = errors.Join(err, relative); err != nil || !d.Type().IsRegular() || !header(name) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return addTo(archive, path, &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(info.Mode().Perm()), Size: info.Size()})
	})
	return errors.Join(err, archive.Close(), packed.Close(), to.Close())
}

func addTo(archive *tar.Writer, path string, h *tar.Header) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(archive, in, h.Size)
	return err
}

// header reports whether a file of the tree is needed to compile modules.
func header(name string) bool {
	dir, base := filepath.Split(name)
	switch top, _, _ := strings.Cut(name, "/"); {
	case strings.HasSuffix(base, ".o") || strings.HasSuffix(base, ".cmd"):
		return false
	case dir == "":
		return slices.Contains([]string{"Makefile", "Kbuild", ".config", "Module.symvers"}, base)
	case top == "include" || top == "scripts":
		return true
	}
	return lab.AnyMatch([]string{"arch/um", "arch/x86"}, name) &&
		(strings.HasPrefix(base, "Makefile") || strings.HasPrefix(base, "Kbuild") || strings.HasSuffix(base, ".h") || strings.HasSuffix(base, ".lds"))
}

// UnpackHeaders unpacks what modules for the kernel are compiled with into a directory, and returns
// the arguments and the environment of a make there. scratch is a directory for a program that they
// need.
func (k Kernel) UnpackHeaders(ctx context.Context, dir, scratch string) (words, environment []string, err error) {
	r, err := recipeFor(Choice{k.Manifest.Series, k.Manifest.Counting})
	if err != nil {
		return nil, nil, err
	}
	packed, err := os.Open(filepath.Join(k.Dir, headersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, result.Refuse(r.command()+" --force", "the virtual lab's kernel %s was built without what modules are compiled with", k.Manifest.Name())
	}
	if err != nil {
		return nil, nil, err
	}
	defer packed.Close()
	archive, err := gzip.NewReader(packed)
	if err == nil {
		err = lab.Extract(archive, dir, func(string) bool { return ctx.Err() != nil }, "")
	}
	if err = errors.Join(err, context.Cause(ctx)); err != nil || !k.Manifest.Counting {
		return makeWords, nil, err
	}
	environment, err = assembler(scratch)
	return makeWords, environment, err
}
