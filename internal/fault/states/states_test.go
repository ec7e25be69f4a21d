package states

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

func write(sector, sectors uint64, v byte, flags writelog.Flags) writelog.Entry {
	return writelog.Entry{Sector: sector, Sectors: sectors, Flags: flags, Data: bytes.Repeat([]byte{v}, int(sectors)*writelog.SectorSize)}
}

func logOf(entries ...writelog.Entry) writelog.Log { return writelog.Log{Entries: entries} }

var flush = writelog.Entry{Flags: writelog.Flush}

func mark(text string) writelog.Entry {
	return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)}
}

func collect(l writelog.Log, o Options) []State {
	var all []State
	for number, s := range All(l, o) {
		if number != int64(len(all)+1) {
			panic("numbers are not consecutive")
		}
		all = append(all, s)
	}
	return all
}

func TestVolatile(t *testing.T) {
	discard := writelog.Entry{Sector: 9, Sectors: 8, Flags: writelog.Discard}
	l := logOf(write(0, 8, 1, 0), write(8, 8, 2, writelog.FUA), discard, mark("m"), flush, write(0, 1, 3, writelog.Metadata),
		write(1, 1, 4, writelog.Flush), write(2, 1, 5, writelog.Flush|writelog.FUA), write(3, 1, 6, 0))
	for point, want := range [][]int{nil, {0}, {0}, {0, 2}, {0, 2}, nil, {5}, {6}, nil, {8}} {
		if got := Volatile(l, point); !slices.Equal(got, want) {
			t.Errorf("at point %d entries %v are volatile, want %v", point, got, want)
		}
	}
	if Volatile(l, -1) != nil || !slices.Equal(Volatile(l, 99), []int{8}) {
		t.Error("volatile entries at a point that the log does not have")
	}
}

// first returns the first byte of each block in a state.
func first(base fault.Image, l writelog.Log, s State) []byte {
	changed, _ := NewMaker(base, l).Make(s)
	var f []byte
	for i, b := range made(base, changed) {
		if i%fault.BlockSize == 0 {
			f = append(f, b)
		}
	}
	return f
}

var empty = fault.Image{Size: testSectors * writelog.SectorSize}

func TestFlushMakesDurable(t *testing.T) {
	l := logOf(write(0, 8, 1, 0), flush, write(8, 8, 2, 0))
	for s, want := range map[*State]string{
		{Point: 1}:                    "\x00\x00",
		{Point: 1, Kept: []int{0}}:    "\x01\x00",
		{Point: 2}:                    "\x01\x00",
		{Point: 3}:                    "\x01\x00",
		{Point: 3, Kept: []int{2}}:    "\x01\x02",
		{Point: 3, Kept: []int{0, 2}}: "\x01\x02", // a durable entry may be listed
	} {
		if got := string(first(empty, l, *s)[:2]); got != want {
			t.Errorf("%+v: %q, want %q", *s, got, want)
		}
	}
}

func TestFUAIsDurableAlone(t *testing.T) {
	l := logOf(write(0, 8, 1, 0), write(8, 8, 2, writelog.FUA), mark("m"))
	if got := string(first(empty, l, State{Point: 2})[:2]); got != "\x00\x02" {
		t.Errorf("nothing kept: %q, want the FUA write alone", got)
	}
	for _, s := range collect(l, Options{Whole: true}) {
		if slices.Contains(s.Kept, 1) {
			t.Errorf("%+v lists a durable write", s)
		}
		if s.Point >= 2 && first(empty, l, s)[1] != 2 {
			t.Errorf("%+v lost an FUA write", s)
		}
	}
}

// A flush with data flushes only what came before its own data.
func TestFlushWithData(t *testing.T) {
	l := logOf(write(0, 8, 1, 0), write(8, 8, 2, writelog.Flush), write(16, 8, 3, writelog.Flush|writelog.FUA))
	for s, want := range map[*State]string{
		{Point: 2}:                 "\x01\x00\x00",
		{Point: 2, Kept: []int{1}}: "\x01\x02\x00",
		{Point: 3}:                 "\x01\x02\x03",
	} {
		if got := string(first(empty, l, *s)[:3]); got != want {
			t.Errorf("%+v: %q, want %q", *s, got, want)
		}
	}
}

func TestDiscardMayHappenOrNot(t *testing.T) {
	l := logOf(write(0, 16, 1, 0), flush, writelog.Entry{Sector: 8, Sectors: 8, Flags: writelog.Discard}, flush)
	for s, want := range map[*State]string{
		{Point: 3}:                 "\x01\x01",
		{Point: 3, Kept: []int{2}}: "\x01\x00",
		{Point: 4}:                 "\x01\x00",
	} {
		if got := string(first(empty, l, *s)[:2]); got != want {
			t.Errorf("%+v: %q, want %q", *s, got, want)
		}
	}
	for _, s := range collect(l, Options{}) {
		if s.Torn != nil && s.Torn.Entry == 2 {
			t.Errorf("%+v tears a discard", s)
		}
	}
}

