package kernelmemory

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	direct  = 0xffff888000000000
	dynamic = 0xffffc90000000000
	image   = 0xffffffff82000000

	arrayAt   = dynamic + 0x5000
	arrayReal = 0x3000
	chipAt    = direct + 0x8000
)

// kernel is a small one: linear memory, an array that is mapped page by page, and the kernel's own
// page tables and variables.
type kernel struct {
	memory  []byte
	array   []byte
	own     []byte
	symbols string
}

func newKernel() *kernel {
	k := &kernel{memory: make([]byte, 64<<10), array: make([]byte, frame), own: make([]byte, 2*frame)}
	k.symbols = fmt.Sprintf("%x T _text\n%x D %s\n%x d %s\t[nandsim]\n%x D %s\n%x D %s\n",
		uint64(image), uint64(image), symbolTables, uint64(image+frame), symbolChip, uint64(image+frame+8), symbolDirect, uint64(image+frame+16), symbolDynamic)
	put(k.own, frame, chipAt)
	put(k.own, frame+8, direct)
	put(k.own, frame+16, dynamic)
	at := uint64(arrayAt)
	put(k.own, 8*(at>>39&511), 0x4000|1)
	put(k.memory, 0x4000+8*(at>>30&511), 0x5000|1)
	put(k.memory, 0x5000+8*(at>>21&511), 0x6000|1)
	put(k.memory, 0x6000+8*(at>>12&511), 1<<63|arrayReal|1) // not executable
	// The driver's structure: nothing, something else that is mapped like
	// it, the array.
	put(k.memory, 0x8000+8, direct+0x100)
	put(k.memory, 0x8000+16, dynamic+0x9000)
	put(k.memory, 0x8000+2408, arrayAt)
	put(k.array, 8*2, direct+0x1234)
	copy(k.memory[0x1234:], "page two")
	copy(k.memory[arrayReal:], k.array)
	return k
}

func put(b []byte, at, value uint64) { binary.LittleEndian.PutUint64(b[at:], value) }

// proc writes the kernel's /proc files.
func (k *kernel) proc(t *testing.T) string {
	t.Helper()
	parts := []struct {
		at   uint64
		data []byte
	}{{direct, k.memory}, {arrayAt, k.array}, {image, k.own}}
	var out bytes.Buffer
	write := func(v any) {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	h := elf.Header64{Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(parts))}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	write(h)
	off := uint64(4096)
	for _, p := range parts {
		write(elf.Prog64{Type: uint32(elf.PT_LOAD), Off: off, Vaddr: p.at, Filesz: uint64(len(p.data)), Memsz: uint64(len(p.data))})
		off += uint64(len(p.data))
	}
	out.Write(make([]byte, 4096-out.Len()))
	for _, p := range parts {
		out.Write(p.data)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"kcore": out.Bytes(), "kallsyms": []byte(k.symbols)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func find(t *testing.T, k *kernel) (ChipPlace, error) {
	t.Helper()
	m, err := Open(k.proc(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // read only
	return m.FindChip(3, 8, 2, []byte("page two"))
}

func TestFindChip(t *testing.T) {
	got, err := find(t, newKernel())
	if d := cmp.Diff(ChipPlace{Pages: 3, Bytes: 8, Direct: direct, Frames: []uint64{arrayReal}}, got); err != nil || d != "" {
		t.Error(err, d)
	}
	// A third-level table may map 2 MiB at once.
	k := newKernel()
	put(k.memory, 0x5000+8*(uint64(arrayAt)>>21&511), 0x200000|1<<7|1)
	if _, err := find(t, k); err == nil || !strings.Contains(err.Error(), "no such memory: 0xffff888000205000") {
		t.Errorf("a large page: %v", err)
	}
	for want, damage := range map[string]func(k *kernel){
		"contains what was just written to page 2": func(k *kernel) { k.memory[0x1234] = 'P' },
		"no symbol nsmtd":                          func(k *kernel) { k.symbols = strings.Replace(k.symbols, symbolChip, "other", 1) },
		"no symbol init_top_pgt":                   func(k *kernel) { k.symbols = strings.Replace(k.symbols, symbolTables, "other", 1) },
		"no entry for 0xffffc90000005000":          func(k *kernel) { put(k.own, 8*(uint64(arrayAt)>>39&511), 0) },
		"holds something else":                     func(k *kernel) { k.memory[arrayReal] = 1 },
		"no such memory":                           func(k *kernel) { put(k.own, frame, direct+1<<30) },
	} {
		k := newKernel()
		damage(k)
		if _, err := find(t, k); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Without the right to see addresses, all of them read as zero.
func TestHiddenSymbols(t *testing.T) {
	if got := symbols("0000000000000000 d nsmtd\t[nandsim]\nffffffff82000000 D init_top_pgt\nrubbish\n"); !cmp.Equal(got, map[string]uint64{symbolTables: 0xffffffff82000000}) {
		t.Errorf("%x", got)
	}
}
