package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/command"
)

// elfWithNote is the smallest ELF file with one note.
func elfWithNote(name string, kind uint32) []byte {
	var b bytes.Buffer
	le := func(v ...any) {
		for _, x := range v {
			_ = binary.Write(&b, binary.LittleEndian, x)
		}
	}
	note := make([]byte, 0, 64)
	note = binary.LittleEndian.AppendUint32(note, uint32(len(name)))
	note = binary.LittleEndian.AppendUint32(note, 4)
	note = binary.LittleEndian.AppendUint32(note, kind)
	note = append(note, name...)
	for len(note)%4 != 0 {
		note = append(note, 0)
	}
	note = append(note, 1, 2, 3, 4)
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	le(uint16(2), uint16(62), uint32(1), uint64(0x1000), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0))
	le(uint32(4), uint32(4), uint64(120), uint64(0), uint64(0), uint64(len(note)), uint64(len(note)), uint64(4))
	b.Write(note)
	return b.Bytes()
}

// bzImage packs a kernel as the x86 boot protocol requires.
func bzImage(format string, kernel []byte) []byte {
	var packed bytes.Buffer
	switch format {
	case "gzip":
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(kernel)
		_ = z.Close()
	case "xz", "zstd":
		_, err := command.Run(context.Background(), command.Options{Stdin: bytes.NewReader(kernel), Stdout: &packed},
			format, "--compress", "--stdout")
		if err != nil {
			panic(err)
		}
		packed.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(kernel))))
	default:
		packed.WriteString(format)
	}
	const sects, offset = 3, 100
	image := make([]byte, (sects+1)*512+offset, (sects+1)*512+offset+packed.Len())
	image[offSetupSects] = sects
	copy(image[offMagic:], "HdrS")
	binary.LittleEndian.PutUint16(image[offVersion:], 0x20f)
	binary.LittleEndian.PutUint32(image[offPayloadOffset:], offset)
	binary.LittleEndian.PutUint32(image[offPayloadLength:], uint32(packed.Len()))
	return append(append(image, packed.Bytes()...), "trailer"...)
}

func TestWriteVmlinux(t *testing.T) {
	good := elfWithNote("Xen\x00", 18)
	for _, format := range []string{"gzip", "xz", "zstd"} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
		if err := os.WriteFile(from, bzImage(format, good), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeVmlinux(t.Context(), from, to); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if got, _ := os.ReadFile(to); !bytes.Equal(got, good) {
			t.Errorf("%s: another kernel came out", format)
		}
	}
}

func TestWriteVmlinuxRefuses(t *testing.T) {
	truncated := bzImage("gzip", elfWithNote("Xen\x00", 18))
	old := bytes.Clone(truncated)
	binary.LittleEndian.PutUint16(old[offVersion:], 0x207)
	short := bzImage("xz", elfWithNote("Xen\x00", 18))
	end := len(short) - len("trailer")
	binary.LittleEndian.PutUint32(short[end-4:], 5)
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"empty":        {nil, "HdrS"},
		"text":         {bytes.Repeat([]byte("no kernel "), 100), "HdrS"},
		"old":          {old, "too old"},
		"truncated":    {truncated[:0x300], "beyond the file"},
		"unknown":      {bzImage("\x89LZO\x00\x0d\x0a\x1a\x0a....", nil), "unknown kernel compression"},
		"wrong length": {short, "instead of"},
		"not ELF":      {bzImage("gzip", []byte("hello")), "unpacked kernel"},
		"no PVH":       {bzImage("gzip", elfWithNote("GNU\x00", 3)), "no PVH entry"},
	} {
		from := filepath.Join(t.TempDir(), "vmlinuz")
		if err := os.WriteFile(from, c.image, 0o644); err != nil {
			t.Fatal(err)
		}
		err := writeVmlinux(t.Context(), from, from+".elf")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(bzImage("gzip", elfWithNote("Xen\x00", 18)))
	f.Add([]byte("HdrS"))
	f.Fuzz(func(t *testing.T, image []byte) {
		if p, err := payload(image); err == nil && len(p) < 8 {
			t.Errorf("a payload of %d bytes", len(p))
		}
	})
}

func FuzzCheckPVH(f *testing.F) {
	f.Add(elfWithNote("Xen\x00", 18))
	f.Add(elfWithNote("", 0xffffffff))
	f.Fuzz(func(_ *testing.T, kernel []byte) { _ = checkPVH(kernel) })
}

// A kernel that unpacks to more than any has is given up, whatever packed it.
func TestKernelOfAnyLength(t *testing.T) {
	for _, format := range []string{"gzip", "xz", "zstd"} {
		packed, err := payload(bzImage(format, make([]byte, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpack(t.Context(), packed, 1<<20); err != nil || len(got) != 1<<20 {
			t.Errorf("%s: %d bytes, %v", format, len(got), err)
		}
		if _, err := unpack(t.Context(), packed, 1<<20-1); !errors.Is(err, bounded.ErrTooLong) {
			t.Errorf("%s: %v", format, err)
		}
	}
}
