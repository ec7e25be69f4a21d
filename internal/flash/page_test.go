package flash

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// greedy is the write amplification of greedy collection under uniformly
// random writes, from the mean field of its Markov chain: Van Houdt, A mean
// field model for a class of garbage collection algorithms in flash-based
// solid state drives, SIGMETRICS 2013; Bux and Iliadis, Performance of greedy
// garbage collection in flash-based solid-state drives, Performance Evaluation
// 67, 2010.
//
// With f(i) the share of units that have i of b pages valid, and time scaled
// so that each valid page is overwritten at rate 1, a unit with i pages moves
// to i − 1 at rate i. Victims are filled at rate y and each starts at b.
// Greedy collection leaves no unit below some k: f(i) = y/i for k < i ≤ b, and
// of those that reach k some are collected there and the rest on reaching k −
// 1, which empties at once. The shares add up to 1, and the valid pages to ρ
// of all slots:
//
//	y·(H(b) − H(k)) + f(k) = 1,  y·(b − k) + k·f(k) = ρ·b,  0 ≤ f(k) ≤ y/k
//
// and in each cycle b pages are programmed for the ρ·b/y that hosts write.
func greedy(b int, rho float64) float64 {
	sum := 0.0 // H(b) − H(k)
	for k := b; k >= 1; k-- {
		y := (rho*float64(b) - float64(k)) / (float64(b-k) - float64(k)*sum)
		if f := 1 - y*sum; k < b && f >= 0 && f <= y/float64(k) {
			return y / rho
		}
		sum += 1 / float64(k)
	}
	return math.NaN()
}

// endless is the same in the limit of infinitely large units, which are
// collected in FIFO order: Desnoyers, Analytic models of SSD write
// performance, ACM Transactions on Storage 10(2), 2014. The share x of a
// victim's pages that are still valid solves ρ = (x − 1) / ln x; here by
// bisection instead of Lambert's W.
func endless(rho float64) float64 {
	low, high := 0.0, 1.0
	for range 200 {
		if x := (low + high) / 2; (x-1)/math.Log(x) < rho {
			low = x
		} else {
			high = x
		}
	}
	return 1 / (1 - low)
}

func TestGreedyOracles(t *testing.T) {
	for _, rho := range []float64{0.5, 0.78, 0.87, 0.93} {
		if a, b := greedy(100000, rho), endless(rho); !(math.Abs(a/b-1) < 0.002) {
			t.Errorf("occupied %g: the mean field gives %g, the formula %g", rho, a, b)
		}
	}
}

// pagedModel is a page-mapped device without contents and without other costs.
func pagedModel(pages, per int64, spare float64) Model {
	return Model{
		Kind: KindFlash, Name: "paged", Size: pages * 4096,
		Bus: Bus{Read: 1e9, Write: 1e9, Queue: 1},
		Media: Media{Page: 4096, Block: per * 4096, Planes: 4,
			Read: 50 * time.Microsecond, Program: 500 * time.Microsecond, Erase: 3 * time.Millisecond},
		Map:  Map{Scheme: SchemePage, Spare: spare},
		Trim: TrimModel{Supported: true, Zeroes: true},
	}
}

// fillPages writes all pages in order and returns when that is done.
func fillPages(t *testing.T, d Device, now time.Duration) time.Duration {
	t.Helper()
	for off := int64(0); off < d.Size(); off += 4096 {
		now = submit(t, d, now, Request{Op: Write, Offset: off, Length: 4096})
	}
	return now
}

// amplify makes random writes of pages below a limit until amplification is
// steady, and measures it over the same number of writes again.
func amplify(t *testing.T, d Device, now time.Duration, limit int64, seed uint64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 8))
	var before Stats
	for i := range 8 * limit {
		if i == 4*limit {
			before = d.Stats()
		}
		now = submit(t, d, now, Request{Op: Write, Offset: rng.Int64N(limit) * 4096, Length: 4096})
	}
	after := d.Stats()
	return float64(after.Programmed-before.Programmed) / float64(after.Written-before.Written)
}

func TestRandomAmplification(t *testing.T) {
	for _, spare := range []float64{0.07, 0.15, 0.28, 0.5} {
		for _, per := range []int64{16, 64} {
			for _, wear := range []Wear{{}, {Dynamic: true, Static: true, Gap: 1000}} {
				seed := rand.Uint64()
				m := pagedModel(400*per, per, spare)
				m.Wear = wear
				d := mustNew(t, m)
				got := amplify(t, d, fillPages(t, d, 0), 400*per, seed)
				rho := float64(400*per) / float64(pageUnits(400*per, per, spare)*per)
				want := greedy(int(per), rho)
				t.Logf("spare %g, %d pages a unit, %+v: %.3f, theory %.3f", spare, per, wear, got, want)
				if !(math.Abs(got/want-1) <= 0.05) {
					t.Errorf("seed %d: spare %g, %d pages a unit: amplification %.3f, greedy collection has %.3f", seed, spare, per, got, want)
				}
			}
		}
	}
}

