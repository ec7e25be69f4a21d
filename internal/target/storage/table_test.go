package storage

import (
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"
)

func gpt(sector int, names ...string) []byte {
	b := make([]byte, 1<<20)
	copy(b[sector:], "EFI PART")
	binary.LittleEndian.PutUint64(b[sector+72:], 2)
	binary.LittleEndian.PutUint32(b[sector+80:], 128)
	binary.LittleEndian.PutUint32(b[sector+84:], 128)
	for i, name := range names {
		entry := b[2*sector+i*128:]
		entry[0] = 1
		binary.LittleEndian.PutUint64(entry[32:], uint64(2048*(i+1)))
		binary.LittleEndian.PutUint64(entry[40:], uint64(2048*(i+2)-1))
		for j, c := range utf16.Encode([]rune(name)) {
			binary.LittleEndian.PutUint16(entry[56+2*j:], c)
		}
	}
	return b
}

func TestPartitionTableInWords(t *testing.T) {
	mbr := make([]byte, 512)
	copy(mbr[446+16:], []byte{0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x40, 0, 0})
	mbr[510], mbr[511] = 0x55, 0xaa
	fat := slices.Clone(mbr)
	fat[446] = 0x33
	for _, c := range []struct {
		start []byte
		want  []string
	}{
		{gpt(512, "EFI System", "", "rootfs"), []string{`"EFI System" (1 MiB)`, "no name (1 MiB)", `"rootfs" (1 MiB)`}},
		{gpt(4096, "a\x1bb"), []string{`"ab" (8 MiB)`}},
		{gpt(512), nil},
		{mbr, []string{"type 0x83 (8 MiB)"}},
		{fat, nil},
		{make([]byte, 512), nil},
		{nil, nil},
	} {
		if got := partitionTable(c.start); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func FuzzPartitionTable(f *testing.F) {
	f.Add(gpt(512, "rootfs")[:4096])
	f.Add(gpt(4096, "x")[:12288])
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, start []byte) {
		if all := partitionTable(start); len(all) > 128 {
			t.Errorf("%d partitions", len(all))
		}
	})
}
