package probe

import (
	"fmt"
	"time"

	"whichfs/internal/sys/units"
)

// Segment size.
//
// Closing a segment copies the part that was not rewritten. Two small writes
// into one segment cost one close, into two segments two, whether the device
// accepts writes inside a segment in any order or only sequentially. So two
// places belong to one segment if writing to both, and then to so many others
// that everything is closed, takes as long as for two neighbours; and they do
// not if it takes as long as for two places that are certainly apart.

const segmentCurve = "segment"

// related determines whether places share a segment.
type related struct {
	p     *prober
	s     site
	times int
	same  []float64 // neighbours
	apart []float64 // the largest possible segment lies between them
	asked map[[2]int64][]float64
	merge int // cycles so far
}

// verdict of a comparison.
type verdict int

const (
	unclear verdict = iota
	together
	separate
)

// ask times a pair of places until the answer is clear, or will not become
// clear.
func (q *related) ask(a, b int64) (verdict, error) {
	for range 4 {
		if v, err := q.once(a, b); v != unclear || err != nil {
			return v, err
		}
	}
	return unclear, nil
}

// once times a pair of places, alternating with the two references. Behind a
// fast cache, where a cycle takes long, it times the references only at first.
func (q *related) once(a, b int64) (verdict, error) {
	s := q.s
	cycle := func(c int) (time.Duration, error) {
		q.merge++
		switch c {
		case 0:
			return q.p.cycle(s, s.base+s.write, s.base+2*s.write)
		case 1:
			return q.p.cycle(s, s.base+s.write, s.base+s.most+s.write)
		}
		return q.p.cycle(s, a, b)
	}
	if len(q.asked) == 0 { // do not measure the state that others left
		if _, err := interleaved(q.p.random, 3, 1, cycle); err != nil {
			return unclear, err
		}
	}
	key := [2]int64{a, b}
	if s.push.length > 0 && q.works() {
		took, err := interleaved(q.p.random, 1, 2, func(int) (time.Duration, error) { return cycle(2) })
		if err != nil {
			return unclear, err
		}
		q.asked[key] = append(q.asked[key], took[0]...)
	} else {
		took, err := interleaved(q.p.random, 3, q.times, cycle)
		if err != nil {
			return unclear, err
		}
		q.same, q.apart = append(q.same, took[0]...), append(q.apart, took[1]...)
		q.asked[key] = append(q.asked[key], took[2]...)
	}
	if !q.works() {
		return unclear, nil
	}
	lo, hi := middle(q.same), middle(q.apart)
	switch x := (middle(q.asked[key]) - lo) / (hi - lo); {
	case x > -0.3 && x < 0.4:
		return together, nil
	case x > 0.6 && x < 1.4:
		return separate, nil
	}
	return unclear, nil
}

// works reports whether the references differ, by more than they vary and by
// at least a part of one write.
func (q *related) works() bool {
	one := middle(q.same) / float64(len(q.s.far)+2)
	if q.s.push.length > 0 { // most of the time is not for closing
		one = 0
	}
	return differ(q.same, q.apart) && middle(q.apart)-middle(q.same) > one/4
}

// segment finds the segment size.
func (p *prober) segment() error {
	if !p.t.Writable() {
		if p.r.Find(SegmentSize).Key == "" { // align has not run
			p.unknown(SegmentSize, onlyReads)
		}
		return nil
	}
	s, ok := p.place()
	if !ok {
		p.unknown(SegmentSize, "the device is too small to look for segments")
		return nil
	}
	if err := p.fill(s.base-s.most, 3*s.most); err != nil {
		return err
	}
	if why, err := p.worthwhile(s); why != "" || err != nil {
		p.unknown(SegmentSize, why)
		return err
	}
	q := &related{p: p, s: s, times: level(p, 2, 3, 5), asked: map[[2]int64][]float64{}}
	if v, err := q.first(); err != nil || v != separate {
		if err == nil {
			p.unknown(SegmentSize, q.whyNot())
		}
		return err
	}
	size, err := q.search()
	if err != nil {
		return err
	}
	why := ""
	if size > 0 {
		why, err = q.confirm(size)
		if err != nil {
			return err
		}
	} else {
		why = "no size explains which places are closed together"
	}
	q.report(size, why)
	return nil
}

// turnsNeeded is the approximate number of cycles of a search.
const turnsNeeded = 45

