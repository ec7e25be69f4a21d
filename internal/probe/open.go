package probe

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whichfs/internal/sys/units"
)

// Open segments.
//
// Write to n segments in rotation. While all of them can be open, each write
// costs only itself; with one more, every write closes the segment that is
// needed next (flashbench --open-au, LWN 428584).

const openCurve = "open"

// turns writes to segments in rotation.
type turns struct {
	p      *prober
	size   int64 // of a segment
	write  int64
	at     []int64 // where each segment begins
	random bool
	next   [][]int64 // what is still to be written of each segment
}

// step writes once into segment i, sequentially or at random inside; it
// restarts a segment that was written completely.
func (t *turns) step(i int) (time.Duration, error) {
	if len(t.next[i]) == 0 {
		t.next[i] = slots(t.p.random, t.size/t.write, t.random)
	}
	slot := t.next[i][0]
	t.next[i] = t.next[i][1:]
	return t.p.through(t.at[i]+slot*t.write, t.write)
}

func slots(r *rand.Rand, n int64, random bool) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	if random {
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// round writes to n segments twice: the first time to open them. It returns
// how long each write of the second time took, in seconds.
func (t *turns) round(n int) ([]float64, error) {
	out := make([]float64, 0, n)
	for k := range 2 {
		for i := range n {
			d, err := t.step(i)
			if err != nil {
				return nil, err
			}
			if k > 0 {
				out = append(out, d.Seconds())
			}
		}
	}
	return out, nil
}

// open finds how many segments can be open.
func (p *prober) open() error {
	f := p.r.Find(SegmentSize)
	if !f.Known() {
		p.unknown(OpenLinear, "without a segment size open segments cannot be counted")
		p.unknown(OpenRandom, "without a segment size open segments cannot be counted")
		return nil
	}
	s, ok := p.place()
	if s.push.length > 0 {
		const why = "the fast cache absorbs and sorts all writes, which hides how many segments are open behind it"
		p.unknown(OpenLinear, why)
		p.unknown(OpenRandom, why)
		return nil
	}
	size := int64(f.Value)
	if !ok || size%s.write != 0 {
		return nil
	}
	var at []int64
	for _, x := range s.far {
		if x = (x + size - 1) / size * size; x+size <= p.t.Size() {
			at = append(at, x)
		}
	}
	for _, x := range at {
		if err := p.fill(x, size); err != nil {
			return err
		}
	}
	curve := Curve{Key: openCurve, Title: "Writing to segments in rotation", XName: "segments", XUnit: "1", YName: "time of a write", YUnit: "s", LogY: true}
	linear := &turns{p: p, size: size, write: s.write, at: at, next: make([][]int64, len(at))}
	random := &turns{p: p, size: size, write: s.write, at: at, next: make([][]int64, len(at)), random: true}
	a, err := linear.count(&curve, "sequentially inside", nil)
	if err != nil {
		return err
	}
	b, err := random.count(&curve, "at random inside", a)
	if err != nil {
		return err
	}
	p.curve(curve)
	p.openFound(OpenLinear, a, "onward")
	p.openFound(OpenRandom, b, "at random")
	return nil
}

// counted is the result of a count.
type counted struct {
	open        int
	why         string    // not determined
	cheap, dear []float64 // s, writes to that many segments, and to one more
	confidence  float64
}

// count adds segments until writes become expensive. If even one segment is,
// only an earlier count can show it.
func (t *turns) count(c *Curve, name string, before *counted) (*counted, error) {
	line := Line{Name: name}
	var by [][]float64
	var cheap float64
	if before != nil && before.why == "" {
		cheap = middle(before.cheap)
	}
	n, found := 1, false
	for ; n <= len(t.at); n++ {
		took, err := t.sample(n)
		if err != nil {
			return nil, err
		}
		by = append(by, took)
		line.Points = append(line.Points, point(float64(n), took))
		if n == 1 && cheap == 0 {
			cheap = middle(took)
		}
		if middle(took) > dearer*cheap {
			found = true
			break
		}
	}
	c.Lines = append(c.Lines, line)
	if !found {
		return &counted{why: fmt.Sprintf("no slower with %d segments in rotation than with one", len(t.at))}, nil
	}
	return t.confirm(n-1, before)
}

// dearer is how much longer, at least, a write takes that closes a segment.
// Closing copies at least several times what is written here.
const dearer = 1.5

// sample makes enough writes to n segments for a median.
func (t *turns) sample(n int) (out []float64, err error) {
	// Several rounds: when all segments happen to restart in one round,
	// nothing is left to copy.
	for k := 0; k < 5 || len(out) < 7; k++ {
		took, err := t.round(n)
		if err != nil {
			return nil, err
		}
		out = append(out, took...)
	}
	return out, nil
}

// confirm alternates between n and n+1 segments and compares.
func (t *turns) confirm(n int, before *counted) (*counted, error) {
	got := &counted{open: n}
	for range level(t.p, 4, 6, 9) {
		if n > 0 {
			took, err := t.round(n)
			if err != nil {
				return nil, err
			}
			got.cheap = append(got.cheap, took...)
		}
		took, err := t.round(n + 1)
		if err != nil {
			return nil, err
		}
		got.dear = append(got.dear, took...)
	}
	if n == 0 {
		if before == nil || before.why != "" {
			got.why = "even writes to one segment vary, and there is no reference to compare them with"
			return got, nil
		}
		got.cheap = before.cheap
	}
	got.confidence = larger(got.cheap, got.dear, t.p.random)
	if middle(got.dear) < dearer*middle(got.cheap) || above(got.cheap, got.dear) < 0.8 {
		got.why = fmt.Sprintf("writes became slower at %d segments, but not when the test was repeated", n+1)
	}
	return got, nil
}

func (p *prober) openFound(key string, c *counted, how string) {
	if c.why != "" {
		p.found(Finding{Key: key, Undetermined: c.why, Curves: []string{openCurve}})
		return
	}
	meaning := "This many segments can be written concurrently before the device begins to copy. A filesystem that writes to more places at a time (journal, metadata, data, logs) slows down to the speed of copying; f2fs uses up to six, and can be configured to use fewer."
	if key == OpenRandom {
		meaning = "This many segments accept small writes in any order. Within them, random writes cost no more than sequential ones; beyond, each one closes a segment."
		if c.open == 0 {
			meaning = "Even inside one segment, non-sequential writes make the device copy. Only filesystems that write strictly sequentially (log-structured ones) run at full speed on it."
		}
	}
	p.found(Finding{Key: key, Value: float64(c.open), Unit: "1", Confidence: c.confidence, Meaning: meaning, Curves: []string{openCurve},
		Evidence: fmt.Sprintf("written %s inside, a write takes %s up to here and %s with one segment more (medians of %d and %d)",
			how, units.Value(middle(c.cheap), "s"), units.Value(middle(c.dear), "s"), len(c.cheap), len(c.dear))})
}
