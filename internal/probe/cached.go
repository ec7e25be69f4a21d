package probe

import (
	"fmt"
	"math"

	"whichfs/internal/sys/units"
)

const cachedCurve = "sweep-cached"

// cached writes through the page cache at all block sizes and waits for the
// medium at the end, as bootlin-2023 does with dd conv=fdatasync. The cache
// merges small blocks into large requests, so this shows what a program
// experiences and the other sweep what the device does.
func (p *prober) cached() error {
	t, ok := p.t.(Cached)
	if !ok {
		for _, key := range []string{SmallCached, LargeCached} {
			p.unknown(key, "there is no page cache in front of this storage")
		}
		return nil
	}
	var blocks []int64
	most := min(level[int64](p, 8<<20, 64<<20, 64<<20), down(p.t.Size()/4, 1<<20))
	if p.sustained > 0 {
		// Choose the amount so that all sizes together take half of
		// the time.
		share := p.sustained * p.left().Seconds() / 2 / 18
		most = min(most, max(4<<20, down(int64(share), 1<<20)))
	}
	for b := max(512, p.block); b <= most; b *= 2 {
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil
	}
	area := p.sweepArea(most)
	took := make([][]float64, len(blocks))
	for rep := range level(p, 1, 3, 5) {
		for _, i := range p.random.Perm(len(blocks)) {
			if rep > 0 && p.left() <= 0 {
				break
			}
			if err := p.ready(); err != nil {
				return err
			}
			p.r.Wrote = true
			d, err := t.WriteCached(area.offset, most, blocks[i])
			if err != nil {
				return p.wrap("writing through the page cache", area.offset, most, err)
			}
			p.r.Written += most
			took[i] = append(took[i], d.Seconds())
		}
	}
	p.cachedFound(blocks, took, most)
	return nil
}

func (p *prober) cachedFound(blocks []int64, took [][]float64, length int64) {
	c := Curve{Key: cachedCurve, Title: fmt.Sprintf("Writing %s through the page cache, with fdatasync", units.Size(length)),
		XName: "block size", XUnit: "B", YName: "time", YUnit: "s", LogX: true, Lines: []Line{{Name: "written and synced"}}}
	four, best := math.NaN(), math.Inf(1)
	bestBlock := int64(0)
	for i, b := range blocks {
		c.Lines[0].Points = append(c.Lines[0].Points, point(float64(b), took[i]))
		m := middle(took[i])
		if b == 4096 {
			four = m
		}
		if b >= 4096 && m < best {
			best, bestBlock = m, b
		}
	}
	p.curve(c)
	if math.IsNaN(four) {
		for _, key := range []string{SmallCached, LargeCached} {
			p.unknown(key, "the device does not support blocks of 4 KiB")
		}
		return
	}
	// A single pass does not show how much passes vary.
	sure := 0.5
	if len(took[0]) > 1 {
		sure = 0.9
	}
	if blocks[0] < 4096 {
		p.found(Finding{Key: SmallCached, Value: middle(took[0]) / four, Unit: "1", Confidence: sure, Curves: []string{cachedCurve},
			Evidence: fmt.Sprintf("%s take %s to write and sync in blocks of %s, and %s in blocks of 4 KiB", units.Size(length),
				units.Value(middle(took[0]), "s"), units.Size(blocks[0]), units.Value(four, "s")),
			Meaning: "The cost of small blocks for a program that writes through the page cache and syncs at the end."})
	} else {
		p.unknown(SmallCached, "the device does not support blocks below 4 KiB")
	}
	p.found(Finding{Key: LargeCached, Value: four / best, Unit: "1", Confidence: sure, Curves: []string{cachedCurve},
		Evidence: fmt.Sprintf("%s take %s to write and sync in blocks of 4 KiB, and %s in blocks of %s", units.Size(length),
			units.Value(four, "s"), units.Value(best, "s"), units.Size(bestBlock)),
		Meaning: "The gain of large blocks for a program that writes through the page cache. If it is near 1, dd bs=4k is as fast as any."})
}
