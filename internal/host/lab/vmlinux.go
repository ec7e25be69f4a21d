package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"whichfs/internal/host/debian"
	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/command"
)

// A bzImage contains the kernel compressed, after its setup code. QEMU boots
// the unpacked ELF file through its PVH entry, which under emulation saves two
// seconds of every boot. The offsets are those of the x86 boot protocol
// (Documentation/arch/x86/boot.rst), version 2.08 or newer.
const (
	offSetupSects    = 0x1f1
	offMagic         = 0x202
	offVersion       = 0x206
	offPayloadOffset = 0x248
	offPayloadLength = 0x24c
)

// mostKernel far exceeds the size of any kernel without its modules, in bytes.
const mostKernel = 1 << 30

var (
	errNoKernel = errors.New("not a bzImage")
	errNoEntry  = errors.New("the kernel has no PVH entry, so QEMU cannot start it")
)

// payload extracts the compressed kernel from a bzImage.
func payload(image []byte) ([]byte, error) {
	if len(image) < 0x268 || string(image[offMagic:offMagic+4]) != "HdrS" {
		return nil, fmt.Errorf("%w: the HdrS mark is missing", errNoKernel)
	}
	if v := binary.LittleEndian.Uint16(image[offVersion:]); v < 0x208 {
		return nil, fmt.Errorf("%w: boot protocol %d.%02d is too old", errNoKernel, v>>8, v&0xff)
	}
	sects := uint64(image[offSetupSects])
	if sects == 0 {
		sects = 4
	}
	start := (sects+1)*512 + uint64(binary.LittleEndian.Uint32(image[offPayloadOffset:]))
	end := start + uint64(binary.LittleEndian.Uint32(image[offPayloadLength:]))
	if end > uint64(len(image)) || end-start < 8 {
		return nil, fmt.Errorf("%w: the payload ends beyond the file", errNoKernel)
	}
	return image[start:end], nil
}

// unpack decompresses a kernel, to most bytes at most. All formats but gzip,
// which contains it already, are followed by the length of the result in four
// bytes.
func unpack(ctx context.Context, packed []byte, most int64) ([]byte, error) {
	var tool []string
	switch {
	case bytes.HasPrefix(packed, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return bounded.ReadAll(z, most, "the kernel")
	case bytes.HasPrefix(packed, []byte("\xfd7zXZ\x00")):
		tool = []string{"xz", "--decompress", "--stdout"}
	case bytes.HasPrefix(packed, []byte("\x28\xb5\x2f\xfd")):
		tool = []string{"zstd", "--decompress", "--stdout", "--quiet"}
	default:
		return nil, fmt.Errorf("unknown kernel compression (it begins with % x)", packed[:6])
	}
	body, tail := packed[:len(packed)-4], packed[len(packed)-4:]
	var out []byte
	err := debian.Pipe(ctx, command.Options{Stdin: bytes.NewReader(body)}, func(r io.Reader) (err error) {
		out, err = bounded.ReadAll(r, most, "the kernel")
		return err
	}, tool...)
	if err != nil {
		return nil, fmt.Errorf("unpack the kernel: %w", err)
	}
	if want := binary.LittleEndian.Uint32(tail); uint64(want) != uint64(len(out)) {
		return nil, fmt.Errorf("unpack the kernel: got %d bytes instead of %d", len(out), want)
	}
	return out, nil
}

// writeKernel makes the file that QEMU boots from the one at from, which may
// be removed afterwards.
func (a Arch) writeKernel(ctx context.Context, from, to string) error {
	if a.packed() {
		return os.Rename(from, to)
	}
	return writeVmlinux(ctx, from, to)
}

// writeVmlinux extracts the ELF kernel from the bzImage at from.
func writeVmlinux(ctx context.Context, from, to string) error {
	image, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	packed, err := payload(image)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	kernel, err := unpack(ctx, packed, mostKernel)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := checkPVH(kernel); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, kernel, 0o644)
}

// checkPVH checks that QEMU will find the PVH entry: a note of type 18
// (XEN_ELFNOTE_PHYS32_ENTRY) named "Xen".
func checkPVH(kernel []byte) error {
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return fmt.Errorf("the unpacked kernel: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(io.LimitReader(p.Open(), 1<<20))
		if err != nil {
			return fmt.Errorf("the unpacked kernel: %w", err)
		}
		for len(notes) >= 12 {
			name, desc := uint64(f.ByteOrder.Uint32(notes)), uint64(f.ByteOrder.Uint32(notes[4:]))
			kind := f.ByteOrder.Uint32(notes[8:])
			size := 12 + (name+3)&^3 + (desc+3)&^3
			if size > uint64(len(notes)) {
				break
			}
			if kind == 18 && string(notes[12:12+name]) == "Xen\x00" {
				return nil
			}
			notes = notes[size:]
		}
	}
	return errNoEntry
}
