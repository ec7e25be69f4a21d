package flash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// tiny is a device so small that every event is frequent on it.
func tiny(scheme string, change ...func(m *Model)) Model {
	m := Model{
		Name: "tiny", Kind: KindFlash, Size: 192<<10 + 3*Sector,
		Bus: Bus{Command: 50 * time.Microsecond, Read: 50e6, Write: 25e6, Queue: 1, Flush: 100 * time.Microsecond},
		Media: Media{Page: 2048, Block: 4096, Planes: 2,
			Read: 60 * time.Microsecond, Program: 400 * time.Microsecond, Erase: 2 * time.Millisecond},
		Map:  Map{Scheme: scheme, Segment: 16 << 10, Open: 3},
		Wear: Wear{Dynamic: true, Static: true, Gap: 8},
		Trim: TrimModel{Supported: true, Command: 30 * time.Microsecond, Zeroes: true},
	}
	if scheme == SchemePage {
		m.Map = Map{Scheme: scheme, Spare: 0.2}
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func withFAT(m *Model)    { m.FAT = 24 << 10 }
func withRandom(m *Model) { m.Map.Random = true }
func withBuffer(m *Model) { m.Buffer.Size = 20 << 10 }
func withLarge(m *Model)  { m.Buffer.Size = 128 << 10 }
func withQueue(m *Model)  { m.Bus.Queue = 8; m.Media.Planes = 4 }
func withOld(m *Model)    { m.Trim.Zeroes = false }
func withFast(m *Model) {
	m.Fast = Fast{Size: 32 << 10, Program: 100 * time.Microsecond, Idle: 3 * time.Millisecond}
}
func withSpace(m *Model) { // for requests of up to 1 MiB
	m.Size = 2<<20 + 3*Sector
	m.Media.Block, m.Map.Segment = 16<<10, m.Map.Segment*4
}
func withSlowFold(m *Model) { m.Fast = Fast{Size: 8 << 10, Program: 100 * time.Microsecond} }

// randomModels are all mappings with and without each part.
func randomModels() map[string]Model {
	return map[string]Model{
		"segment linear":              tiny(SchemeSegment),
		"segment linear FAT":          tiny(SchemeSegment, withFAT, withOld),
		"segment linear buffer":       tiny(SchemeSegment, withBuffer),
		"segment random":              tiny(SchemeSegment, withRandom),
		"segment large":               tiny(SchemeSegment, withRandom, withSpace, withFAT, withLarge),
		"hybrid large":                tiny(SchemeHybrid, withSpace, withQueue),
		"page large":                  tiny(SchemePage, withSpace, withFast),
		"segment random FAT buffer":   tiny(SchemeSegment, withRandom, withFAT, withLarge),
		"segment random fast":         tiny(SchemeSegment, withRandom, withFast),
		"segment random old queue":    tiny(SchemeSegment, withRandom, withOld, withQueue),
		"segment everything":          tiny(SchemeSegment, withFAT, withBuffer, withFast, withQueue, withOld),
		"segment slow fold":           tiny(SchemeSegment, withSlowFold, withLarge),
		"hybrid":                      tiny(SchemeHybrid),
		"hybrid FAT buffer":           tiny(SchemeHybrid, withFAT, withBuffer, withOld),
		"hybrid fast queue":           tiny(SchemeHybrid, withFast, withQueue),
		"page":                        tiny(SchemePage),
		"page FAT":                    tiny(SchemePage, withFAT, withOld),
		"page buffer queue":           tiny(SchemePage, withLarge, withQueue),
		"page everything":             tiny(SchemePage, withFAT, withBuffer, withFast, withQueue),
		"page everything, old":        tiny(SchemePage, withBuffer, withFast, withQueue, withOld),
		"segment linear, merge loses": tiny(SchemeSegment, func(m *Model) { m.Power.MergeLoses = true }),
		"hybrid, merge loses":         tiny(SchemeHybrid, withBuffer, withOld, func(m *Model) { m.Power.MergeLoses = true }),
	}
}

// load makes random requests, like an inconsiderate host.
type load struct {
	rng  *rand.Rand
	size int64
	mem  []byte
	at   int64 // where the last one ended
}

func newLoad(seed uint64, size int64) *load {
	return &load{rng: rand.New(rand.NewPCG(seed, 1)), size: size, mem: make([]byte, 1<<20)}
}

func (l *load) next() Request {
	r := Request{Op: Write}
	switch k := l.rng.IntN(100); {
	case k < 25:
		r.Op = Read
	case k < 29:
		r.Op = Flush
		return r
	case k < 32:
		r.Op = Trim
	case k < 34:
		r.Op = WriteZeroes
	case k < 40:
		r.FUA = true
	}
	r.Length = Sector << l.rng.IntN(4)
	switch k := l.rng.IntN(400); {
	case k == 0:
		r.Length = Sector << l.rng.IntN(12)
	case k < 60:
		r.Length = Sector * (1 + l.rng.Int64N(40))
	}
	r.Length = min(r.Length, l.size)
	r.Offset = l.rng.Int64N((l.size-r.Length)/Sector+1) * Sector
	switch k := l.rng.IntN(3); {
	case k == 0 && l.at+r.Length <= l.size:
		r.Offset = l.at // continues sequentially
	case k == 1: // in a hot place
		r.Offset = min(r.Offset%(48<<10), l.size-r.Length)
	}
	l.at = r.Offset + r.Length
	if r.Op == Read || r.Op == Write {
		r.Data = l.mem[:r.Length]
	}
	return r
}

// trial runs random requests with power cuts between them against an oracle.
type trial struct {
	m      Model
	d      Device
	o      *oracle
	l      *load
	now    time.Duration
	last   time.Duration // the last completion
	cuts   int
	loss   Loss
	all    []byte
	checks func(d Device) error
}

func newTrial(m Model, seed uint64) (*trial, error) {
	d, err := New(m)
	if err != nil {
		return nil, err
	}
	return &trial{m: m, d: d, o: newOracle(m), l: newLoad(seed, m.Size), all: make([]byte, m.Size)}, nil
}

func (t *trial) step() error {
	r := t.l.next()
	t.o.prepare(&r)
	done, err := t.d.Submit(t.now, r)
	if err != nil {
		return err
	}
	if done < t.now {
		return fmt.Errorf("a request at %v completed at %v", t.now, done)
	}
	if err := t.o.carried(r, done); err != nil {
		return fmt.Errorf("%+v: %w", Request{Op: r.Op, Offset: r.Offset, Length: r.Length, FUA: r.FUA}, err)
	}
	t.last = max(t.last, done)
	switch k := t.l.rng.IntN(20); {
	case k == 0:
		t.now = t.last + time.Duration(t.l.rng.Int64N(int64(20*time.Millisecond)))
	case k < 5 && t.m.Bus.Queue > 1:
		t.now += time.Duration(t.l.rng.Int64N(int64(50 * time.Microsecond)))
	default:
		t.now = max(t.now, done)
	}
	if t.l.rng.IntN(80) == 0 {
		return t.cut()
	}
	return nil
}

// cut cuts power at some instant after the last request.
func (t *trial) cut() error {
	// The last submission may be long before its completion.
	r := t.l.next()
	if r.Op != Write {
		r = Request{Op: Write, Length: min(4096, t.m.Size)}
		r.Data = t.l.mem[:r.Length]
	}
	t.o.prepare(&r)
	done, err := t.d.Submit(t.now, r)
	if err != nil {
		return err
	}
	if err := t.o.carried(r, done); err != nil {
		return err
	}
	t.last = max(t.last, done)
	at := t.now + time.Duration(t.l.rng.Int64N(int64(t.last-t.now+1)))
	if t.l.rng.IntN(4) == 0 {
		at = t.last + time.Duration(t.l.rng.Int64N(int64(8*time.Millisecond)))
	}
	loss := t.d.Cut(at)
	t.cuts++
	if loss.Buffered < 0 || loss.Torn < 0 || loss.Undone < 0 || loss.Neighbours < 0 {
		return fmt.Errorf("a cut at %v lost less than nothing: %+v", at, loss)
	}
	t.loss.Buffered += loss.Buffered
	t.loss.Torn += loss.Torn
	t.loss.Undone += loss.Undone
	t.loss.Neighbours += loss.Neighbours
	done, err = t.d.Submit(at, Request{Op: Read, Length: t.m.Size, Data: t.all})
	if err != nil {
		return err
	}
	t.now, t.last = done, done
	if err := t.o.cut(at, t.all, loss.Neighbours > 0); err != nil {
		return fmt.Errorf("after a cut at %v (%+v): %w", at, loss, err)
	}
	if loss.Neighbours > 0 && !t.m.Power.MergeLoses {
		return fmt.Errorf("flushed data is lost: %+v", loss)
	}
	return audit(t.d)
}

// audit checks a device's internal invariants.
func audit(d Device) error {
	v, ok := d.(*drive)
	if !ok {
		return nil
	}
	var erased int64
	for _, a := range v.areas {
		for _, n := range a.pool.erases {
			erased += int64(n) * a.blocks
		}
	}
	s := v.stats
	if erased != s.Erased || s.Copied > s.Programmed || s.Copied < 0 || s.Programmed%v.page != 0 || s.Merges < 0 || s.Folds < 0 {
		return fmt.Errorf("statistics do not agree: %d erases of blocks, %+v", erased, s)
	}
	for _, m := range v.mappings() {
		if p, ok := m.(*paged); ok {
			if err := auditPaged(p); err != nil {
				return err
			}
		}
	}
	if f, ok := v.main.(*fast); ok {
		if err := auditFast(f); err != nil {
			return err
		}
		if g, ok := f.below.(*segmented); ok {
			return auditSegmented(g)
		}
	}
	if g, ok := v.main.(*segmented); ok {
		return auditSegmented(g)
	}
	return nil
}

func auditSegmented(s *segmented) error {
	inUse := map[int32]bool{}
	for l, u := range s.phys {
		if u >= 0 {
			if inUse[u] || s.pool.isFree(int(u)) || s.owner[u] != int32(l) {
				return fmt.Errorf("unit %d is used twice, or free: owner %d, logical %d", u, s.owner[u], l)
			}
			inUse[u] = true
		}
	}
	for _, o := range s.open {
		n := int64(0)
		for p := range s.per {
			if bit(o.wrote, p) {
				n++
			}
		}
		if inUse[o.unit] || s.pool.isFree(int(o.unit)) || o.used > s.per || o.fresh != n || o.fresh > o.used || s.byLog[o.logical] != o || o.old != s.phys[o.logical] {
			return fmt.Errorf("an open unit is wrong: %+v, %d pages", o, n)
		}
		inUse[o.unit] = true
	}
	if len(inUse)+s.pool.free() != int(s.units) || len(s.open) > s.limit {
		return fmt.Errorf("%d units in use, %d free, of %d; %d open", len(inUse), s.pool.free(), s.units, len(s.open))
	}
	return nil
}

func auditFast(f *fast) error {
	n := 0
	for p, lp := range f.back {
		if lp >= 0 {
			n++
			if f.index[lp] != int32(p) {
				return fmt.Errorf("page %d of the fast area belongs to %d, which is at %d", p, lp, f.index[lp])
			}
		}
	}
	if n != len(f.index) || len(f.used)+f.pool.free() != int(f.units) {
		return fmt.Errorf("the fast area has %d pages and %d in its index; %d blocks used, %d free", n, len(f.index), len(f.used), f.pool.free())
	}
	return nil
}

// requests is the number of requests per model; the environment variable
// WHICHFS_FLASH_REQUESTS overrides it.
func requests(t *testing.T, n int) int {
	if s := os.Getenv("WHICHFS_FLASH_REQUESTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestRandom checks every mapping against a plain array of blocks.
func TestRandom(t *testing.T) {
	for name, m := range randomModels() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			if s := os.Getenv("WHICHFS_FLASH_SEED"); s != "" {
				seed, _ = strconv.ParseUint(s, 10, 64)
			}
			x, err := newTrial(m, seed)
			if err != nil {
				t.Fatal(err)
			}
			n := requests(t, 55000)
			if m.Size > 1<<20 {
				n /= 20
			}
			for i := range n {
				if err := x.step(); err != nil {
					t.Fatalf("seed %d, request %d: %v", seed, i, err)
				}
			}
			t.Logf("seed %d: %d cuts, %+v", seed, x.cuts, x.loss)
			// With few cuts, all requests may happen to survive.
			if x.cuts > 200 && (x.loss.Torn == 0 || (x.loss.Buffered == 0) != (m.Buffer.Size == 0) ||
				(x.loss.Neighbours == 0) == m.Power.MergeLoses) {
				t.Errorf("seed %d: the cuts did not lose what they should: %+v", seed, x.loss)
			}
		})
	}
}