// Discarded pages act as spare space.
func TestTrimmedAmplification(t *testing.T) {
	for _, zeroes := range []bool{true, false} {
		m := pagedModel(400*32, 32, 0.07)
		m.Trim.Zeroes = zeroes
		d := mustNew(t, m)
		now := fillPages(t, d, 0)
		now = submit(t, d, now, Request{Op: Trim, Offset: m.Size / 4 * 3, Length: m.Size / 4})
		got := amplify(t, d, now, 300*32, 1)
		if want := greedy(32, 300/float64(pageUnits(400*32, 32, 0.07))); !(math.Abs(got/want-1) <= 0.05) {
			t.Errorf("zeroes %v: amplification %.3f with a quarter discarded, greedy collection has %.3f", zeroes, got, want)
		}
		if err := auditPaged(d.(*drive).main.(*paged)); err != nil {
			t.Error(err)
		}
	}
}

func TestSequentialAmplification(t *testing.T) {
	for _, spare := range []float64{0.001, 0.07} {
		for _, pages := range []int64{1, 31, 32, 33, 1000, 6400} {
			d := mustNew(t, pagedModel(pages, 32, spare))
			now := time.Duration(0)
			for range 5 {
				now = fillPages(t, d, now)
			}
			if s := d.Stats(); s.Amplification() != 1 || s.Copied != 0 {
				t.Errorf("spare %g, %d pages: amplification %g", spare, pages, s.Amplification())
			}
		}
	}
}

// A write that triggers collection waits for the copies and the erase.
func TestCollectionTakesTime(t *testing.T) {
	m := pagedModel(64*32, 32, 0.07)
	d := mustNew(t, m)
	now := fillPages(t, d, 0)
	rng := rand.New(rand.NewPCG(1, 9))
	plain, slow := 0, 0
	for range 20000 {
		before := d.Stats()
		done := submit(t, d, now, Request{Op: Write, Offset: rng.Int64N(64*32) * 4096, Length: 4096})
		after, took := d.Stats(), done-now
		copies := time.Duration(0)
		for _, e := range d.(*drive).chip.journal.q {
			if _, erase := e.who.(*media); erase && e.start < copies {
				t.Fatalf("an erase began at %v, but copies of the erased pages ended at %v", e.start, copies)
			}
			if e.kind == pagePut && e.flags != 0 {
				copies = max(copies, e.end)
			}
		}
		now = done
		copied := (after.Copied - before.Copied) / 4096
		// Four planes copy in parallel; the erase follows.
		least := time.Duration((copied+3)/4)*m.Media.Program + m.Media.Erase
		switch {
		case after.Collections == before.Collections && took > 6*time.Millisecond:
			t.Fatalf("a plain write took %v", took)
		case after.Collections == before.Collections:
			plain++
		case took < least:
			t.Fatalf("a write that copied %d pages and erased took %v, less than the minimum of %v", copied, took, least)
		default:
			slow++
		}
	}
	if plain == 0 || slow == 0 {
		t.Errorf("%d plain writes, %d with a collection", plain, slow)
	}
}

// auditPaged checks that a page mapping's tables agree.
func auditPaged(p *paged) error {
	valid := make([]int32, p.units)
	for lp, v := range p.l2p {
		if v&droppedBit != 0 {
			continue
		}
		if p.p2l[v] != uint32(lp) || !p.isLive(int64(v)) {
			return fmt.Errorf("page %d is at %d, which belongs to %d", lp, v, p.p2l[v])
		}
		valid[int64(v)/p.per]++
	}
	lists := 0
	for n, u := range p.head {
		last := int32(-1)
		for ; u >= 0; u = p.next[u] {
			if int(p.valid[u]) != n || p.prev[u] != last || n < p.fewest {
				return fmt.Errorf("unit %d has %d live pages and is listed under %d", u, p.valid[u], n)
			}
			last = u
			lists++
		}
		if p.tail[n] != last {
			return fmt.Errorf("the list of %d live pages ends with %d", n, p.tail[n])
		}
	}
	others := 0
	for u := range valid {
		if valid[u] != p.valid[u] {
			return fmt.Errorf("unit %d has %d live pages and counts %d", u, valid[u], p.valid[u])
		}
		if p.pool.isFree(u) && (valid[u] != 0 || p.prev[u] != unlisted) {
			return fmt.Errorf("free unit %d has live pages or is listed", u)
		}
		if p.prev[u] == unlisted && !p.pool.isFree(u) {
			others++
		}
	}
	if lists+others+p.pool.free() != int(p.units) || others > 3 {
		return fmt.Errorf("%d units listed, %d neither listed nor free, %d free, of %d", lists, others, p.pool.free(), p.units)
	}
	return nil
}

// mappings returns all mappings of a drive, including those under a fast area.
func (d *drive) mappings() []mapping {
	all := []mapping{d.main}
	if d.fat != nil {
		all = append(all, d.fat)
	}
	if f, ok := d.main.(*fast); ok {
		all = append(all, f.below)
	}
	return all
}

func TestTooManyPages(t *testing.T) {
	m := pagedModel(64, 32, 0.07)
	m.Size = 8 << 40
	if _, err := New(m); err == nil {
		t.Error("8 TiB of 4 KiB pages fit into the tables")
	}
	if faults := m.Check(); len(faults) != 1 || faults[0].Key != "media.page" {
		t.Errorf("%v", faults)
	}
}
