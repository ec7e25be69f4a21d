package virtual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab/virtual/instrument"
	"whichfs/internal/sys/command"
)

// A kernel that counts has whichfs for its assembler: the compiler knows nothing of the counting, and
// the code that it makes is what it would be without.

// countingGeneration counts changes of what the assembler adds.
const countingGeneration = 3

// assemblerVariable names the real assembler to a whichfs that is called as one.
const assemblerVariable = "WHICHFS_ASSEMBLER"

// Whoever builds the kernel is its assembler, the tests, too: so this precedes every main function.
func init() {
	real := os.Getenv(assemblerVariable)
	if real == "" || filepath.Base(os.Args[0]) != "as" {
		return
	}
	_ = os.Unsetenv(assemblerVariable) // should that be a whichfs, too
	fmt.Fprintln(os.Stderr, "Error:", assemble(real, os.Args[1:]))
	os.Exit(1)
}

// assembler makes, in scratch, a directory with a program "as" that is this one, and returns the environment in
// which the compiler finds it.
func assembler(scratch string) ([]string, error) {
	real, err := command.Look("as")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, version := filepath.Join(scratch, "assembler"), filepath.Join(scratch, "assembler.version")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(self, filepath.Join(dir, "as")); err != nil {
		return nil, err
	}
	// ccache looks at no assembler.
	if err := os.WriteFile(version, fmt.Appendln(nil, countingGeneration), 0o644); err != nil {
		return nil, err
	}
	return []string{assemblerVariable + "=" + real, "PATH=" + dir + ":" + os.Getenv("PATH"), "CCACHE_EXTRAFILES=" + version}, nil
}

// assemble is the assembler, called by the compiler with the kernel's tree as working directory. It
// returns only with an error.
func assemble(real string, args []string) error {
	object := ""
	if i := slices.Index(args, "-o"); i >= 0 && i+1 < len(args) {
		object = args[i+1]
	}
	source := len(args) - 1
	if rewrite := countersOf(object); rewrite != nil && source >= 0 && !strings.HasPrefix(args[source], "-") {
		if err := rewritten(args[source], rewrite); err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
		args = append(args[:source:source], "-")
	}
	return fmt.Errorf("%s: %w", real, unix.Exec(real, append([]string{real}, args...), os.Environ()))
}

// rewritten makes a file's rewritten text this process's standard input.
func rewritten(path string, rewrite func(io.Writer, io.Reader) error) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	fd, err := unix.MemfdCreate("source", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	text := os.NewFile(uintptr(fd), "source")
	if err := rewrite(text, in); err != nil {
		return err
	}
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unix.Dup3(fd, 0, 0)
}

// counters are what is added to which objects: the first prefix counts.
var counters = []struct {
	prefix  string
	rewrite func(io.Writer, io.Reader) error
}{
	// Programs of the build.
	{"scripts/", nil},
	{"tools/", nil},
	{"usr/", nil},
	// What programs read and write is copied by the part of user-mode Linux that stands for the
	// processor's memory management: only the copying counts.
	{"arch/um/kernel/skas/uaccess.o", nil},
	// The rest of it is no part of a kernel on hardware.
	{"arch/um/", instrument.Uncounted},
	{"arch/x86/um/", instrument.Uncounted},
	{"arch/x86/lib/memcpy_64.o", instrument.Copiers},
	{"arch/x86/lib/memmove_64.o", instrument.Copiers},
	{"arch/x86/lib/memset_64.o", instrument.Copiers},
	{"lib/lzo/", as(instrument.Compressing)},
	{"lib/lz4/", as(instrument.Compressing)},
	{"lib/zlib_deflate/", as(instrument.Compressing)},
	{"lib/zlib_inflate/", as(instrument.Compressing)},
	{"lib/zstd/", as(instrument.Compressing)},
	{"lib/xz/", as(instrument.Compressing)},
	{"fs/jffs2/compr_r", as(instrument.Compressing)},
	{"lib/crc", as(instrument.Checksums)},
	{"crypto/crc", as(instrument.Checksums)},
	{"lib/xxhash", as(instrument.Checksums)},
	{"crypto/xxhash", as(instrument.Checksums)},
	{"crypto/sha256", as(instrument.Checksums)},
	{"lib/crypto/sha256", as(instrument.Checksums)},
	{"crypto/blake2b", as(instrument.Checksums)},
	{"lib/crypto/blake2b", as(instrument.Checksums)},
	{"lib/bch.o", as(instrument.Checksums)},
	{"drivers/mtd/nand/ecc-sw-", as(instrument.Checksums)},
	{"arch/x86/lib/csum", as(instrument.Checksums)},
	{"", as(instrument.Other)},
}

func as(kind instrument.Kind) func(io.Writer, io.Reader) error {
	return func(w io.Writer, r io.Reader) error { return instrument.Rewrite(w, r, kind) }
}

// countersOf says how an object's code is rewritten; nil: it stays as it is. Objects outside the
// tree are what the build compiles for itself.
func countersOf(object string) func(io.Writer, io.Reader) error {
	object = filepath.Clean(object)
	if !filepath.IsLocal(object) || !strings.HasSuffix(object, ".o") {
		return nil
	}
	for _, c := range counters {
		if strings.HasPrefix(object, c.prefix) {
			return c.rewrite
		}
	}
	return nil
}
