package fio

import (
	"math"
	"testing"
)

func TestVolume(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  int64
		known bool
	}{
		{"[a]\nsize=500MB\nnrfiles=50\n", 500 << 20, true},
		{"[a]\nsize=1g\nnumjobs=4\n", 4 << 30, true},
		{"[global]\nsize=1m\n[a]\n[b]\nsize=2m\n[global]\nnumjobs=3\n[c]\n", 1<<20 + 2<<20 + 3<<20, true},
		{"[a]\nsize=4m\nfilename=x\nnumjobs=8\n[b]\nsize=6m\nfilename=x\n", 6 << 20, true},
		{"[a]\nfilesize=1k-4k\nnr_files=10\n", 40 << 10, true},
		{"[a]\nsize=50%\n[b]\nsize=1m\n", 1 << 20, false},
		{"[a]\nfill_fs=1\n", 0, false},
		{"[a]\nsize=1m\nioengine=null\n", 0, true},
		{"[a]\nrw=read\n", 0, false},
		{"[a]\nsize=(1024*4)\n", 0, false},
		{"[a]\nsize=1p\nnumjobs=100000\n", math.MaxInt64, true},
	} {
		f, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, known := f.Volume(); got != c.want || known != c.known {
			t.Errorf("%q: %d, known %v; want %d, %v", c.text, got, known, c.want, c.known)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512b": 512, "4k": 4096, "4K": 4096, "4kB": 4096, "4KiB": 4096, "500MB": 500 << 20, "2g": 2 << 30, "1 t": 1 << 40, "1P": 1 << 50,
		"": -1, "k": -1, "-1": -1, "+1": -1, "1.5g": -1, "10%": -1, "0x10": -1, "4kk": -1, "9223372036854775807k": -1, "1m-2m": -1,
	} {
		got, ok := ParseSize(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, ok, want)
		}
	}
}

func TestReads(t *testing.T) {
	for text, want := range map[string]bool{
		"[a]\nsize=1m": true, "[a]\nrw=write": false, "[a]\nreadwrite=randwrite:8": false, "[a]\nrw=randrw": true, "[a]\nrw=rw": true,
		"[a]\nrw=write\n[b]\nrw=read": true, "[global]\nrw=write\n[b]\nsize=4k": false, "[a]\nrw=randtrimwrite": false,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if f.Reads() != want {
			t.Errorf("%q reads: %v", text, !want)
		}
	}
}

// Jobs that only use the same files differently share a layout.
func TestLayout(t *testing.T) {
	layout := func(text string) string {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return f.Layout()
	}
	one := layout("[a]\nrw=read\nsize=4m\nblocksize=4k\ndirect=1\n")
	if one != layout("# other\n[a]\nreadwrite=randread\nsize=4m\nbs=1m\nbuffered=1\nio_limit=2m\n") {
		t.Error("the same files are not seen to be the same")
	}
	for _, other := range []string{"[b]\nsize=4m", "[a]\nsize=8m", "[a]\nsize=4m\nnumjobs=2", "[a]\nsize=4m\nfilename=x", "[a]\nsize=4m\nunlink=1"} {
		if one == layout(other) {
			t.Errorf("%q is taken for the same files", other)
		}
	}
}
