package speed

import (
	"bytes"
	"hash/crc32"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whichfs/internal/plan/processor"
	"whichfs/internal/testing/golden"
)

// The tree has what a map has, and the bit map a block for each of its extents.
func TestVolume(t *testing.T) {
	v := newVolume()
	free := freeBlocks(v)
	want := map[uint64]uint32{}
	r := newRandom(3)
	for range 100_000 {
		o, block := &v.all[r.next()>>4%objects], r.next()>>4%blocksOf
		key := keyOf(o, block)
		at, there := v.find(key)
		if known, ok := want[key]; ok != there || known != at {
			t.Fatalf("key %x has %d, %v; want %d, %v", key, at, there, known, ok)
		}
		(regular{}).write(v, o, block)
		if there {
			delete(want, key)
		} else {
			want[key], _ = v.find(key)
		}
	}
	if len(want) < 1000 || freeBlocks(v) != free-len(want) {
		t.Errorf("%d extents, %d blocks of %d are free", len(want), freeBlocks(v), free)
	}
	for i := range v.all {
		name := nameOf(uint32(i))
		if o := v.lookup(&name); o != &v.all[i] {
			t.Errorf("%s is not found", name)
		}
	}
}

func freeBlocks(v *volume) (n int) {
	for _, word := range v.used {
		n += bits.OnesCount64(^word)
	}
	return n
}

// What was packed is unpacked, and is smaller.
func TestPacker(t *testing.T) {
	p := newPacker()
	for at := 0; at < len(p.text); at += packed {
		in := p.text[at : at+packed]
		n := p.pack(in)
		if n > packed*2/3 || n < packed/5 {
			t.Errorf("%d bytes of %d are left", n, packed)
		}
		if got := p.unpack(n); got != packed || !bytes.Equal(p.back[:], in) {
			t.Fatalf("%d bytes are unpacked: %q", got, p.back[:got])
		}
	}
}

func TestChecksums(t *testing.T) {
	in := textLike(4096)
	for _, polynomial := range []uint32{crc32.IEEE, crc32.Castagnoli} {
		if got, want := crc(slicing(polynomial), 0, in), crc32.Checksum(in, crc32.MakeTable(polynomial)); got != want {
			t.Errorf("CRC %x, not %x", got, want)
		}
		for seed := range uint32(several) {
			in := textLike(checked + several*64)[seed*64:][:checked]
			if got, want := newInstructions(polynomial)(seed), crc(slicing(polynomial), 0, in); got != want {
				t.Errorf("CRC of %d: %x by instructions, %x by tables", seed, got, want)
			}
		}
	}
	// What klauspost/compress has for the same bytes.
	bytes := make([]byte, 64)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	if a, b := xxhash64(bytes[:32]), xxhash64(bytes); a != 0xcbf59c5116ff32b4 || b != 0xf7c67301db6713f0 {
		t.Errorf("xxhash64 %x, %x", a, b)
	}
}

// Measuring allocates nothing while a clock runs.
func TestAllocations(t *testing.T) {
	all, end, err := kinds()
	defer end()
	if err != nil {
		t.Fatal(err)
	}
	c := clock{}
	for i := range all {
		if all[i].begin != nil {
			break // AllocsPerRun has all threads pause, which one that waits for this one cannot
		}
		if n := testing.AllocsPerRun(3, func() { _, _ = c.time(&all[i]) }); n != 0 {
			t.Errorf("%s allocates %v times", all[i].key, n)
		}
	}
}

func TestMeasure(t *testing.T) {
	m, err := Measure("here", 0)
	if err != nil || m.Rounds != fewest || len(m.Figures) != 7+len(byInstructions()) || m.Profile.Name != "here" {
		t.Fatal(m, err)
	}
	for _, f := range m.Figures {
		if !(0 < f.Lower && f.Lower <= f.Median && f.Median <= f.Upper) || math.IsInf(f.Upper, 0) {
			t.Errorf("%+v", f)
		}
	}
	t.Log(m.Profile)
}

// The file is one that --cpu reads.
func TestText(t *testing.T) {
	all := []kind{{key: "other"}, {key: "compressing"}, {key: "checksums"}, {key: copying}, {key: "crc32"}, {key: "crc32c"}, {key: call}, {key: fault}, {key: change}, {key: unchanged}}
	rates := [][]float64{
		{499e6, 501e6, 500.4e6, 500.4e6, 502e6}, {900e6, 901e6, 899e6, 900e6, 900e6}, {1e9, 1.2e9, 1.1e9, 1.15e9, 1.19e9},
		{180e6, 180e6, 180e6, 180e6, 180e6}, {210e6, 210e6, 210e6, 210e6, 210e6}, {4e9, 4e9, 4e9, 4e9, 4e9},
		{499e3, 501e3, 500.4e3, 500.4e3, 502e3}, {49.9e3, 50.1e3, 50.04e3, 50.04e3, 50.2e3},
		{50e3, 50e3, 50e3, 50e3, 50e3}, {100e3, 100e3, 100e3, 100e3, 100e3},
	}
	m, err := summary("mine", all, rates)
	if err != nil {
		t.Fatal(err)
	}
	m.Profile.Title = "a \"processor\""
	text := m.Text(Where{Machine: "a\nboard", Kernel: "6.1.0", Agent: "v1", At: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)})
	golden.Check(t, "mine.toml", text)
	path := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := processor.Load(path); err != nil || got != m.Profile {
		t.Errorf("%+v, %v; want %+v", got, err, m.Profile)
	}
}
