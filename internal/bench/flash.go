package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/sys/units"
)

// The limits of simulated storage: requests per second and bytes of memory, for a card of flashSize
// bytes.
const (
	flashRate   = 1e6
	flashMemory = 256 << 20
	flashSize   = 64_000_000_000 / (4 << 20) * (4 << 20)
)

// flashCase is a card and its mapping.
type flashCase struct {
	name  string
	model flash.Model
}

// flashCases are cards of one size, one for each mapping; page mapping twice, because garbage
// collection with little spare space copies much.
func flashCases(size int64) []flashCase {
	card := flash.Model{
		Kind: flash.KindFlash, Size: size,
		Bus: flash.Bus{Command: 50 * time.Microsecond, Read: 90e6, Write: 90e6, Queue: 1, Flush: 100 * time.Microsecond},
		Media: flash.Media{Page: 4096, Block: 1 << 20, Planes: 4,
			Read: 50 * time.Microsecond, Program: 600 * time.Microsecond, Erase: 3 * time.Millisecond},
		Wear: flash.Wear{Dynamic: true, Static: true},
		Trim: flash.TrimModel{Supported: true, Zeroes: true},
	}
	var cases []flashCase
	add := func(name string, m flash.Map, buffer int64) {
		c := card
		c.Name, c.Map, c.Buffer.Size = "card", m, buffer
		cases = append(cases, flashCase{name, c})
	}
	const segment = 4 << 20
	add("segments, 6 open", flash.Map{Scheme: flash.SchemeSegment, Segment: segment, Open: 6, Random: true}, 0)
	add("segments, 6 open, buffer", flash.Map{Scheme: flash.SchemeSegment, Segment: segment, Open: 6, Random: true}, 256<<10)
	add("hybrid, 8 log blocks", flash.Map{Scheme: flash.SchemeHybrid, Segment: segment, Open: 8}, 0)
	add("pages, 28 % spare", flash.Map{Scheme: flash.SchemePage, Spare: 0.28}, 0)
	add("pages, 7 % spare", flash.Map{Scheme: flash.SchemePage, Spare: 0.07}, 0)
	return cases
}

// flashSpeed measures the core of simulated storage alone, on full cards: this loop calls the model
// directly, without contents. No other program does the same, so there is no comparison.
func flashSpeed(ctx context.Context, _ Config, out io.Writer) error {
	fmt.Fprintf(out, "%s, written once, and where pages are mapped once more at random; then reads and writes of 4 KiB by turns, half at random, half in sequence, without contents\n", units.Value(flashSize, "B"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "mapping\trequests\trequests/s\tlimit\t\theap, most seen\tlimit\t\tamplification\t")
	for _, k := range flashCases(flashSize) {
		f, err := measureFlash(ctx, k.model, 12, 250_000)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\tat least %.0f\t%s\t%.0f MiB\tat most %d MiB\t%s\t%.2f\t\n", k.name, f.requests,
			f.rate.text("%.0f", ""), flashRate, holds(f.rate.median >= flashRate),
			float64(f.memory)/(1<<20), flashMemory>>20, holds(f.memory <= flashMemory), f.amplification)
	}
	return table.Flush()
}

// flashFigures are those of one card.
type flashFigures struct {
	requests      int
	rate          spread // requests/s, over turns
	memory        int64  // B of heap, beyond what was there before
	amplification float64
}

// measureFlash fills a card, and makes random writes to a page-mapped one until garbage collection
// is running; then it runs a number of turns of requests and discards the first.
func measureFlash(ctx context.Context, m flash.Model, turns, requests int) (flashFigures, error) {
	debug.FreeOSMemory()
	before := heap()
	d, err := flash.New(m)
	if err != nil {
		return flashFigures{}, err
	}
	var now time.Duration
	most := heap()
	for off := int64(0); off < m.Size; off += 1 << 20 {
		if now, err = d.Submit(now, flash.Request{Op: flash.Write, Offset: off, Length: min(1<<20, m.Size-off)}); err != nil {
			return flashFigures{}, err
		}
		if off&(1<<30-1) == 0 && ctx.Err() != nil {
			return flashFigures{}, context.Cause(ctx)
		}
	}
	most = max(most, heap())
	rng := rand.New(rand.NewPCG(1, 64))
	pages, next := m.Size/4096, [2]int64{0, m.Size / 8192}
	if m.Map.Scheme == flash.SchemePage {
		// As many random writes as there are pages.
		for i := range pages {
			if now, err = d.Submit(now, flash.Request{Op: flash.Write, Offset: rng.Int64N(pages) * 4096, Length: 4096}); err != nil {
				return flashFigures{}, err
			}
			if i&(1<<20-1) == 0 && ctx.Err() != nil {
				return flashFigures{}, context.Cause(ctx)
			}
		}
	}
	most = max(most, heap())
	filled := d.Stats()
	var rates []float64
	for turn := range turns {
		if ctx.Err() != nil {
			return flashFigures{}, context.Cause(ctx)
		}
		begin := time.Now()
		for i := range requests {
			r := flash.Request{Op: flash.Read, Length: 4096}
			if i&1 != 0 {
				r.Op = flash.Write
			}
			if i&2 != 0 {
				r.Offset = rng.Int64N(pages) * 4096
			} else {
				r.Offset = next[i&1] % pages * 4096
				next[i&1]++
			}
			if now, err = d.Submit(now, r); err != nil {
				return flashFigures{}, err
			}
		}
		if turn > 0 {
			rates = append(rates, float64(requests)/time.Since(begin).Seconds())
		}
		most = max(most, heap())
	}
	after := d.Stats()
	return flashFigures{requests: (turns - 1) * requests, rate: spreadOf(rates), memory: most - before,
		amplification: float64(after.Programmed-filled.Programmed) / float64(after.Written-filled.Written)}, nil
}

// heap is what the objects on the heap take, including garbage, in bytes; not what their spans take, which have
// room left from objects that are gone.
func heap() int64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
