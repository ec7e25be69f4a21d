package texture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"whichfs/internal/plan/tree/squeeze"
)

// The same bytes on every machine.
func TestFillIsTheSameEverywhere(t *testing.T) {
	sum := sha256.New()
	for i, x := range []Texture{{}, {Copy: 16, Run: 31, Far: 0, Odd: 257}, {Copy: 600, Run: 100, Far: 1000}, {Copy: 4, Run: 0, Odd: 1000}} {
		for _, n := range []int{0, 1, 7, 300, 4096, 131072} {
			p := make([]byte, n)
			x.Fill(p, uint64(i))
			again := bytes.Repeat([]byte{0xff}, n)
			x.Fill(again, uint64(i))
			if !bytes.Equal(p, again) {
				t.Errorf("%+v: %d bytes depend on the previous contents", x, n)
			}
			sum.Write(p)
		}
	}
	if got, want := hex.EncodeToString(sum.Sum(nil)[:8]), "ccb3ce7ff194b6e8"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// All three algorithms reach the measured ratios of real trees' blocks.
func TestFit(t *testing.T) {
	m, err := squeeze.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		length    int
		want      Ratios
		worth     bool
		tolerance int // thousandths
	}{
		"objects": {128 << 10, Ratios{410, 280, 260}, true, 15},
		"code":    {128 << 10, Ratios{820, 640, 650}, false, 25},
	} {
		x, got, err := Fit(m, c.length, c.want, c.worth)
		if err != nil {
			t.Fatal(err)
		}
		if !x.Valid() {
			t.Errorf("%s: %+v is invalid", name, x)
		}
		for a := range got {
			if d := got[a] - c.want[a]; d < -c.tolerance || d > c.tolerance {
				t.Errorf("%s: %v is %d, want %d (%+v)", name, squeeze.Algorithm(a), got[a], c.want[a], x)
			}
		}
		p := make([]byte, c.length)
		x.Fill(p, 99)
		if squeeze.Promising(p) != c.worth {
			t.Errorf("%s: Btrfs tries: %v", name, !c.worth)
		}
	}
}

func TestZeroValueIsIncompressible(t *testing.T) {
	m, err := squeeze.New()
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, squeeze.Block)
	Texture{}.Fill(p, 1)
	s, err := m.Block(p)
	if err != nil {
		t.Fatal(err)
	}
	for a, n := range s {
		if n < squeeze.Block {
			t.Errorf("%v makes %d bytes of %d", squeeze.Algorithm(a), n, squeeze.Block)
		}
	}
}

func TestValid(t *testing.T) {
	for _, x := range []Texture{{Run: 1}, {Copy: 3}, {Copy: 1 << 20}, {Copy: 8, Run: -1}, {Copy: 8, Far: 1001}, {Copy: 8, Odd: -1}} {
		if x.Valid() {
			t.Errorf("%+v passes", x)
		}
	}
}

// Any valid texture fills the whole buffer and stays inside it.
func FuzzFill(f *testing.F) {
	f.Add(8, 10, 5, 5, 300, uint64(1))
	f.Add(600, 0, 1000, 1000, 9000, uint64(2))
	f.Fuzz(func(t *testing.T, length, run, far, odd, n int, seed uint64) {
		x := Texture{length, run, far, odd}
		if !x.Valid() || n < 0 || n > 1<<17 {
			return
		}
		x.Fill(make([]byte, n), seed)
	})
}

func BenchmarkFill(b *testing.B) {
	p := make([]byte, squeeze.Block)
	b.SetBytes(int64(len(p)))
	for i := range b.N {
		Texture{Copy: 16, Run: 31, Odd: 257}.Fill(p, uint64(i))
	}
}
