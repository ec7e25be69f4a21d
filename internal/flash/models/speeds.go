package models

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"whichfs/internal/flash"
)

// Speeds are what a model reaches in virtual time, without a host. All are 0
// if the model takes no time.
type Speeds struct {
	Read, Write float64 // B/s, sequential in requests of 512 KiB; Write is sustained: all caches are full
	Burst       float64 // B/s, the first sequential writes, into empty caches
	// 4 KiB at random places over the whole device, per second: one at a
	// time, and at the device's queue depth. The device was filled first,
	// and writes are counted in the steady state.
	RandomRead, RandomWrite       float64
	QueuedRandomRead              float64
	QueuedRandomWrite             float64
	SmallWrite                    float64 // 4 KiB in sequence; per second
	RandomAmplification, Measured float64 // bytes programmed per byte of the random writes; size of the measured device, B
}

// measured is the device size for measurements, in bytes: large enough for
// dozens of segments, small enough for a fraction of a second.
const measured = 1 << 30

const (
	stream = 512 << 10 // B, of a sequential request: the maximum of Linux's SD host driver
	small  = 4 << 10   // B, of a random one
)

// Measure measures the speeds of a model in virtual time.
func Measure(m flash.Model) (Speeds, error) { return measure(m, measured) }

// measure measures them at the given device size, in bytes.
func measure(m flash.Model, size int64) (Speeds, error) {
	m, err := Sized(m, min(m.Size, size))
	if err != nil {
		return Speeds{}, err
	}
	dev, err := flash.New(m)
	if err != nil {
		return Speeds{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	// Requests carry no data: only the mapping takes memory.
	g := newLoad(dev)
	size = dev.Size() / stream * stream
	s := Speeds{Measured: float64(dev.Size())}
	first := min(size, 16<<20)
	s.Burst = g.rate(flash.Write, inOrder(0, stream), stream, first/stream, 1) * stream
	g.rate(flash.Write, inOrder(first, stream), stream, (size-first)/stream, 1)
	s.Write = g.rate(flash.Write, inOrder(0, stream), stream, size/2/stream, 1) * stream
	g.settle()
	s.Read = g.rate(flash.Read, inOrder(0, stream), stream, min(size, 64<<20)/stream, 1) * stream
	s.RandomRead = g.rate(flash.Read, g.anywhere(), small, 2000, 1)
	s.QueuedRandomRead = g.rate(flash.Read, g.anywhere(), small, 4000, dev.Depth())
	s.SmallWrite = g.rate(flash.Write, inOrder(0, small), small, 4096, 1)
	// Steady state: a mapping by pages needs one pass over the device in
	// bytes; a mapping by segments is steady when all its open segments
	// have changed.
	warm := 8 * int64(max(m.Map.Open, 8))
	count := int64(400)
	if m.Map.Scheme == flash.SchemePage {
		warm, count = dev.Size()/small, 20_000
	}
	g.rate(flash.Write, g.anywhere(), small, warm, dev.Depth())
	before := dev.Stats()
	s.RandomWrite = g.rate(flash.Write, g.anywhere(), small, count, 1)
	after := dev.Stats()
	if w := after.Written - before.Written; w > 0 {
		s.RandomAmplification = float64(after.Programmed-before.Programmed) / float64(w)
	}
	s.QueuedRandomWrite = g.rate(flash.Write, g.anywhere(), small, count, dev.Depth())
	return s, g.err
}

// load drives a device in virtual time. After an error it does nothing.
type load struct {
	dev flash.Device
	now time.Duration
	rng *rand.Rand
	err error
}

func newLoad(dev flash.Device) *load {
	return &load{dev: dev, rng: rand.New(rand.NewPCG(1, 2))}
}

// rate issues count requests at the given depth, with a flush after writes,
// and returns how many completed per second; 0 if they took no time.
func (g *load) rate(op flash.Op, where func(i int64) int64, length, count int64, depth int) float64 {
	start := g.now
	var under instants
	for i := int64(0); i < count && g.err == nil; i++ {
		if len(under) >= max(depth, 1) {
			g.now = max(g.now, heap.Pop(&under).(time.Duration))
		}
		g.submit(flash.Request{Op: op, Offset: where(i) % (g.dev.Size() - length + flash.Sector), Length: length}, &under)
	}
	for len(under) > 0 {
		g.now = max(g.now, heap.Pop(&under).(time.Duration))
	}
	if op == flash.Write && g.err == nil {
		g.submit(flash.Request{Op: flash.Flush}, &under)
		if len(under) > 0 {
			g.now = max(g.now, under[0])
		}
	}
	if g.now <= start || g.err != nil {
		return 0
	}
	return float64(count) / (g.now - start).Seconds()
}

func (g *load) submit(r flash.Request, under *instants) {
	done, err := g.dev.Submit(g.now, r)
	if err != nil {
		g.err = err
		return
	}
	heap.Push(under, done)
}

// settle waits until the device has no background work left.
func (g *load) settle() { g.now += time.Minute }

func inOrder(from, step int64) func(int64) int64 {
	return func(i int64) int64 { return from + i*step }
}

func (g *load) anywhere() func(int64) int64 {
	n := g.dev.Size() / small
	return func(int64) int64 { return g.rng.Int64N(n) * small }
}

// instants is a heap of completions.
type instants []time.Duration

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, j int) bool { return h[i] < h[j] }
func (h instants) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *instants) Push(x any)        { *h = append(*h, x.(time.Duration)) }
func (h *instants) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
