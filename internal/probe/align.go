package probe

import (
	"fmt"
	"time"

	"whichfs/internal/sys/units"
)

// Alignment by reads.
//
// A read that crosses a segment boundary takes longer on some cards, because
// two segments must be looked up. So this compares reads that end at a place,
// cross it and begin there, at places of exactly one alignment, for all
// alignments: from the segment size on there is a difference, below it there
// is none (flashbench -a; Arnd Bergmann, "Optimizing Linux with cheap flash
// drives", LWN 428584). It needs no writes, and says nothing about cards whose
// reads do not slow down.

// AlignCurve shows how long these reads take; its last line is across.
const AlignCurve = "align"

// align compares reads around places of all alignments. If the probe may
// write, the result is only displayed: closing segments is more reliable.
func (p *prober) align() error {
	length := 2 * max(4096, p.block)
	var sizes []int64
	for n := int64(64 << 10); n <= 64<<20 && n*8 <= p.t.Size(); n *= 2 {
		sizes = append(sizes, n)
	}
	if len(sizes) < 6 {
		if !p.t.Writable() {
			p.unknown(SegmentSize, "the device is too small to look for segments")
		}
		return nil
	}
	// Before, across and after: three reads for each alignment.
	took, err := interleaved(p.random, 3*len(sizes), level(p, 12, 24, 64), func(c int) (time.Duration, error) {
		n := sizes[c/3]
		// An odd multiple is a multiple of nothing larger.
		at := n * (2*p.random.Int64N((p.t.Size()-length)/(2*n)) + 1)
		return p.read(at-length+int64(c%3)*length/2, length)
	})
	if err != nil {
		return err
	}
	diffs := make([][]float64, len(sizes))
	c := Curve{Key: AlignCurve, Title: "Reading across aligned places", XName: "alignment", XUnit: "B", YName: "time", YUnit: "s", LogX: true,
		Lines: []Line{{Name: "before and after"}, {Name: "across"}}}
	for i, n := range sizes {
		before, across, behind := took[3*i], took[3*i+1], took[3*i+2]
		for k := range across {
			diffs[i] = append(diffs[i], across[k]-(before[k]+behind[k])/2)
		}
		c.Lines[0].Points = append(c.Lines[0].Points, point(float64(n), append(append([]float64(nil), before...), behind...)))
		c.Lines[1].Points = append(c.Lines[1].Points, point(float64(n), across))
	}
	at, sure := p.rise(diffs)
	if at > 0 {
		c.Mark = float64(sizes[at])
	}
	p.curve(c)
	if p.t.Writable() {
		return nil
	}
	p.alignFound(sizes, diffs, at, sure)
	return nil
}

// rise finds the alignment from which all differences are larger than those
// before; 0 if there is no such step. Three alignments must lie on either
// side: a single one that stands out is noise.
func (p *prober) rise(diffs [][]float64) (at int, sure float64) {
	best := 0.0
	for i := 3; i+3 <= len(diffs); i++ {
		var lo, hi []float64
		for k, d := range diffs {
			if k < i {
				lo = append(lo, middle(d))
			} else {
				hi = append(hi, middle(d))
			}
		}
		if above(lo, hi) < 1 {
			continue
		}
		if g := gap(lo, hi); g > best {
			best, at = g, i
		}
	}
	if at == 0 {
		return 0, 0
	}
	var lo, hi []float64
	for k, d := range diffs {
		if k < at {
			lo = append(lo, d...)
		} else {
			hi = append(hi, d...)
		}
	}
	// The step must also appear between its two nearest neighbours.
	if above(lo, hi) < 0.8 || above(diffs[at-1], diffs[at]) < 0.75 {
		return 0, 0
	}
	return at, larger(lo, hi, p.random)
}

func (p *prober) alignFound(sizes []int64, diffs [][]float64, at int, sure float64) {
	if at == 0 {
		p.found(Finding{Key: SegmentSize, Curves: []string{AlignCurve},
			Undetermined: "at no alignment do reads across a place take longer than reads next to it, and writing, which would be conclusive, is not allowed"})
		return
	}
	p.found(Finding{Key: SegmentSize, Value: float64(sizes[at]), Unit: "B", Confidence: 0.8 * sure, Curves: []string{AlignCurve},
		Evidence: fmt.Sprintf("a read across a multiple of %s takes %s longer than one next to it, one across a multiple of %s only %s (medians of %d)",
			units.Size(sizes[at]), units.Value(middle(diffs[at]), "s"), units.Size(sizes[at-1]), units.Value(middle(diffs[at-1]), "s"), len(diffs[at])),
		Meaning: "The device seems to manage its space in units of this size; only writes could confirm it. Aligning partitions to twice the true size does no harm, aligning to half of it does."})
}

// CrossingCurve shows how much longer a read across an aligned place takes than one next to it.
const CrossingCurve = "align-difference"

// Crossing returns that curve of a report; without points, if it was not measured.
func Crossing(r Report) Curve {
	var out Curve
	for _, c := range r.Curves {
		switch {
		case c.Key == CrossingCurve:
			return c
		case c.Key == AlignCurve && len(c.Lines) == 2:
			out = crossing(c.Lines[0], c.Lines[1])
		}
	}
	return out
}

func crossing(beside, across Line) Curve {
	c := Curve{Key: CrossingCurve, Title: "Reading across aligned places, longer than next to them", XName: "alignment", XUnit: "B", YName: "time", YUnit: "s", LogX: true, Lines: []Line{{}}}
	for _, q := range across.Points {
		if b, ok := beside.at(q.X); ok {
			d := q.Y - b.Y // of medians
			c.Lines[0].Points = append(c.Lines[0].Points, Point{X: q.X, Y: d, Low: d, High: d, N: q.N})
		}
	}
	return c
}
