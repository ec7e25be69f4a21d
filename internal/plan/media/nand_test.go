package media

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nand(t *testing.T, text string) NAND {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.NAND()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const delays = " do_delays=1 access_delay=25 programm_delay=200 erase_delay=2 output_cycle=25 input_cycle=25"

func TestNANDParameters(t *testing.T) {
	for _, c := range []struct {
		text, more string
		partition  int64
		want       string
	}{
		{text: "nand:128M", want: "id_bytes=0xec,0xa1,0x00,0x15" + delays},
		{text: "nand:128M", partition: 128 << 20, want: "id_bytes=0xec,0xa1,0x00,0x15" + delays},
		{text: "nand:128M", partition: 8 << 20, want: "id_bytes=0xec,0xa1,0x00,0x15" + delays + " parts=64"},
		{text: "nand:16M", partition: 1 << 20, want: "id_bytes=0x20,0x33" + delays + " parts=64"},
		{text: "nand:8M", want: "id_bytes=0x20,0xa2,0x00,0x15" + delays + " overridesize=6"},
		{text: "nand:8M", partition: 1 << 20, want: "id_bytes=0x20,0xa2,0x00,0x15" + delays + " overridesize=6 parts=8"},
		{text: "nand:128M,page=512", want: "id_bytes=0x20,0x78" + delays},
		{text: "nand:64M,bad=6:5,weak=9:7/100,weakpages=1401/2,grave=0,bitflips=2,ecc=4",
			want: "id_bytes=0x20,0xa2,0x00,0x15" + delays + " badblocks=5,6 weakblocks=7:100,9:3 weakpages=1401:2 gravepages=0:3 bitflips=2 bch=4"},
		{text: "nand:64M,bad=0", want: "id_bytes=0x20,0xa2,0x00,0x15" + delays + " badblocks=0"},
		{text: "nand:64M,bad=5,weak=7/100,bitflips=1", more: "bad=3-5,weak=7/2:8/0,bitflips=0",
			want: "id_bytes=0x20,0xa2,0x00,0x15" + delays + " badblocks=3,4,5 weakblocks=7:2,8:0"},
	} {
		n, err := nand(t, c.text).With(c.more)
		if err != nil {
			t.Errorf("%s with %s: %v", c.text, c.more, err)
			continue
		}
		if err := n.Partition(c.partition); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if d := cmp.Diff(c.want, n.Parameters(c.partition)); d != "" {
			t.Errorf("%s with %s: %s", c.text, c.more, d)
		}
	}
}

// With does not change its receiver: every level of a factor starts from the
// same chip.
func TestNANDWith(t *testing.T) {
	n := nand(t, "nand:64M,bad=5,weak=7/100")
	before := n.Parameters(0)
	if _, err := n.With("bad=3,weak=7/2"); err != nil {
		t.Fatal(err)
	}
	if got := n.Parameters(0); got != before {
		t.Errorf("%s became %s", before, got)
	}
	for more, want := range map[string]string{
		"page=512":    "selects another chip",
		"bad=512":     "block 512 is not on the chip",
		"size=3":      "unknown option",
		"bad=1,bad=2": "twice",
	} {
		if _, err := n.With(more); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), more) {
			t.Errorf("%s: %v", more, err)
		}
	}
	for _, size := range []int64{-1, 1000, 128 << 20, 64<<20 + 64<<10} {
		if err := n.Partition(size); err == nil {
			t.Errorf("a partition of %d is good", size)
		}
	}
	if _, err := (Storage{Kind: KindRAM, Size: 64 << 20}).NAND(); err == nil {
		t.Error("a disk in memory is a chip")
	}
}

func TestNANDConditions(t *testing.T) {
	var lines []string
	for _, c := range nand(t, "nand:64M,bad=5:6,weak=7/100:9,bitflips=1,ecc=4").Conditions() {
		lines = append(lines, c.Name+": "+c.Value)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"page read: 25 µs", "page program: 200 µs", "block erase: 2 ms", "bus cycle: 25 ns a byte", "bad blocks: 5,6",
		"weak blocks (erases): 7/100, 9/3", "bit flips: at most 1 a page", "error correction: BCH in software, 4 bits per 512 B",
		"page: 2048 B and 64 spare", "erase block: 131072 B", "rated endurance: 100000 erases of a block (assumed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
