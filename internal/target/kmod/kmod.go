// Package kmod inserts kernel modules; it reads module files that users provide, and checks
// whether one suits a kernel before loading it: the kernel answers with "Exec
// format error" to nearly everything, and the reason is only in its log.
package kmod

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/result"
)

// MaxSize exceeds the size of any module, in bytes; a larger file is a
// mistake.
const MaxSize = 64 << 20

// Module is what a module file declares.
type Module struct {
	// Name as the kernel shows it, with underscores.
	Name string
	// Vermagic is the kernel that it was built for: "6.1.0-56-amd64 SMP
	// preempt mod_unload modversions ".
	Vermagic string
	// Depends lists the modules that it needs, named the same way.
	Depends []string
	// Machine is the architecture of its code.
	Machine elf.Machine
	// Versions are the checksums of the kernel symbols that it was built
	// against; nil if it has none.
	Versions map[string]uint64
	// Debug is the size of its debug information in B, which no kernel uses.
	Debug int64
}

// File is a parsed module file.
type File struct {
	Module
	Base   string // name of the file: "yaffs2.ko"
	Size   int64  // B
	SHA256 string // of the file, in hexadecimal
}

// Release is the version of the kernel that it was built for.
func (m Module) Release() string {
	release, _, _ := strings.Cut(m.Vermagic, " ")
	return release
}

// String identifies the file.
func (f File) String() string {
	return fmt.Sprintf("%s, %d bytes, for %s, sha256 %s", f.Base, f.Size, strings.TrimSpace(f.Vermagic), f.SHA256)
}

// wanted tells the user what to give instead.
const wanted = "give the path of a .ko file"

// Open reads a module file completely. Defects of the file are a
// *result.Failure.
func Open(path string) (File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return File{}, result.Refuse(wanted, "there is no kernel module %s", path)
	}
	if err != nil {
		return File{}, result.Refuse("", "kernel module: %v", err)
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	switch {
	case err != nil:
		return File{}, err
	case info.IsDir():
		return File{}, result.Refuse(wanted, "%s is a directory, not a kernel module", path)
	case !info.Mode().IsRegular():
		return File{}, result.Refuse(wanted, "%s is not a file", path)
	case info.Size() > MaxSize:
		return File{}, result.Refuse(wanted, "%s has %d MiB, which exceeds the size of any kernel module", path, info.Size()>>20)
	}
	body, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return File{}, fmt.Errorf("kernel module: %w", err)
	}
	return Read(path, body)
}

// Read parses a module file's contents; path is for messages, and its last
// element is the module's name if the contents have none.
func Read(path string, body []byte) (File, error) {
	base := filepath.Base(path)
	if u := packed(path, body); u != nil {
		return File{}, u
	}
	m, err := parse(bytes.NewReader(body))
	if err != nil {
		return File{}, result.Refuse("give a .ko file as produced by the kernel's build", "%s is not a kernel module: %v", path, err)
	}
	if m.Name == "" { // kernels before 4.13 wrote none
		m.Name = Name(base)
	}
	sum := sha256.Sum256(body)
	return File{Module: m, Base: base, Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])}, nil
}

// Name turns yaffs2.ko, or a path to it, into the name that the kernel gives
// the module.
func Name(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// packed reports a compressed module. A kernel can unpack only its own format,
// and whichfs could not check the module beforehand.
func packed(path string, body []byte) *result.Failure {
	for _, p := range []struct{ magic, name, suffix, command string }{
		{"\x1f\x8b", "gzip", ".gz", "gzip -dk"}, {"\xfd7zXZ\x00", "xz", ".xz", "xz -dk"}, {"\x28\xb5\x2f\xfd", "zstd", ".zst", "zstd -dk"},
	} {
		if bytes.HasPrefix(body, []byte(p.magic)) {
			plain := strings.TrimSuffix(path, p.suffix)
			return result.Refuse(fmt.Sprintf("unpack it: %s %s, and give --module %s", p.command, path, plain),
				"%s is compressed (%s)", path, p.name)
		}
	}
	return nil
}
