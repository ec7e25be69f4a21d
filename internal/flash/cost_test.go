package flash

import (
	"testing"
	"time"
)

// plain is a card with simple costs: a page takes 100 µs on the bus and to
// read, 1 ms to program; a segment is 16 pages in 4 blocks, each of which
// takes 5 ms to erase; a request costs 10 µs, a flush 30 µs.
func plain(change ...func(m *Model)) Model {
	m := Model{
		Name: "plain", Kind: KindFlash, Size: 1 << 20,
		Bus: Bus{Command: 10 * time.Microsecond, Read: 40.96e6, Write: 40.96e6, Queue: 1, Flush: 30 * time.Microsecond},
		Media: Media{Page: 4096, Block: 16 << 10, Planes: 1,
			Read: 100 * time.Microsecond, Program: time.Millisecond, Erase: 5 * time.Millisecond},
		Map:  Map{Scheme: SchemeSegment, Segment: 64 << 10, Open: 2},
		Trim: TrimModel{Supported: true, Command: 7 * time.Microsecond, Zeroes: true},
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

// step is one request in pages, and its duration.
type step struct {
	op    Op
	page  int64
	n     int64
	us    int64         // duration of the request
	pause time.Duration // before it
}

func write(page, n, us int64) step { return step{op: Write, page: page, n: n, us: us} }
func read(page, n, us int64) step  { return step{op: Read, page: page, n: n, us: us} }

// TestCost compares the duration of each request with a sum by hand.
func TestCost(t *testing.T) {
	random := func(m *Model) { m.Map.Random = true }
	hybrid := func(m *Model) { m.Map.Scheme = SchemeHybrid }
	one := func(m *Model) { m.Map.Open = 1 }
	for _, c := range []struct {
		name  string
		model Model
		full  bool // every page was written before, in order
		steps []step
		stats Stats // Programmed, Copied, Erased, Merges, Folds, as pages and counts
	}{
		{"a page", plain(), false, []step{
			write(0, 1, 10+100+1000), read(0, 1, 10+100+100), read(5, 1, 10+100), read(0, 2, 10+100+100+100),
		}, Stats{Programmed: 1}},
		{"whole segments in order", plain(), true, []step{
			write(0, 16, 10+100+16*1000+4*5000), write(16, 16, 10+100+16*1000+4*5000),
		}, Stats{Programmed: 32, Erased: 8}},
		{"two planes", plain(func(m *Model) { m.Media.Planes = 2 }), true, []step{
			// The second plane starts when the second page
			// arrives; the blocks of the old segment are erased on
			// both.
			write(0, 16, 10+200+8*1000+2*5000), read(0, 4, 10+100+4*100),
		}, Stats{Programmed: 16, Erased: 4}},
		{"random in open segments, and one too many", plain(random), true, []step{
			write(3, 1, 1110), write(17, 1, 1110), write(0, 1, 1110), write(16, 1, 1110),
			write(32, 1, 1110+14*1100+20000), // closes 0–15, 14 of which are old
			write(18, 1, 1110),
		}, Stats{Programmed: 6 + 14, Copied: 14, Erased: 4, Merges: 1}},
		{"the same page until there is no room", plain(random, func(m *Model) { m.Map.Segment = 16 << 10 }), true, []step{
			write(0, 1, 1110), write(0, 1, 1110), write(1, 1, 1110), write(1, 1, 1110),
			// No room for pages 2 and 3: all four go to a third unit, and two are erased.
			write(1, 1, 1110+4*1100+2*5000),
		}, Stats{Programmed: 5 + 4, Copied: 4, Erased: 2, Merges: 1}},
		{"forward and backwards", plain(), true, []step{
			write(3, 1, 1110+3*1100), // copies 0 to 2 first
			write(4, 1, 1110),
			write(4, 1, 1110+11*1100+20000+4*1100), // again: closes it with 11 pages, skips 4
			write(10, 1, 1110+5*1100),
		}, Stats{Programmed: 4 + 3 + 11 + 4 + 5, Copied: 23, Erased: 4, Merges: 1}},
		{"log blocks: switch", plain(hybrid), true, []step{
			write(0, 15, 10+100+15*1000), write(15, 1, 1110+20000),
		}, Stats{Programmed: 16, Erased: 4}},
		{"log blocks: partial merge", plain(hybrid, one), true, []step{
			write(0, 2, 10+100+2000), write(16, 1, 1110+14*1100+20000),
		}, Stats{Programmed: 3 + 14, Copied: 14, Erased: 4, Merges: 1}},
		{"log blocks: full merge", plain(hybrid, one), true, []step{
			write(5, 1, 1110), write(4, 1, 1110),
			write(16, 1, 1110+16*1100+2*20000),
			write(16, 1, 1110),
			write(0, 1, 1110+16*1100+2*20000),
		}, Stats{Programmed: 5 + 32, Copied: 32, Erased: 16, Merges: 2}},
		{"FAT area", plain(one, func(m *Model) { m.FAT = 64 << 10 }), true, []step{
			write(16, 1, 1110), write(3, 1, 1110), write(17, 1, 1110), write(1, 1, 1110), write(18, 1, 1110),
		}, Stats{Programmed: 5}},
		{"buffer", plain(func(m *Model) { m.Buffer.Size = 4 * 4096 }), true, []step{
			write(0, 1, 110), write(1, 1, 110), write(2, 1, 110), write(3, 1, 110),
			write(4, 1, 1110), // full: one must be evicted
			read(4, 1, 110),   // still buffered
			// The second one was handed to the plane with the
			// first, 110 earlier.
			write(5, 1, 1000-110),
			{op: Flush, us: 4*1000 + 30}, // four are left; the plane works during the command
		}, Stats{Programmed: 6}},
		{"buffer evicts in address order", plain(func(m *Model) { m.Buffer.Size = 4 * 4096 }), true, []step{
			write(8, 1, 110), write(10, 1, 110), write(11, 1, 110), write(9, 1, 110),
			write(0, 1, 1110+8*1100), // evicts page 8, and copies 0 to 7 first
			write(1, 1, 1000), write(2, 1, 1000),
		}, Stats{Programmed: 4 + 8, Copied: 8}},
		{"buffer, emptied in pauses", plain(func(m *Model) { m.Buffer.Size = 4 * 4096 }), true, []step{
			write(0, 1, 110), write(1, 1, 110),
			{op: Write, page: 2, n: 1, us: 110, pause: 10 * time.Millisecond},
			{op: Flush, us: 10 + 1000 + 30},
		}, Stats{Programmed: 3}},
		{"fast area", plain(func(m *Model) {
			m.Fast = Fast{Size: 8 * 4096, Program: 200 * time.Microsecond, Read: 50 * time.Microsecond}
		}), false, []step{
			write(0, 1, 310), write(1, 1, 310), write(2, 1, 310), write(3, 1, 310),
			write(4, 1, 310), write(5, 1, 310), write(6, 1, 310), write(7, 1, 310),
			write(8, 1, 310+1050), write(9, 1, 310+1050), write(10, 1, 310+1050),
			write(11, 1, 310+1050+5000), // the first block is folded, and erased
			read(11, 1, 10+50+100), read(0, 1, 10+100+100),
		}, Stats{Programmed: 12 + 4, Copied: 4, Erased: 1, Folds: 4}},
		{"fast area, folded in address order", plain(func(m *Model) {
			m.Fast = Fast{Size: 8 * 4096, Program: 200 * time.Microsecond, Read: 50 * time.Microsecond}
		}), false, []step{
			write(3, 1, 310), write(2, 1, 310), write(1, 1, 310), write(0, 1, 310), write(4, 4, 10+100+4*200),
			write(8, 1, 310+1050), write(9, 1, 310+1050), write(10, 1, 310+1050),
		}, Stats{Programmed: 11 + 3, Copied: 3, Folds: 3}},
		{"fast area, folded in a pause", plain(func(m *Model) {
			m.Fast = Fast{Size: 8 * 4096, Program: 200 * time.Microsecond, Idle: time.Millisecond}
		}), false, []step{
			write(0, 8, 10+100+8*200),
			{op: Write, page: 8, n: 1, us: 310, pause: 100 * time.Millisecond},
		}, Stats{Programmed: 9 + 8, Copied: 8, Erased: 2, Folds: 8}},
		{"discard", plain(), true, []step{
			{op: Trim, page: 0, n: 16, us: 17}, read(0, 1, 110),
			{op: WriteZeroes, page: 16, n: 16, us: 10}, read(16, 1, 110),
		}, Stats{}},
	} {
		t.Run(c.name, func(t *testing.T) { checkCost(t, c.model, c.full, c.steps, c.stats) })
	}
}

func checkCost(t *testing.T, m Model, full bool, steps []step, want Stats) {
	d, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	if full {
		for at := int64(0); at < m.Size; at += 64 << 10 {
			now, _ = d.Submit(now, Request{Op: Write, Offset: at, Length: 64 << 10})
		}
		now, _ = d.Submit(now, Request{Op: Flush})
	}
	before := d.Stats()
	for i, s := range steps {
		now += s.pause
		done, err := d.Submit(now, Request{Op: s.op, Offset: s.page * 4096, Length: s.n * 4096})
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Duration(s.us) * time.Microsecond; done-now != want {
			t.Errorf("step %d (%+v) takes %v, not %v", i, s, done-now, want)
		}
		now = done
	}
	s := d.Stats()
	got := Stats{
		Programmed: (s.Programmed - before.Programmed) / 4096, Copied: (s.Copied - before.Copied) / 4096,
		Erased: s.Erased - before.Erased, Merges: s.Merges - before.Merges, Folds: s.Folds - before.Folds,
	}
	if got != want {
		t.Errorf("pages and counts: %+v\nwant %+v", got, want)
	}
}

// TestSequential: whole segments in order are programmed once without any
// copies, whatever the scheme.
func TestSequential(t *testing.T) {
	for _, scheme := range []string{SchemeSegment, SchemeHybrid, SchemePage} {
		m := plain(func(m *Model) { m.Map.Scheme = scheme })
		if scheme == SchemePage {
			m.Map = Map{Scheme: scheme, Spare: 0.25}
		}
		d, err := New(m)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Duration(0)
		for range 5 {
			for at := int64(0); at < m.Size; at += 32 << 10 {
				now, _ = d.Submit(now, Request{Op: Write, Offset: at, Length: 32 << 10})
			}
		}
		s := d.Stats()
		if s.Amplification() != 1 || s.Copied != 0 || s.Merges != 0 {
			t.Errorf("%s: amplification %v, %+v", scheme, s.Amplification(), s)
		}
	}
}

// TestFastDrop: sustained writing drops from the speed of the fast area to that
// of folding after exactly its size.
func TestFastDrop(t *testing.T) {
	m := plain(func(m *Model) {
		m.Fast = Fast{Size: 256 << 10, Program: 100 * time.Microsecond}
	})
	d, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	for at := int64(0); at < m.Size; at += 4096 {
		done, _ := d.Submit(now, Request{Op: Write, Offset: at, Length: 4096})
		if quick := done-now < time.Millisecond; quick != (at < 256<<10) {
			t.Fatalf("the write at %d takes %v", at, done-now)
		}
		now = done
	}
}

// TestQueue: requests beyond the depth wait, those within it overlap.
func TestQueue(t *testing.T) {
	m := plain(func(m *Model) { m.Bus.Queue = 2; m.Media.Planes = 4; m.Bus.Write = 4096e6 })
	d, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{10 + 1 + 1000, 10 + 2 + 1000, 1011 + 10 + 1 + 1000, 1012 + 10 + 1 + 1000} {
		done, err := d.Submit(0, Request{Op: Write, Offset: int64(i) * 4096, Length: 4096})
		if err != nil || done != time.Duration(want)*time.Microsecond {
			t.Errorf("request %d completes at %v, not %d µs (%v)", i, done, want, err)
		}
	}
	if busy := d.Stats().Busy; busy != 2023*time.Microsecond {
		t.Errorf("busy for %v", busy)
	}
}
