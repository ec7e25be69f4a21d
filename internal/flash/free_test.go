package flash

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

func TestFree(t *testing.T) {
	m := Model{Kind: KindFree, Name: "free", Size: 3*chunkSize + Sector}
	d := mustNew(t, m)
	want, rng := make([]byte, m.Size), rand.New(rand.NewPCG(5, 6))
	got := make([]byte, m.Size)
	for i := range 5000 {
		n := (1 + rng.Int64N(m.Size/Sector)) * Sector
		off := rng.Int64N((m.Size-n)/Sector+1) * Sector
		r := Request{Op: Write, Offset: off, Length: n}
		switch rng.IntN(4) {
		case 0:
			r.Op = Trim
			clear(want[off : off+n])
		case 1:
			clear(want[off : off+n])
		default:
			for k := range n {
				want[off+k] = byte(i) + 1
			}
			r.Data = want[off : off+n]
		}
		if done := submit(t, d, time.Duration(i), r); done != time.Duration(i) {
			t.Fatalf("a request took %v", done-time.Duration(i))
		}
		if l := d.Cut(time.Duration(i)); l != (Loss{}) {
			t.Fatalf("a cut took %+v", l)
		}
		submit(t, d, time.Duration(i), Request{Op: Read, Length: m.Size, Data: got})
		if !bytes.Equal(got, want) {
			t.Fatalf("request %d: not what was written", i)
		}
	}
	submit(t, d, 0, Request{Op: Trim, Length: m.Size})
	for i, c := range d.(*free).data.chunks[:3] {
		if c != nil {
			t.Errorf("chunk %d was not freed", i)
		}
	}
	data := make([]byte, 4096)
	r := Request{Op: Write, Offset: chunkSize - 2048, Length: 4096, Data: data}
	submit(t, d, 0, r)
	if n := testing.AllocsPerRun(100, func() { _, _ = d.Submit(0, r) }); n != 0 {
		t.Errorf("%v allocations for overwriting", n)
	}
}

func TestRequestsRefused(t *testing.T) {
	for _, m := range []Model{{Kind: KindFree, Name: "free", Size: 1 << 20}, tiny(SchemePage), barracuda()} {
		d := mustNew(t, m)
		before := d.Stats()
		for _, r := range []Request{
			{Op: Read, Offset: m.Size, Length: Sector}, {Op: Read, Offset: -Sector, Length: Sector},
			{Op: Write, Offset: 1, Length: Sector}, {Op: Write, Length: Sector + 1}, {Op: Trim, Length: -Sector},
			{Op: Write, Offset: 1<<63 - Sector, Length: Sector}, {Op: Write, Offset: Sector, Length: 1<<63 - Sector},
		} {
			if _, err := d.Submit(0, r); !errors.Is(err, ErrRange) {
				t.Errorf("%s: %+v: error %v", m.Kind, r, err)
			}
		}
		for _, r := range []Request{{}, {Op: 99}, {Op: Read, Length: 4096, Data: make([]byte, 512)}} {
			if _, err := d.Submit(0, r); err == nil {
				t.Errorf("%s: %+v is accepted", m.Kind, r)
			}
		}
		if d.Stats() != before {
			t.Errorf("%s: a refused request is counted", m.Kind)
		}
	}
}
