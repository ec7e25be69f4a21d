package probe

import (
	"fmt"
	"math"
	"time"

	"whichfs/internal/sys/units"
)

// sweepPass is one measurement of a sweep: bytes moved, and their time.
type sweepPass struct{ bytes, seconds, flush float64 }

// sweep writes 64 MiB and reads up to 1 GiB at block sizes of 512 B to 64 MiB,
// as Opdenacker did with dd for his talk of 2023. It shuffles the sizes in
// every repetition. A size that would exceed its share of the time moves less;
// nothing is extrapolated.
func (p *prober) sweep() error {
	var blocks []int64
	for b := p.block; b <= min(64<<20, p.t.Size()/16); b *= 2 {
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		for _, key := range []string{ReadSpeed, WriteSpeed, SmallWrites, LargeWrites, BestReadBlock} {
			p.unknown(key, "the device is too small for it")
		}
		return nil
	}
	area := p.sweepArea(blocks[len(blocks)-1])
	if p.t.Writable() {
		stop := p.t.Elapsed() + p.left()/2
		w, err := p.passes(blocks, area, true, 64<<20, stop)
		p.sweepWrites(blocks, w)
		if err != nil {
			return err
		}
	} else {
		for _, key := range []string{WriteSpeed, SmallWrites, LargeWrites} {
			p.unknown(key, onlyReads)
		}
	}
	r, err := p.passes(blocks, area, false, level[int64](p, 128<<20, 1<<30, 1<<30), p.until)
	p.sweepReads(blocks, r)
	return err
}

// sweepArea is where the sweeps run: the longest extent that this probe wrote.
func (p *prober) sweepArea(largest int64) extent {
	size := p.t.Size()
	area := extent{p.base(0.25), down(min(1<<30, size/4), largest)}
	for _, e := range p.written {
		if e.length >= area.length/2 && e.length >= 4*largest {
			start := e.offset + (largest-e.offset%largest)%largest
			if n := down(min(1<<30, e.offset+e.length-start), largest); n > 0 {
				area = extent{start, n}
			}
		}
	}
	area.length = max(area.length, largest)
	return area
}

// passes measures all block sizes, several times each. Each pass continues
// after the previous one, so the device sees one long stream in pieces.
func (p *prober) passes(blocks []int64, area extent, write bool, want int64, stop time.Duration) ([][]sweepPass, error) {
	out := make([][]sweepPass, len(blocks))
	repeats := level(p, 2, 3, 5)
	todo := repeats * len(blocks)
	at := int64(0) // within the area
	for rep := range repeats {
		for _, i := range p.random.Perm(len(blocks)) {
			b := blocks[i]
			slot := (stop - p.t.Elapsed()) / time.Duration(todo)
			todo--
			if rep > 0 && (slot <= 0 || len(out[i]) > 0 && sec(slot)*3 < out[i][0].seconds/out[i][0].bytes*float64(b)) {
				continue // a single block takes longer than the remaining time
			}
			at = (at + b - 1) / b * b
			x, err := p.pass(b, area, &at, write, min(want, area.length), p.t.Elapsed()+slot)
			if err != nil {
				return out, err
			}
			if x.seconds+x.flush > 0 {
				out[i] = append(out[i], x)
			}
		}
	}
	if write {
		p.written = append(p.written, extent{area.offset, min(at, area.length)})
	}
	return out, nil
}

// pass moves data at one block size. A first small request is not counted: it
// pays for what the previous pass left unfinished.
func (p *prober) pass(b int64, area extent, at *int64, write bool, want int64, stop time.Duration) (x sweepPass, err error) {
	one := func() (d time.Duration, err error) {
		if *at+b > area.length {
			*at = 0
		}
		if write {
			d, err = p.write(area.offset+*at, b)
		} else {
			d, err = p.read(area.offset+*at, b)
		}
		*at += b
		return d, err
	}
	if b <= 1<<20 {
		if _, err := one(); err != nil {
			return x, err
		}
	}
	if write {
		if _, err := p.sync(); err != nil {
			return x, err
		}
	}
	for n := int64(0); n < want && (n == 0 || p.t.Elapsed() < stop); n += b {
		d, err := one()
		if err != nil {
			return x, err
		}
		x.bytes += float64(b)
		x.seconds += sec(d)
	}
	if write {
		d, err := p.sync()
		if err != nil {
			return x, err
		}
		x.flush = sec(d)
	}
	return x, nil
}

// perByte returns the times per byte in the passes of a size.
func perByte(passes []sweepPass, flushed bool) []float64 {
	var out []float64
	for _, x := range passes {
		s := x.seconds
		if flushed {
			s += x.flush
		}
		if s > 0 {
			out = append(out, s/x.bytes)
		}
	}
	return out
}

func speedsOf(times []float64) []float64 {
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = 1 / t
	}
	return out
}

// sweepLine makes a line of speeds over block sizes.
func sweepLine(name string, blocks []int64, passes [][]sweepPass, flushed bool) Line {
	l := Line{Name: name}
	for i, b := range blocks {
		if t := perByte(passes[i], flushed); len(t) > 0 {
			l.Points = append(l.Points, point(float64(b), speedsOf(t)))
		}
	}
	return l
}

