package flash

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The pool agrees with a naive search.
func TestPool(t *testing.T) {
	for _, wear := range []Wear{{}, {Dynamic: true}, {Dynamic: true, Static: true, Gap: 4}} {
		p, rng := newPool(40, wear), rand.New(rand.NewPCG(1, 3))
		used := map[int]bool{}
		for range 20000 {
			u := rng.IntN(40)
			switch k := rng.IntN(5); {
			case k == 0:
				p.erase(u)
			case k == 1 && used[u]:
				p.put(u)
				delete(used, u)
			case k == 2 && !used[u]:
				p.claim(u)
				used[u] = true
			case k > 2:
				checkTake(t, p, used, k == 4)
			}
			if p.free() != 40-len(used) || p.isFree(u) == used[u] {
				t.Fatalf("%d free, %d in use", p.free(), len(used))
			}
			checkOverdue(t, p, used)
		}
	}
}

func checkTake(t *testing.T, p *pool, used map[int]bool, worn bool) {
	t.Helper()
	best := -1
	for u := range p.erases {
		if used[u] {
			continue
		}
		switch {
		case best < 0:
			best = u
		case worn && p.erases[u] > p.erases[best]:
			best = u
		case !worn && p.wear.Dynamic && p.erases[u] < p.erases[best]:
			best = u
		}
	}
	take := p.take
	if worn {
		take = p.takeWorn
	}
	u, ok := take()
	if ok != (best >= 0) || ok && u != best {
		t.Fatalf("took %d, %v; want %d", u, ok, best)
	}
	if ok {
		used[u] = true
	}
}

func checkOverdue(t *testing.T, p *pool, used map[int]bool) {
	t.Helper()
	waiting := p.pause > 0
	u, ok := p.overdue()
	var most uint32
	for _, n := range p.erases {
		most = max(most, n)
	}
	want := false
	for v := range used {
		want = want || int64(most-p.erases[v]) > p.wear.Gap
		if ok && (!used[u] || p.erases[v] < p.erases[u]) {
			t.Fatalf("unit %d with %d erases is overdue, but %d has %d", u, p.erases[u], v, p.erases[v])
		}
	}
	if want = want && p.wear.Static && !waiting; ok != want {
		t.Fatalf("overdue %v, want %v", ok, want)
	}
}

// wearOut writes a device once, then a hot part of it repeatedly, and returns
// how its blocks were erased.
func wearOut(t *testing.T, m Model, writes, hot int64) Stats {
	t.Helper()
	d := mustNew(t, m)
	rng := rand.New(rand.NewPCG(4, 5))
	var now time.Duration
	for off := int64(0); off < m.Size; off += 65536 {
		now = submit(t, d, now, Request{Op: Write, Offset: off, Length: min(65536, m.Size-off)})
	}
	for range writes {
		now = submit(t, d, now, Request{Op: Write, Offset: rng.Int64N(hot/4096) * 4096, Length: 4096})
	}
	return d.Stats()
}

// Most of the device never changes. Without levelling, or with only dynamic
// levelling, its blocks are never erased again and the others take all the
// wear; with static levelling the spread stays near the gap.
func TestStaticLevelling(t *testing.T) {
	const gap = 16
	level := []Wear{{}, {Dynamic: true}, {Dynamic: true, Static: true, Gap: gap}}
	card := tiny(SchemeSegment, withRandom)
	card.Size, card.Wear = 4<<20, Wear{}
	log := tiny(SchemeHybrid)
	log.Size = 4 << 20
	for name, m := range map[string]Model{"page": pagedModel(200*32, 32, 0.15), "segment": card, "hybrid": log} {
		var s [3]Stats
		for i, w := range level {
			m.Wear = w
			s[i] = wearOut(t, m, 60000, m.Size/8)
			t.Logf("%s, %+v: erases %d to %d, mean %.1f, deviation %.1f, amplification %.2f",
				name, w, s[i].MinErases, s[i].MaxErases, s[i].MeanErases, s[i].StdDevErases, s[i].Amplification())
		}
		if s[2].MaxErases-s[2].MinErases > 2*gap || s[2].MinErases == 0 {
			t.Errorf("%s: static levelling leaves erases between %d and %d", name, s[2].MinErases, s[2].MaxErases)
		}
		if s[1].StdDevErases < 3*s[2].StdDevErases || s[1].StdDevErases > s[0].StdDevErases {
			t.Errorf("%s: deviations of erases %.1f, %.1f, %.1f do not fall", name, s[0].StdDevErases, s[1].StdDevErases, s[2].StdDevErases)
		}
		if a := s[2].Amplification() / s[1].Amplification(); a > 1+4.0/gap+0.05 {
			t.Errorf("%s: static levelling multiplies what is programmed by %.2f", name, a)
		}
	}
}

// A log that is overwritten repeatedly on a nearly empty device: dynamic
// levelling uses all blocks.
func TestDynamicLevelling(t *testing.T) {
	var s [2]Stats
	for i, w := range []Wear{{}, {Dynamic: true}} {
		m := pagedModel(200*32, 32, 0.15)
		m.Wear = w
		d := mustNew(t, m)
		var now time.Duration
		for n := range int64(200000) {
			now = submit(t, d, now, Request{Op: Write, Offset: n % 640 * 4096, Length: 4096})
		}
		s[i] = d.Stats()
		t.Logf("%+v: erases %d to %d, deviation %.1f", w, s[i].MinErases, s[i].MaxErases, s[i].StdDevErases)
	}
	if s[0].MaxErases < 3*s[1].MaxErases || s[1].MaxErases-s[1].MinErases > 3 {
		t.Errorf("erases %d to %d without levelling, %d to %d with", s[0].MinErases, s[0].MaxErases, s[1].MinErases, s[1].MaxErases)
	}
}
