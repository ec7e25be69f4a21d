package states

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// A third of the losses leave none of the volatile writes, a third all but the end
// of the last one, and a third any of them.
func TestRemains(t *testing.T) {
	l := writelog.Log{Entries: make([]writelog.Entry, 20)}
	for i := range l.Entries {
		l.Entries[i] = writelog.Entry{Sector: uint64(i * 8), Sectors: 8, Data: make([]byte, 4096)}
	}
	single := writelog.Log{Entries: []writelog.Entry{{Sectors: 1, Data: make([]byte, 512)}, {Sectors: 1, Data: make([]byte, 512)}}}
	flushed := writelog.Log{Entries: []writelog.Entry{{Sectors: 1, Data: make([]byte, 512)}, {Flags: writelog.Flush}}}
	source := func(n int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(n))) }
	none, torn, some := 0, 0, 0
	for n := range 3000 {
		s := Remains(source(n), l, 14)
		if err := Check(l, s); err != nil {
			t.Fatal(err)
		}
		switch {
		case s.Point != 14:
			t.Fatalf("%+v", s)
		case len(s.Kept) == 0:
			none++
		case s.Torn != nil:
			torn++
			if len(s.Kept) != 14 || s.Torn.Entry != 13 || s.Torn.First != 0 || s.Torn.Sectors < 1 || s.Torn.Sectors > 7 {
				t.Fatalf("%+v", s.Torn)
			}
		default:
			some++
		}
		// A request of one sector cannot be torn: it is lost.
		if s := Remains(source(n), single, 2); s.Torn != nil {
			t.Fatalf("%+v", s.Torn)
		}
		if s := Remains(source(n), flushed, 2); len(s.Kept) > 0 || s.Torn != nil {
			t.Fatalf("%+v", s)
		}
	}
	for _, n := range []int{none, torn, some} {
		if n < 850 || n > 1150 {
			t.Errorf("%d with nothing, %d torn, %d of any", none, torn, some)
		}
	}
}

// The same seed draws the same states in every version, so that runs of different
// versions can be compared.
func TestDrawnIsFixed(t *testing.T) {
	l := writelog.Log{Entries: make([]writelog.Entry, 20)}
	for i := range l.Entries {
		l.Entries[i] = writelog.Entry{Sector: uint64(i * 8), Sectors: 8, Data: make([]byte, 4096)}
	}
	h := sha256.New()
	for n := range 200 {
		b, err := json.Marshal(Remains(rand.New(rand.NewPCG(1, uint64(n))), l, 14))
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != "7617bece29e1d0afcd8024b7de42a20f80843d157c8d7539b35c08539e4fbd69" {
		t.Errorf("remains: %s", got)
	}
	im := fault.Image{Size: 1 << 20, Blocks: map[int64][]byte{}}
	var sectors []int64
	for n := int64(3); n < 60; n += 7 {
		im.Blocks[n] = make([]byte, fault.BlockSize)
		for i := range im.Blocks[n] {
			im.Blocks[n][i] = byte(n) + byte(i)
		}
		sectors = append(sectors, n*8+1, n*8+5)
	}
	h = sha256.New()
	for n := range 50 {
		for _, b := range Flipped(rand.New(rand.NewPCG(9, uint64(n)<<8|3)), im, sectors, 40) {
			_, _ = fmt.Fprintf(h, "%d %x\n", b.Number, b.Data)
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != "69669480b3da01c9ada74ffbeed4c5a95194aef69c3688eccad11fb78852130c" {
		t.Errorf("flipped: %s", got)
	}
}

// The requested number of bits differs, all of them in the given sectors.
func TestFlipped(t *testing.T) {
	im := fault.Image{Size: 1 << 16, Blocks: map[int64][]byte{2: make([]byte, fault.BlockSize), 5: make([]byte, fault.BlockSize)}}
	sectors := []int64{2 * 8, 5*8 + 7}
	for bits, want := range map[int]int{1: 1, 40: 40, 1 << 20: 2 * 512 * 8} {
		n := 0
		for _, b := range Flipped(rand.New(rand.NewPCG(1, 2)), im, sectors, bits) {
			for i, x := range b.Data {
				if x != 0 && !(b.Number == 2 && i < 512 || b.Number == 5 && i >= 7*512) {
					t.Fatalf("byte %d of block %d is no longer 0", i, b.Number)
				}
				for ; x != 0; x &= x - 1 {
					n++
				}
			}
		}
		if n != want {
			t.Errorf("%d bits of %d were flipped", n, want)
		}
	}
	if im.Blocks[2][0] != 0 {
		t.Error("the image itself was changed")
	}
}
