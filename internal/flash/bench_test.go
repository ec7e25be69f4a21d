package flash

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// card is a 64 GB card with 4 KiB pages, the case with the most state.
func card(scheme string) Model {
	m := Model{
		Name: "card", Kind: KindFlash, Size: 64e9 / 4096 * 4096,
		Bus: Bus{Command: 200 * time.Microsecond, Read: 90e6, Write: 90e6, Queue: 1},
		Media: Media{Page: 4096, Block: 512 << 10, Planes: 4,
			Read: 60 * time.Microsecond, Program: 600 * time.Microsecond, Erase: 3 * time.Millisecond},
		Map:  Map{Scheme: scheme, Segment: 4 << 20, Open: 6, Random: true},
		FAT:  16 << 20,
		Wear: Wear{Dynamic: true, Static: true},
	}
	if scheme == SchemePage {
		m.Map = Map{Scheme: scheme, Spare: 0.07}
	}
	return m
}

// BenchmarkCard measures the time of requests on a 64 GB card without
// contents: half of the requests are random, half sequential, 4 KiB each, a
// third of them reads. The device was filled first. heap-B is the device's
// memory.
func BenchmarkCard(b *testing.B) {
	for _, scheme := range []string{SchemeSegment, SchemeHybrid, SchemePage} {
		for _, buffer := range []int64{0, 1 << 20} {
			b.Run(fmt.Sprintf("scheme=%s/buffer=%d", scheme, buffer), func(b *testing.B) {
				m := card(scheme)
				m.Buffer.Size = buffer
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				d, err := New(m)
				if err != nil {
					b.Fatal(err)
				}
				now := time.Duration(0)
				submit := func(r Request) {
					done, err := d.Submit(now, r)
					if err != nil {
						b.Fatal(err)
					}
					now = done
				}
				const step = 1 << 20
				for at := int64(0); at < m.Size; at += step {
					submit(Request{Op: Write, Offset: at, Length: min(step, m.Size-at)})
				}
				rng := rand.New(rand.NewPCG(1, 2))
				pages, at := m.Size/4096, int64(0)
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					r := Request{Op: Write, Length: 4096}
					if i%3 == 0 {
						r.Op = Read
					}
					if i&1 == 0 {
						r.Offset = rng.Int64N(pages) * 4096
					} else {
						r.Offset = at * 4096
						at = (at + 1) % pages
					}
					submit(r)
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "heap-B")
				runtime.KeepAlive(d)
			})
		}
	}
}
