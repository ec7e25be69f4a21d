package states

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"whichfs/internal/fault/writelog"
)

// longEpoch has 40 writes without a flush, between two short epochs.
func longEpoch() writelog.Log {
	l := logOf(write(0, 8, 1, 0), write(8, 8, 1, 0), flush, mark("begin"))
	for i := range 40 {
		l.Entries = append(l.Entries, write(uint64(8*i), 8, byte(i), 0))
	}
	l.Entries = append(l.Entries, mark("acked"), flush, write(0, 8, 9, 0), mark("end"))
	return l
}

func TestSameSeedSameStates(t *testing.T) {
	l := longEpoch()
	for _, o := range []Options{{Seed: 7}, {Seed: 7, Most: 500}} {
		a, b := collect(l, o), collect(l, o)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%+v: the same seed gives different states", o)
		}
		o.Seed = 8
		if reflect.DeepEqual(a, collect(l, o)) {
			t.Errorf("%+v: a different seed gives the same states", o)
		}
	}
}

// The iteration can stop at any state.
func TestLazy(t *testing.T) {
	var l writelog.Log
	for i := range 20000 {
		l.Entries = append(l.Entries, write(uint64(i), 1, 1, 0))
	}
	for n := range All(l, Options{Complete: 24}) {
		if n == 1000 {
			return
		}
	}
	t.Error("fewer than 1000 states")
}

// The states listed at a point do not depend on the other points requested.
func TestWindows(t *testing.T) {
	for seed := range uint64(12) {
		_, l := randomLog(rand.New(rand.NewPCG(seed, 2)), 25)
		if seed == 0 {
			l = longEpoch()
		}
		all := collect(l, Options{Seed: seed, Complete: 3, PerPoint: 5})
		points := map[int]bool{}
		for _, s := range all {
			points[s.Point] = true
		}
		if len(points) != len(l.Entries)+1 {
			t.Fatalf("seed %d: states at %d of %d points", seed, len(points), len(l.Entries)+1)
		}
		if !slices.IsSortedFunc(all, func(a, b State) int { return a.Point - b.Point }) {
			t.Fatalf("seed %d: points are not in order", seed)
		}
		for from := range len(l.Entries) + 1 {
			for _, to := range []int{from, from + 3, len(l.Entries)} {
				if to == 0 {
					continue // 0 means to the end
				}
				got := collect(l, Options{Seed: seed, Complete: 3, PerPoint: 5, From: from, To: to})
				var want []State
				for _, s := range all {
					if s.Point >= from && s.Point <= to {
						want = append(want, s)
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, from %d to %d: %d states, want %d, or different ones", seed, from, to, len(got), len(want))
				}
			}
		}
	}
}

func TestMost(t *testing.T) {
	l := longEpoch()
	points := len(l.Entries) + 1
	for _, whole := range []bool{true, false} {
		all := collect(l, Options{Seed: 3, Whole: whole})
		listed := map[string]bool{}
		for _, s := range all {
			listed[text(s)] = true
		}
		for _, most := range []int{1, 2, 10, points - 1, points, points + 1, 100, 333, 1000, len(all) - 1, len(all), len(all) + 1, 1 << 40} {
			got := collect(l, Options{Seed: 3, Whole: whole, Most: most})
			if len(got) > most || whole && len(got) != min(most, len(all)) {
				t.Errorf("%d states, at most %d requested of %d", len(got), most, len(all))
			}
			if !whole && len(got) < min(most, len(all))*9/10 {
				t.Errorf("only %d states of %d requested", len(got), most)
			}
			byPoint := map[int][]State{}
			for _, s := range got {
				if !listed[text(s)] {
					t.Fatalf("most %d: %+v is not listed without a limit", most, s)
				}
				delete(listed, text(s))
				byPoint[s.Point] = append(byPoint[s.Point], s)
			}
			for _, s := range got {
				listed[text(s)] = true
			}
			if len(byPoint) != min(most, points) {
				t.Errorf("most %d: states at %d of %d points", most, len(byPoint), points)
			}
			for point, some := range byPoint {
				if want := Volatile(l, point); !slices.Equal(some[0].Kept, want) || some[0].Torn != nil {
					t.Errorf("most %d: the first at point %d is %+v, which does not keep all of %v", most, point, some[0], want)
				}
			}
			if most >= 3*points && len(byPoint[points-4]) < 2 {
				t.Errorf("most %d: %d states at the mark after the long epoch", most, len(byPoint[points-4]))
			}
		}
	}
}

// The last points get their share even if there is less than one state per point.
func TestMostIsSpread(t *testing.T) {
	l := longEpoch()
	got := collect(l, Options{Most: 8})
	for i, s := range got {
		if low, high := i*(len(l.Entries)+1)/8, (i+1)*(len(l.Entries)+1)/8; s.Point < low || s.Point >= high+1 {
			t.Errorf("state %d of 8 is at point %d, want one of %d to %d", i, s.Point, low, high)
		}
	}
}

func text(s State) string {
	b := []byte{byte(s.Point)}
	for _, k := range s.Kept {
		b = append(b, byte(k), ' ')
	}
	if s.Torn != nil {
		b = append(b, byte(s.Torn.Entry), byte(s.Torn.First), byte(s.Torn.Sectors))
	}
	return string(b)
}

// Where subsets are drawn, the states include all writes, none, prefixes and those
// that lack one write, and no subset occurs twice.
func TestDrawnPoint(t *testing.T) {
	for n := 7; n <= 70; n++ {
		l := writelog.Log{}
		for i := range n {
			l.Entries = append(l.Entries, write(uint64(i), 1, 1, 0))
		}
		l.Entries = append(l.Entries, mark("m"))
		seen := map[string]bool{}
		prefixes, lacking, drawn := 0, 0, 0
		for _, s := range collect(l, Options{Seed: uint64(n), From: n + 1}) {
			if seen[text(s)] && n < 64 {
				t.Errorf("%d writes: %v twice", n, s.Kept)
			}
			seen[text(s)] = true
			switch k := len(s.Kept); {
			case k == 0 || k == n:
			case s.Kept[k-1] == k-1:
				prefixes++
			case k == n-1:
				lacking++
			default:
				drawn++
			}
		}
		if n == 7 { // 128 subsets: more than would be drawn
			continue
		}
		if min(prefixes, lacking) < min(structured, n-1) || drawn < 20 || prefixes+lacking+drawn+2 != 2+2*min(structured, n-1)+32 {
			t.Errorf("%d writes: %d prefixes, %d lacking one, %d others", n, prefixes, lacking, drawn)
		}
	}
}

// Drawing all subsets terminates and finds each of them.
func TestDrawAlmostAll(t *testing.T) {
	const n = 7
	sets := draw(n, 1<<n-3, map[uint64]bool{0: true, 1<<n - 1: true}, source(1, 1, keeping, 0))
	seen := map[uint64]bool{}
	for _, s := range sets {
		seen[mask(s)] = true
	}
	if len(seen) != 1<<n-3 {
		t.Errorf("%d different subsets of %d", len(seen), 1<<n-3)
	}
}
