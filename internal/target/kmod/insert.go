package kmod

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// signed is the end of a module file with a signature; before it is struct module_signature, whose
// last 4 bytes are the signature's length (scripts/sign-file.c).
const (
	signed          = "~Module signature appended~\n"
	signatureHeader = 12
)

// Unsigned returns a module file without its signature, and false if it has none.
func Unsigned(file []byte) ([]byte, bool) {
	rest, ok := bytes.CutSuffix(file, []byte(signed))
	if !ok || len(rest) < signatureHeader {
		return file, false
	}
	n := uint64(binary.BigEndian.Uint32(rest[len(rest)-4:])) + signatureHeader
	if n > uint64(len(rest)) {
		return file, false
	}
	return rest[:uint64(len(rest))-n], true
}

// Flags are those of finit_module for a file: the kernel unpacks a compressed one.
func Flags(file string) int {
	if strings.HasSuffix(file, ".ko") {
		return 0
	}
	return unix.MODULE_INIT_COMPRESSED_FILE
}

// Insert inserts a module from an open file, with parameters ("name=value name=value"). A kernel
// whose processor is emulated sometimes, very rarely, takes a good signature for a bad one; the
// module is then inserted without it, which a kernel that insists on signatures refuses again.
// The error is that of the system call, unix.EEXIST for a module that is there.
func Insert(f *os.File, parameters string) error {
	err := unix.FinitModule(int(f.Fd()), parameters, Flags(f.Name()))
	if !errors.Is(err, unix.EKEYREJECTED) {
		return err
	}
	text, readErr := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if readErr != nil {
		return err
	}
	if text, ok := Unsigned(text); ok {
		return unix.InitModule(text, parameters)
	}
	return err
}
