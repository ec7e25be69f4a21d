package mtd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes from mtd-abi.h, which the request numbers encode.
func TestLayout(t *testing.T) {
	for name, c := range map[string]struct {
		request uint32
		size    uintptr
	}{
		"mtd_info_user":     {unix.MEMGETINFO, unsafe.Sizeof(unix.MtdInfo{})},
		"erase_info_user64": {unix.MEMERASE64, unsafe.Sizeof(unix.EraseInfo64{})},
		"mtd_write_req":     {unix.MEMWRITE, unsafe.Sizeof(unix.MtdWriteReq{})},
		"mtd_read_req":      {unix.MEMREAD, unsafe.Sizeof(readRequest{})},
		"mtd_ecc_stats":     {unix.ECCGETSTATS, unsafe.Sizeof(unix.MtdEccStats{})},
	} {
		if want := uintptr(c.request>>16) & 0x1fff; c.size != want {
			t.Errorf("struct %s has %d bytes, the kernel's has %d", name, c.size, want)
		}
	}
}

func TestErased(t *testing.T) {
	for n := range 40 {
		b := bytes.Repeat([]byte{0xff}, n)
		if !Erased(b) {
			t.Errorf("%d erased bytes do not count as erased", n)
		}
		for i := range b {
			b[i] = 0xfe
			if Erased(b) {
				t.Errorf("byte %d of %d is missed", i, n)
			}
			b[i] = 0xff
		}
	}
}

func TestFits(t *testing.T) {
	d := &Device{path: "x", Info: Info{Size: 1 << 20, EraseSize: 16 << 10, PageSize: 512, OOBSize: 16}}
	if d.Blocks() != 64 || d.Pages() != 32 {
		t.Errorf("%d blocks of %d pages", d.Blocks(), d.Pages())
	}
	for _, c := range []struct {
		page, data, oob int
		good            bool
	}{{0, 16 << 10, 512, true}, {31, 512, 16, true}, {0, 0, 0, false}, {31, 1024, 32, false}, {0, 512, 0, false}, {0, 500, 16, false}, {-1, 512, 16, false}} {
		if err := d.fits(c.page, make([]byte, c.data), make([]byte, c.oob)); (err == nil) != c.good || !c.good && !errors.Is(err, errLengths) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Open rejects devices other than raw flash.
func TestOpenOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, true); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("%v", err)
	}
}
