package probe

import (
	"fmt"
	"math"
	"slices"
	"time"

	"whichfs/internal/sys/units"
)

// zone is a place of the map with its measured speeds.
type zone struct {
	offset int64
	speeds []float64 // B/s
}

// maps measures the speed at places over the whole device and looks for slow
// zones.
func (p *prober) maps() error {
	size := p.t.Size()
	n := level[int64](p, 64, 128, 256)
	length := down(min(1<<20, size/n), p.unit())
	if length == 0 {
		p.unknown(SlowZones, "the device is too small for a map")
		return nil
	}
	if f := p.r.Find(SegmentSize); p.o.Effort == "thorough" && f.Known() && f.Value > 0 {
		n = min(4096, max(n, size/int64(f.Value)))
	}
	places := make([]zone, n)
	for i := range places {
		places[i].offset = down(int64(float64(size-length)*float64(i)/float64(n-1)), p.unit())
	}
	var writes []zone
	if p.t.Writable() {
		writes = slices.Clone(places)
		if err := p.mapWrites(writes, length); err != nil {
			return err
		}
		// Reads of unwritten places may be answered without accessing
		// the medium: compare only written ones.
		writes = slices.DeleteFunc(writes, func(z zone) bool { return len(z.speeds) == 0 })
		places = make([]zone, len(writes))
		for i, z := range writes {
			places[i].offset = z.offset
			p.written = append(p.written, extent{z.offset, length})
		}
		p.mapCurve("map-write", "Writing over the whole device", writes)
	}
	if err := p.mapReads(places, length); err != nil {
		return err
	}
	p.mapCurve("map-read", "Reading over the whole device", places)
	p.slowZones(places, writes)
	return nil
}

// mapWrites writes places in the order of the device, for half of the time:
// every second one, then those between, and so on if there is too little time
// for all.
func (p *prober) mapWrites(z []zone, length int64) error {
	stop := p.t.Elapsed() + p.left()/2
	half := down(length/2, p.unit())
	for step, first := 4, true; step >= 1; step /= 2 {
		for i := 0; i < len(z); i += step {
			if len(z[i].speeds) > 0 {
				continue
			}
			if !first && p.t.Elapsed() >= stop {
				return nil
			}
			// The first half pays for what the previous place left
			// unfinished.
			if half > 0 {
				if _, err := p.write(z[i].offset, half); err != nil {
					return err
				}
				if _, err := p.sync(); err != nil {
					return err
				}
			}
			d, err := p.write(z[i].offset+half, length-half)
			if err != nil {
				return err
			}
			f, err := p.sync()
			if err != nil {
				return err
			}
			if d+f > 0 {
				z[i].speeds = append(z[i].speeds, float64(length-half)/sec(d+f))
			}
		}
		first = false
	}
	return nil
}

func (p *prober) mapReads(z []zone, length int64) error {
	for rep := range level(p, 2, 3, 3) {
		for k, i := range p.random.Perm(len(z)) {
			if rep > 0 && p.left() <= 0 || k > 32 && p.left() < -10*time.Second {
				return nil
			}
			d, err := p.read(z[i].offset, length)
			if err != nil {
				return err
			}
			if d > 0 {
				z[i].speeds = append(z[i].speeds, float64(length)/sec(d))
			}
		}
	}
	return nil
}

func (p *prober) mapCurve(key, title string, z []zone) {
	c := Curve{Key: key, Title: title, XName: "place", XUnit: "B", YName: "speed", YUnit: "B/s", Lines: []Line{{}}}
	for _, x := range z {
		if len(x.speeds) > 0 {
			c.Lines[0].Points = append(c.Lines[0].Points, point(float64(x.offset), x.speeds))
		}
	}
	if len(c.Lines[0].Points) > 0 {
		p.curve(c)
	}
}

// slowZones looks for places well below the speed of their surroundings. It
// first subtracts the trend over the device: on a rotating disk the outer
// tracks are faster than the inner ones, which is not a fault.
func (p *prober) slowZones(reads, writes []zone) {
	slow, fall, n := outliers(reads)
	if n < 16 {
		p.unknown(SlowZones, fmt.Sprintf("only %d places could be measured", n))
		return
	}
	// The cost of a write also depends on what the device has open, so
	// only reads decide; the writes are for display.
	f := Finding{Key: SlowZones, Text: "none", Confidence: min(0.95, 0.5+float64(n)/256), Curves: []string{"map-read"}}
	if len(writes) > 0 {
		f.Curves = append(f.Curves, "map-write")
	}
	f.Evidence = fmt.Sprintf("%d places over the whole device were measured; none is far below its surroundings", n)
	f.Meaning = "The whole device is equally fast: a partition may be anywhere."
	if fall < 0.85 {
		f.Text = "none; speed falls from the start to the end, as on a disk with zones"
		f.Evidence += fmt.Sprintf("; the end reaches %s of the speed of the start", units.Share(fall))
		f.Meaning = "The start of the device is faster than its end. Put the most important data in a partition at the start."
	}
	if len(slow) > 0 {
		var speeds []float64
		for _, z := range slow {
			speeds = append(speeds, middle(z.speeds))
		}
		first, last := slow[0].offset, slow[len(slow)-1].offset
		f.Text = fmt.Sprintf("%d of %d places, between %s and %s", len(slow), n, bytesText(float64(first)), bytesText(float64(last)))
		f.Confidence = 0.9
		f.Evidence = fmt.Sprintf("these places are read at %s, well below their surroundings", speedText(middle(speeds)))
		f.Meaning = "Slow places are often worn or damaged ones that the device reads repeatedly. Back up their contents soon."
	}
	p.found(f)
}

// outliers returns the zones whose speed is below 70 % of the trend and more
// than 6 deviations (by medians) below it. fall is the trend's end over its
// start.
func outliers(z []zone) (slow []zone, fall float64, n int) {
	var x, y []float64
	var have []zone
	for _, q := range z {
		if len(q.speeds) > 0 {
			have = append(have, q)
			x = append(x, float64(q.offset))
			y = append(y, math.Log(middle(q.speeds)))
		}
	}
	n = len(have)
	if n < 4 {
		return nil, 1, n
	}
	// Theil and Sen: the median of all slopes between pairs half the device apart.
	var slopes []float64
	for i := range n / 2 {
		j := i + n/2
		slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
	}
	slope := middle(slopes)
	rest := make([]float64, n)
	for i := range rest {
		rest[i] = y[i] - slope*x[i]
	}
	m, s := middle(rest), scatter(rest)
	for i, v := range rest {
		if v < m+math.Log(0.7) && v < m-6*s {
			slow = append(slow, have[i])
		}
	}
	return slow, math.Exp(slope * (x[n-1] - x[0])), n
}
