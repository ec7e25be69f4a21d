package probe

import (
	"fmt"
	"time"

	"whichfs/internal/sys/units"
)

// FAT area.
//
// Some cards map the start by pages, because the file allocation table is
// there. A small write there, closed by writes to other segments, costs
// nothing extra; elsewhere it costs the copying of its segment.

const fatCurve = "fat"

// fat looks for an area at the start where small writes cost nothing extra.
func (p *prober) fat() error {
	if !p.t.Writable() {
		p.unknown(FATArea, onlyReads)
		return nil
	}
	f := p.r.Find(SegmentSize)
	if !f.Known() {
		p.unknown(FATArea, "small writes cost the same everywhere, so no place stands out")
		return nil
	}
	s, ok := p.place()
	if !ok {
		return nil
	}
	if s.push.length > 0 {
		p.unknown(FATArea, "a fast cache hides it: each test of a place would have to write more than the cache holds")
		return nil
	}
	if err := p.fill(0, s.most+int64(f.Value)); err != nil {
		return err
	}
	if err := p.fill(s.base, int64(f.Value)); err != nil {
		return err
	}
	// The segment with the first far place cannot be compared with it.
	size := int64(f.Value)
	z := &start{p: p, s: s, times: level(p, 3, 5, 9), end: s.most / size * size}
	if err := z.single(); err != nil {
		return err
	}
	return z.search()
}

// start compares places near the start with one far from it.
type start struct {
	p     *prober
	s     site
	times int
	end   int64     // B, where the search ends
	none  []float64 // only the far places
	full  []float64 // and a place that is certainly outside
	line  []Point
	one   float64 // s, a write that closes nothing
}

// single measures a write that closes nothing, and brings the device into the
// state for comparison.
func (z *start) single() error {
	for range 2 {
		if _, err := z.p.cycle(z.s, z.s.base+z.s.write); err != nil {
			return err
		}
	}
	var took []float64
	for i := range int64(8) {
		d, err := z.p.through(z.s.far[len(z.s.far)-1]+(i+1)*z.s.write, z.s.write)
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
	}
	z.one = middle(took)
	return nil
}

// free reports whether a write at a place costs no copying. Part of a segment
// may belong to the area, which leaves little to copy: whatever exceeds the
// time of a write by more than the noise and 3 % of a whole segment is not
// free.
func (z *start) free(at int64) (bool, []float64, error) {
	took, err := interleaved(z.p.random, 3, z.times, func(c int) (time.Duration, error) {
		switch c {
		case 0:
			return z.p.cycle(z.s)
		case 1:
			return z.p.cycle(z.s, z.s.base+z.s.write)
		}
		return z.p.cycle(z.s, at)
	})
	if err != nil {
		return false, nil, err
	}
	z.none, z.full = append(z.none, took[0]...), append(z.full, took[1]...)
	z.line = append(z.line, point(float64(at), took[2]))
	lo, hi := middle(z.none), middle(z.full)
	limit := lo + min(1.2*z.one+max(0.03*(hi-lo), 2*spread(z.none)), 0.5*(hi-lo))
	return middle(took[2]) <= limit, took[2], nil
}

func (z *start) search() error {
	p := z.p
	inside, first, err := z.free(z.s.write)
	if err != nil {
		return err
	}
	if !differ(z.none, z.full) {
		p.unknown(FATArea, "small writes cost the same everywhere")
		return nil
	}
	if !inside {
		z.report(0, first)
		return nil
	}
	lo, hi := z.s.write, z.end // lo is inside, hi is not
	if in, _, err := z.free(hi - z.s.write); err != nil {
		return err
	} else if in {
		p.unknown(FATArea, fmt.Sprintf("the first %s are uniform and unlike the rest", units.Value(float64(z.end), "B")))
		return nil
	}
	for hi-lo > max(z.s.write, lo/16) {
		mid := (lo + hi) / 2 / z.s.write * z.s.write
		in, _, err := z.free(mid)
		if err != nil {
			return err
		}
		if in {
			lo = mid
		} else {
			hi = mid
		}
	}
	z.report(hi, first)
	return nil
}

func (z *start) report(size int64, first []float64) {
	p := z.p
	p.curve(Curve{Key: fatCurve, Title: "A small write near the start, until everything is closed", XName: "place", XUnit: "B", YName: "time", YUnit: "s", LogX: true,
		Lines: []Line{{Name: "write", Points: z.line}}, Mark: float64(size)})
	f := Finding{Key: FATArea, Value: float64(size), Unit: "B", Curves: []string{fatCurve},
		Evidence: fmt.Sprintf("a small write takes %s at the start, %s far from it, and the rest of the cycle %s (medians)",
			units.Value(middle(first), "s"), units.Value(middle(z.full), "s"), units.Value(middle(z.none), "s"))}
	if size > 0 {
		f.Confidence = larger(first, z.full, p.random)
		f.Meaning = "This much at the start of the device accepts small writes without copying. It is meant for the file allocation table: a partition that is moved, or a filesystem that keeps its busiest structures elsewhere, does not profit."
	} else {
		f.Confidence = larger(z.none, first, p.random)
		f.Meaning = "The start of the device is like the rest: a filesystem may keep its busiest structures anywhere."
	}
	p.found(f)
}