// worthwhile says why not to search behind a fast cache: every step there
// writes more than the cache holds.
func (p *prober) worthwhile(s site) (why string, err error) {
	if s.push.length == 0 {
		return "", nil
	}
	var d time.Duration
	for range 2 { // the first time, the cache may be empty
		if d, err = p.pushOut(s); err != nil {
			return "", err
		}
	}
	if all := turnsNeeded * d; all > p.left() {
		return fmt.Sprintf("a fast cache hides it; a search behind it would take about %s, and write %s", units.Value(all.Seconds(), "s"),
			units.Value(float64(turnsNeeded*s.push.length), "B")), nil
	}
	return "", nil
}

// first checks whether the device shows anything, and whether base is a
// boundary.
func (q *related) first() (verdict, error) {
	return q.ask(q.s.base-q.s.write, q.s.base)
}

// whyNot says what is missing if the first check failed.
func (q *related) whyNot() string {
	if !q.works() {
		return fmt.Sprintf("two small writes far apart cost no more than two next to each other (%s against %s), even with %d other places written in between: the device maps by pages, keeps more segments open, or hides it behind a fast cache",
			units.Value(middle(q.apart), "s"), units.Value(middle(q.same), "s"), len(q.s.far))
	}
	return fmt.Sprintf("no segment boundary was found at %s: segments are neither a power of two nor three times one, are larger than %s, or are not counted from the start of the device",
		units.Value(float64(q.s.base), "B"), units.Value(float64(q.s.most), "B"))
}

// search finds the largest size that lies within one segment; 0 if there is
// none.
func (q *related) search() (int64, error) {
	sizes := q.s.sizes()
	lo, hi := -1, len(sizes) // sizes[lo] is one segment, sizes[hi] is not
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		v, err := q.ask(q.s.base, q.s.base+sizes[mid]-q.s.write)
		if err != nil {
			return 0, err
		}
		switch v {
		case together:
			lo = mid
		case separate:
			hi = mid
		default:
			return 0, nil
		}
	}
	if lo < 0 {
		return 0, nil
	}
	return sizes[lo], nil
}

// confirm checks the boundaries that a size predicts, and that there are none
// between; it returns the contradiction, if any.
func (q *related) confirm(size int64) (string, error) {
	b, w := q.s.base, q.s.write
	for _, x := range []struct {
		a, b int64
		want verdict
	}{
		{b, b + size - w, together},
		{b + size - w, b + size, separate},
		{b - size, b - w, together},
		{b - size - w, b - size, separate},
		{b + size/2 - w, b + size/2, together},
	} {
		if x.a < b-q.s.most || x.b+w > b+2*q.s.most {
			continue
		}
		v, err := q.ask(x.a, x.b)
		if err != nil {
			return "", err
		}
		if v != x.want {
			return fmt.Sprintf("%s was found, but places at %s and %s from there contradict it", units.Value(float64(size), "B"),
				units.Value(float64(x.a-b), "B"), units.Value(float64(x.b-b), "B")), nil
		}
	}
	return "", nil
}

func (q *related) report(size int64, why string) {
	p := q.p
	c := Curve{Key: segmentCurve, Title: "Writes to two places, until everything is closed", XName: "distance", XUnit: "B", YName: "time", YUnit: "s", LogX: true,
		Lines: []Line{{Name: "from a boundary on"}}, Mark: float64(size)}
	for _, n := range q.s.sizes() {
		if v := q.asked[[2]int64{q.s.base, q.s.base + n - q.s.write}]; len(v) > 0 {
			c.Lines[0].Points = append(c.Lines[0].Points, point(float64(n), v))
		}
	}
	p.curve(c)
	if why != "" {
		p.found(Finding{Key: SegmentSize, Undetermined: why, Curves: []string{segmentCurve}})
		return
	}
	p.found(Finding{Key: SegmentSize, Value: float64(size), Unit: "B", Confidence: larger(q.same, q.apart, p.random), Curves: []string{segmentCurve},
		Evidence: fmt.Sprintf("two writes including the closing of their segments take %s in one segment and %s in two (medians of %d and %d); boundaries were found at multiples of %s and none between; %d times all segments were closed for it",
			units.Value(middle(q.same), "s"), units.Value(middle(q.apart), "s"), len(q.same), len(q.apart), units.Value(float64(size), "B"), q.merge),
		Meaning: "The device manages its space in units of this size: a small write into one that is not open makes it copy the whole unit sooner or later. Start partitions at a multiple of it, and set sections of this size in filesystems that support it (f2fs, nilfs2, ext4 with stripe-width)."})
}
