package probe

import (
	"fmt"
	"math"
	"time"

	"whichfs/internal/sys/units"
)

// Page size.
//
// A page is programmed as a whole: a partial write must read the rest first,
// and a write that extends into two pages takes two. So the same number of
// bytes takes the same time at a multiple of its own length and half its
// length further on, unless the length is the page size: then the shifted
// write touches two pages in part instead of one as a whole. (Twice the page
// size shifted by half is aligned again.) Reads show it, too, if two pages
// cannot be read in parallel. The comparison is that of flashbench's -a for
// erase blocks (Arnd Bergmann, "Optimizing Linux with cheap flash drives", LWN
// 428584), applied to pages.

const (
	minPage   = 1 << 10
	maxPage   = 64 << 10
	pageStep  = 2 * maxPage // distance of two samples
	pageCurve = "page"
)

// page finds the page size.
func (p *prober) page() error {
	writes := p.t.Writable()
	sizes := []int64{}
	for s := max(minPage, 2*p.block); s <= maxPage; s *= 2 {
		sizes = append(sizes, s)
	}
	times := level(p, 16, 32, 96)
	start, area, err := p.pageArea(int64(times*2*len(sizes)+2)*pageStep, writes)
	if err != nil || area < 64*pageStep {
		p.unknown(PageSize, "the device is too small to look for pages")
		return err
	}
	at := start
	took, err := interleaved(p.random, 2*len(sizes), times, func(c int) (time.Duration, error) {
		s := sizes[c/2]
		shift := int64(c%2) * s / 2
		at += pageStep
		if at+2*pageStep > start+area {
			at = start + pageStep
		}
		if !writes {
			return p.read(at+shift, s)
		}
		return p.pageWrite(at, shift, s)
	})
	if err != nil {
		return err
	}
	p.pageFound(sizes, took, writes)
	return nil
}

// pageArea returns where to measure: away from the start of the device, and
// written first if writing is allowed, because a device need not read a page
// that was never written.
func (p *prober) pageArea(want int64, writes bool) (start, length int64, err error) {
	start = p.t.Size() / 4 / pageStep * pageStep
	length = min(want, p.t.Size()/2/pageStep*pageStep, 64<<20)
	if writes {
		err = p.fill(start, length)
	}
	return start, length, err
}

// pageWrite times a write of s bytes, with flush, a shift after a place. It
// first writes everything up to there, to make the write sequential without a
// gap: a device that must copy skipped pages would show its copying.
func (p *prober) pageWrite(at, shift, s int64) (time.Duration, error) {
	from := at - pageStep + maxPage
	if _, err := p.write(from, at-from); err != nil {
		return 0, err
	}
	if shift > 0 {
		if _, err := p.write(at, shift); err != nil {
			return 0, err
		}
	}
	if _, err := p.sync(); err != nil {
		return 0, err
	}
	return p.through(at+shift, s)
}

// pageFound derives the finding: the page size is the smallest length at which
// a shift costs something, and the only one.
func (p *prober) pageFound(sizes []int64, took [][]float64, writes bool) {
	curve := Curve{Key: pageCurve, Title: "Cost of crossing a page boundary", XName: "length", XUnit: "B", YName: "time", YUnit: "s", LogX: true,
		Lines: []Line{{Name: "at a multiple of the length"}, {Name: "shifted by half the length"}}}
	best, second, at := 0.0, 0.0, -1
	sure := make([]float64, len(sizes))
	for i, s := range sizes {
		a, b := took[2*i], took[2*i+1]
		curve.Lines[0].Points = append(curve.Lines[0].Points, point(float64(s), a))
		curve.Lines[1].Points = append(curve.Lines[1].Points, point(float64(s), b))
		sure[i] = larger(a, b, p.random)
		// Use a ratio, not a difference: long requests vary by more.
		g := middle(b)/middle(a) - 1
		if sure[i] < 0.99 || math.IsNaN(g) || above(a, b) < 0.7 {
			continue
		}
		if g > best {
			best, second, at = g, best, i
		} else {
			second = max(second, g)
		}
	}
	kind := "writes with flush"
	if !writes {
		kind = "reads"
	}
	switch {
	case at < 0:
		p.curve(curve)
		p.found(Finding{Key: PageSize, Undetermined: fmt.Sprintf("%s of no length from %s to %s take longer across a boundary of that length", kind,
			units.Value(float64(sizes[0]), "B"), units.Value(maxPage, "B")), Curves: []string{pageCurve}})
		return
	case second > best/2:
		p.curve(curve)
		p.found(Finding{Key: PageSize, Undetermined: "more than one length looks like a page", Curves: []string{pageCurve}})
		return
	}
	s := sizes[at]
	curve.Mark = float64(s)
	p.curve(curve)
	confidence := sure[at] * (1 - second/best/2)
	if !writes {
		confidence *= 0.8 // two pages that are read together look like one
	}
	p.found(Finding{Key: PageSize, Value: float64(s), Unit: "B", Confidence: confidence, Curves: []string{pageCurve},
		Evidence: fmt.Sprintf("%s of %s take %s at a multiple of that and %s half of it further (medians of %d); no other length shows as much",
			kind, units.Value(float64(s), "B"), units.Value(middle(took[2*at]), "s"), units.Value(middle(took[2*at+1]), "s"), len(took[2*at])),
		Meaning: "The device programs this much at a time. Writes that are smaller or not aligned to it make the device read and program whole pages for a part of them. Choose a filesystem block of at least this size if there is one, and start partitions at a multiple."})
}