// Kept entries are applied in the order of the log, among the durable ones.
func TestOrder(t *testing.T) {
	l := logOf(write(0, 8, 1, 0), write(0, 8, 2, writelog.FUA), write(0, 8, 3, 0))
	for s, want := range map[*State]byte{
		{Point: 3}:                    2,
		{Point: 3, Kept: []int{0}}:    2,
		{Point: 3, Kept: []int{0, 2}}: 3,
		{Point: 1, Kept: []int{0}}:    1,
	} {
		if got := first(empty, l, *s)[0]; got != want {
			t.Errorf("%+v: %d, want %d", *s, got, want)
		}
	}
}

// Torn are volatile writes that were kept, and an FUA write immediately before the
// point; never a write that had returned, and always at sectors within it.
func TestTorn(t *testing.T) {
	l := logOf(write(0, 1, 1, 0), write(0, 2, 1, 0), mark("m"), write(8, 64, 2, writelog.FUA), mark("m"), flush, write(0, 8, 3, 0))
	forms := map[int]map[string]bool{}
	for seed := range uint64(20) {
		for _, s := range collect(l, Options{Seed: seed}) {
			if err := Check(l, s); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			if s.Torn == nil {
				continue
			}
			e, at := s.Torn.Entry, s.Torn
			n := int(l.Entries[e].Sectors)
			if at.First < 0 || at.Sectors < 1 || at.First+at.Sectors > n || at.Sectors == n {
				t.Fatalf("%+v of %d sectors", *at, n)
			}
			if e == 3 && s.Point != 4 {
				t.Fatalf("an FUA write torn at point %d", s.Point)
			}
			form := "middle"
			switch {
			case at.First == 0:
				form = "beginning"
			case at.First+at.Sectors == n:
				form = "end"
			}
			if forms[e] == nil {
				forms[e] = map[string]bool{}
			}
			forms[e][form] = true
		}
	}
	want := map[int]map[string]bool{
		1: {"beginning": true, "end": true},
		3: {"beginning": true, "end": true, "middle": true},
		6: {"beginning": true, "end": true, "middle": true},
	}
	if !reflect.DeepEqual(forms, want) {
		t.Errorf("torn by entry: %v, want %v", forms, want)
	}
	for _, s := range collect(l, Options{Whole: true}) {
		if s.Torn != nil {
			t.Fatalf("%+v although no write may be torn", s)
		}
	}
}

func TestPossible(t *testing.T) {
	var many writelog.Log
	for i := range 3000 {
		many.Entries = append(many.Entries, write(uint64(i), 1, 1, 0))
	}
	// 1 + 1 + 2 + 4 + … + 2^2999
	if got := Possible(many); math.Abs(got-3000) > 1e-6 {
		t.Errorf("3000 writes without a flush: 2^%v", got)
	}
	if got := Possible(writelog.Log{}); got != 0 {
		t.Errorf("no entries: 2^%v, want one state", got)
	}
	for seed := range uint64(50) {
		_, l := randomLog(rand.New(rand.NewPCG(seed, 1)), 9)
		n := len(collect(l, Options{Complete: 20, Whole: true}))
		if got := math.Exp2(Possible(l)); math.Abs(got-float64(n)) > 1e-6 {
			t.Errorf("seed %d: %v possible, %d listed", seed, got, n)
		}
	}
}

func TestCheck(t *testing.T) {
	l := logOf(write(0, 8, 1, 0), flush, write(8, 8, 2, 0), write(16, 8, 3, writelog.FUA), mark("m"),
		writelog.Entry{Sector: 0, Sectors: 8, Flags: writelog.Discard})
	for _, s := range []State{{}, {Point: 4, Torn: &Torn{3, 0, 1}}, {Point: 6, Kept: []int{2, 5}, Torn: &Torn{2, 1, 7}}, {Point: 6}} {
		if err := Check(l, s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []State{
		{Point: -1}, {Point: 7}, {Point: 3, Kept: []int{0}}, {Point: 6, Kept: []int{5, 2}}, {Point: 6, Kept: []int{2, 2}},
		{Point: 6, Kept: []int{3}}, {Point: 6, Kept: []int{99}}, {Point: 6, Kept: []int{-1}}, {Point: 2, Kept: []int{2}},
		{Point: 5, Torn: &Torn{3, 0, 1}}, {Point: 6, Torn: &Torn{2, 0, 1}}, {Point: 6, Kept: []int{5}, Torn: &Torn{5, 0, 1}},
		{Point: 4, Torn: &Torn{3, -1, 1}}, {Point: 4, Torn: &Torn{3, 0, 0}}, {Point: 4, Torn: &Torn{3, 1, 8}},
		{Point: 4, Torn: &Torn{3, math.MaxInt, math.MaxInt}}, {Point: 0, Torn: &Torn{-1, 0, 1}},
	} {
		if err := Check(l, s); err == nil || !strings.Contains(err.Error(), "a state at point") {
			t.Errorf("%+v %+v: error %v", s, s.Torn, err)
		}
		NewMaker(empty, l).Make(s) // it must not panic
	}
}