func sweepCurve(key, title string, lines ...Line) Curve {
	return Curve{Key: key, Title: title, XName: "block size", XUnit: "B", YName: "speed", YUnit: "B/s", LogX: true, LogY: true, Lines: lines}
}

// moved describes how much was moved at a block size.
func moved(passes [][]sweepPass) string {
	low, high := math.Inf(1), 0.0
	for _, l := range passes {
		for _, x := range l {
			low, high = min(low, x.bytes), max(high, x.bytes)
		}
	}
	return fmt.Sprintf("between %s and %s at each block size in a pass", bytesText(low), bytesText(high))
}

// best is the point of the highest speed.
func (l Line) best() (b Point) {
	for _, q := range l.Points {
		if q.Y > b.Y {
			b = q
		}
	}
	return b
}

// at is the point at a block size.
func (l Line) at(x float64) (Point, bool) {
	for _, q := range l.Points {
		if q.X == x {
			return q, true
		}
	}
	return Point{}, false
}

// sure is the confidence in a point: how closely its repetitions agree.
func (q Point) sure() float64 {
	if q.N < 2 || q.Y <= 0 {
		return 0.7
	}
	return max(0.3, min(0.99, 1-(q.High-q.Low)/q.Y/2))
}

func (p *prober) sweepWrites(blocks []int64, w [][]sweepPass) {
	flushed := sweepLine("with a flush at the end", blocks, w, true)
	best := flushed.best()
	if best.Y == 0 {
		return
	}
	c := sweepCurve("sweep-write", "Writing by block size", sweepLine("each request alone", blocks, w, false), flushed)
	c.Mark = best.X
	p.curve(c)
	f := Finding{Key: WriteSpeed, Value: best.Y, Unit: "B/s", Confidence: best.sure(), Curves: []string{c.Key},
		Evidence: fmt.Sprintf("blocks of %s, flushed at the end, are written at %s; %s", units.Size(int64(best.X)), speedText(best.Y), moved(w)),
		Meaning:  "Copying large files to the device runs at this rate at best."}
	if p.sustained > 0 {
		f.Value = min(f.Value, p.sustained)
		f.Evidence += fmt.Sprintf("; a long stream ended at %s", speedText(p.sustained))
	}
	p.found(f)
	four, ok := flushed.at(4096)
	if !ok {
		p.unknown(SmallWrites, "the device does not support blocks of 4 KiB")
		p.unknown(LargeWrites, "the device does not support blocks of 4 KiB")
		return
	}
	if first := flushed.Points[0]; first.X < 4096 {
		p.found(Finding{Key: SmallWrites, Value: four.Y / first.Y, Unit: "1", Confidence: min(first.sure(), four.sure()), Curves: []string{c.Key},
			Evidence: fmt.Sprintf("blocks of %s are written at %s, blocks of 4 KiB at %s", units.Size(int64(first.X)), speedText(first.Y), speedText(four.Y)),
			Meaning:  fmt.Sprintf("A byte written in blocks of %s takes this many times as long as in blocks of 4 KiB. If that is well above 1, filesystem blocks below 4 KiB do not pay.", units.Size(int64(first.X)))})
	} else {
		p.unknown(SmallWrites, "the device does not support blocks below 4 KiB")
	}
	p.found(Finding{Key: LargeWrites, Value: best.Y / four.Y, Unit: "1", Confidence: min(best.sure(), four.sure()), Curves: []string{c.Key},
		Evidence: fmt.Sprintf("blocks of 4 KiB are written at %s, the best size (%s) at %s", speedText(four.Y), units.Size(int64(best.X)), speedText(best.Y)),
		Meaning:  "Sequential writes in larger blocks are this many times as fast as in blocks of 4 KiB. Programs that write with O_DIRECT or O_SYNC should use the best size."})
}

func (p *prober) sweepReads(blocks []int64, r [][]sweepPass) {
	line := sweepLine("each request alone", blocks, r, false)
	best := line.best()
	if best.Y == 0 {
		return
	}
	// The smallest size that is nearly as fast as the best.
	good := best
	for _, q := range line.Points {
		if q.Y >= 0.95*best.Y {
			good = q
			break
		}
	}
	c := sweepCurve("sweep-read", "Reading by block size", line)
	c.Mark = good.X
	p.curve(c)
	p.found(Finding{Key: ReadSpeed, Value: best.Y, Unit: "B/s", Confidence: best.sure(), Curves: []string{c.Key},
		Evidence: fmt.Sprintf("blocks of %s are read at %s; %s", units.Size(int64(best.X)), speedText(best.Y), moved(r)),
		Meaning:  "Loading large files runs at this rate at best."})
	p.found(Finding{Key: BestReadBlock, Value: good.X, Unit: "B", Confidence: min(good.sure(), best.sure()), Curves: []string{c.Key},
		Evidence: fmt.Sprintf("blocks of %s are read at %s, no size more than 5 %% faster", units.Size(int64(good.X)), speedText(good.Y)),
		Meaning:  "Read from the device in blocks of this size (dd bs=, read-ahead); smaller ones are slower."})
}
