package states

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// For small logs of all kinds, exactly the possible states are listed and made, as
// the oracle confirms.
func TestComplete(t *testing.T) {
	volatile := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		base, l := randomLog(r, 1+r.IntN(9))
		want, n := everything(base, l)
		volatile = max(volatile, n)
		m, got := NewMaker(base, l), map[string]bool{}
		for _, s := range collect(l, Options{Complete: 20, Whole: true}) {
			changed, _ := m.Make(s)
			k := key(l, s, made(base, changed))
			if !want[k] {
				t.Fatalf("seed %d: %+v is made but impossible", seed, s)
			}
			got[k] = true
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d different contents were made, %d are possible", seed, len(got), len(want))
		}
	}
	if volatile < 6 {
		t.Errorf("no log had more than %d volatile writes", volatile)
	}
}

// Drawn and torn states, in any order, have the contents that the oracle gives
// them, and two have the same hash if and only if they have the same contents.
func TestMakeAgrees(t *testing.T) {
	torn, equal := 0, 0
	for seed := range uint64(90) {
		r := rand.New(rand.NewPCG(seed, 4))
		base, l := randomLog(r, 30)
		all := collect(l, Options{Seed: seed, Complete: 2, PerPoint: 4, Most: 150})
		if seed%3 == 0 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		m := NewMaker(base, l)
		contents, hashes := map[Hash]string{}, map[string]Hash{}
		before := bytesOf(base)
		for _, s := range all {
			if s.Torn != nil {
				torn++
			}
			changed, h := m.Make(s)
			want := slowly(base, l, s)
			if !bytes.Equal(made(base, changed), want) {
				t.Fatalf("seed %d: %+v (torn %+v) has the wrong contents", seed, s, s.Torn)
			}
			for i, b := range changed {
				if bytes.Equal(b.Data, before[b.Number*fault.BlockSize:][:fault.BlockSize]) {
					t.Fatalf("seed %d: %+v: block %d equals that of the base", seed, s, b.Number)
				}
				if i > 0 && changed[i-1].Number >= b.Number {
					t.Fatalf("seed %d: blocks are not in order", seed)
				}
			}
			if c, ok := contents[h]; ok && c != string(want) {
				t.Fatalf("seed %d: %+v has the hash of other contents", seed, s)
			}
			if was, ok := hashes[string(want)]; ok {
				if equal++; was != h {
					t.Fatalf("seed %d: %+v has a different hash from that of the same contents before", seed, s)
				}
			}
			contents[h], hashes[string(want)] = string(want), h
		}
	}
	if torn < 1000 || equal < 1000 {
		t.Errorf("only %d torn states and %d equal ones", torn, equal)
	}
}

// A discard on a disk that is much larger than its contents; the last block is
// discarded only in part.
func TestLongDiscard(t *testing.T) {
	base := fault.Image{Size: 1 << 40, Blocks: map[int64][]byte{}}
	for _, n := range []int64{0, 1, 1000, 1 << 20, 1<<20 + 1} {
		base.Blocks[n] = bytes.Repeat([]byte{1}, fault.BlockSize)
	}
	l := logOf(writelog.Entry{Sector: 8, Sectors: 1<<23 - 8 + 3, Flags: writelog.Discard})
	m := NewMaker(base, l)
	changed, h := m.Make(State{Point: 1, Kept: []int{0}})
	half := bytes.Clone(base.Blocks[0])
	clear(half[:3*writelog.SectorSize])
	want := []Block{{1, zeroBlock[:]}, {1000, zeroBlock[:]}, {1 << 20, half}}
	if !reflect.DeepEqual(changed, want) {
		t.Errorf("%d blocks changed, want 1, 1000 and half of 1 Mi", len(changed))
	}
	after := fault.Image{Size: base.Size, Blocks: map[int64][]byte{0: base.Blocks[0], 1 << 20: half, 1<<20 + 1: base.Blocks[0]}}
	if _, same := NewMaker(after, writelog.Log{}).Make(State{}); h != same {
		t.Error("the hash differs from that of the same contents")
	}
}

// The hash depends only on the contents: it is the same from a different base and
// log.
func TestHashIsOfContents(t *testing.T) {
	for seed := range uint64(40) {
		base, l := randomLog(rand.New(rand.NewPCG(seed, 5)), 12)
		m := NewMaker(base, l)
		for _, s := range collect(l, Options{Most: 20}) {
			_, h := m.Make(s)
			disk := slowly(base, l, s)
			_, same := NewMaker(fault.FromBytes(disk), writelog.Log{}).Make(State{})
			if h != same {
				t.Fatalf("seed %d: %+v: hash %x, as a base %x", seed, s, h, same)
			}
		}
	}
}

// The hash is part of recorded results, so it must not change.
func TestHashStays(t *testing.T) {
	l := logOf(write(8, 8, 1, 0), write(17, 3, 2, 0))
	_, h := NewMaker(empty, l).Make(State{Point: 2, Kept: []int{0, 1}})
	want := Hash{}
	if h == want {
		t.Fatal("no hash")
	}
	if got := hashText(h); got != goldenHash {
		t.Errorf("hash %s, was %s", got, goldenHash)
	}
}

// Later states do not change the contents that a caller kept of an earlier one.
func TestKeptIsTheCallers(t *testing.T) {
	l := longEpoch()
	var all, copies []State
	for _, s := range All(l, Options{Most: 300}) {
		all = append(all, s)
		s.Kept = slices.Clone(s.Kept)
		copies = append(copies, s)
	}
	for i := range all {
		if !slices.Equal(all[i].Kept, copies[i].Kept) {
			t.Fatalf("state %d was changed", i)
		}
	}
}

// typical is a log like that of a filesystem with blocks of 4 KiB or less: epochs
// of a few dozen writes on a base of 1000 blocks.
func typical(unit uint64) (fault.Image, writelog.Log) {
	r := rand.New(rand.NewPCG(1, 6))
	base := fault.Image{Size: 16 << 20, Blocks: map[int64][]byte{}}
	noise := rand.NewChaCha8([32]byte{})
	for range 1000 {
		b := make([]byte, fault.BlockSize)
		noise.Read(b) //nolint:errcheck // never fails
		base.Blocks[r.Int64N(4096)] = b
	}
	var l writelog.Log
	for i := range 400 {
		e := write(uint64(r.IntN(2000))*unit, unit*uint64(1+r.IntN(2)), 0, 0)
		noise.Read(e.Data) //nolint:errcheck // never fails
		l.Entries = append(l.Entries, e)
		if i%30 == 29 {
			l.Entries = append(l.Entries, flush)
		}
	}
	return base, l
}

func benchmarkMake(b *testing.B, unit uint64) {
	base, l := typical(unit)
	all := collect(l, Options{Most: 5000})
	m := NewMaker(base, l)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Make(all[i%len(all)])
	}
}

func BenchmarkMake4K(b *testing.B) { benchmarkMake(b, 8) }

func BenchmarkMake1K(b *testing.B) { benchmarkMake(b, 2) }

func BenchmarkAll(b *testing.B) {
	_, l := typical(8)
	n := 0
	for b.Loop() {
		for range All(l, Options{Most: 5000}) {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/state")
}

func BenchmarkBlockSum(b *testing.B) {
	block := bytes.Repeat([]byte{1, 2, 3, 4}, fault.BlockSize/4)
	b.SetBytes(fault.BlockSize)
	for b.Loop() {
		blockSum(1, block)
	}
}
