package probe

import (
	"fmt"
	"math"
	"time"

	"whichfs/internal/sys/units"
)

// Two kinds of cache absorb writes. Volatile memory (the write cache) shows in
// the time of a flush: the more was written before, the longer, until the
// memory is full. A fast area of the medium (the fast cache) shows in a long
// stream: it slows down when the area is full, and a flush does not change
// that.

// stream is a long sequential write: its requests add up to windows.
type stream struct {
	window int64
	times  []float64 // s for each window
	next   int64     // where it continues
}

// cache measures both caches: the long stream first, while the fast cache is
// as empty as possible.
func (p *prober) cache() error {
	if err := p.pause(level(p, 2*time.Second, 10*time.Second, time.Minute)); err != nil {
		return err
	}
	s, err := p.stream()
	if err != nil {
		return err
	}
	room, most, err := p.ladder(s)
	if err != nil {
		return err
	}
	p.fastCache(s, room, most)
	return nil
}

// stream writes sequentially from an eighth of the device to seven eighths,
// until the speed has dropped and stayed low, or time or space runs out.
func (p *prober) stream() (*stream, error) {
	size := p.t.Size()
	start := p.base(0.125)
	end := min(size*7/8, start+level[int64](p, 2<<30, 16<<30, 512<<30))
	s := &stream{window: max(p.unit(), min(1<<20, down((end-start)/64, p.unit()))), next: start}
	request := max(p.unit(), min(s.window, 128<<10))
	stop := p.t.Elapsed() + p.left()*6/10
	for s.next+s.window <= end && (len(s.times) < 8 || p.t.Elapsed() < stop) {
		sum := 0.0
		for n := int64(0); n < s.window; n += request {
			d, err := p.write(s.next+n, min(request, s.window-n))
			if err != nil {
				return s, err
			}
			sum += sec(d)
		}
		s.next += s.window
		s.times = append(s.times, sum)
		if n := len(s.times); n >= 64 && n%32 == 0 {
			if at, before, after := change(s.times, 8); at > 8 && after > 1.3*before && n > at+at/2+16 {
				break
			}
		}
	}
	p.written = append(p.written, extent{start, s.next - start})
	_, err := p.sync()
	return s, err
}

// change finds the point at which times per window rise most: two levels of
// logarithms, fitted by least squares, after replacing runs of three by their
// medians, so that single slow requests do not count. It ignores the first
// skip windows.
func change(times []float64, skip int) (at int, before, after float64) {
	n := len(times)
	if n < skip+8 {
		return 0, 1, 1
	}
	y := make([]float64, 0, n)
	for i := skip; i < n; i++ {
		lo, hi := max(skip, i-2), min(n, i+3)
		y = append(y, math.Log(max(1e-12, middle(times[lo:hi]))))
	}
	total := 0.0
	for _, v := range y {
		total += v
	}
	best, sum := 0.0, 0.0
	for i, v := range y[:len(y)-1] {
		sum += v
		k, m := float64(i+1), float64(len(y)-i-1)
		d := (total-sum)/m - sum/k
		if gain := d * math.Abs(d) * k * m / (k + m); gain > best && i >= 3 && len(y)-i > 4 {
			best, at = gain, skip+i+1
		}
	}
	if at == 0 {
		return 0, 1, 1
	}
	return at, middle(times[skip:at]), middle(times[at:])
}

// fastCache derives the finding from a stream. room is the size of the write
// cache, most the largest size that would have been visible.
func (p *prober) fastCache(s *stream, room, most int64) {
	c := Curve{Key: "stream", Title: "A long stream of writes", XName: "written", XUnit: "B", YName: "speed", YUnit: "B/s", Lines: []Line{{}}}
	group := max(1, len(s.times)/256)
	for i := 0; i+group <= len(s.times); i += group {
		speeds := speedsOf(s.times[i : i+group])
		for k := range speeds {
			speeds[k] *= float64(s.window)
		}
		c.Lines[0].Points = append(c.Lines[0].Points, point(float64(int64(i+group)*s.window), speeds))
	}
	skip := int(2*room/s.window) + 2
	at, before, after := change(s.times, skip)
	n := len(s.times)
	p.sustained = float64(s.window) / middle(s.times[n/2:])
	bytes := int64(at) * s.window
	wrote := int64(n) * s.window
	tail := n - at
	if at > 0 && after > 1.15*before && tail*8 >= at && significant(s.times, skip, at) {
		p.sustained = float64(s.window) / middle(s.times[at:])
		// The write cache in front of it holds part of what was
		// written.
		value := max(s.window, bytes-room)
		c.Mark = float64(bytes)
		p.found(Finding{Key: FastCache, Value: float64(value), Unit: "B", Confidence: min(0.95, 0.6+0.3*min(1, math.Log2(after/before))+0.05*min(1, float64(tail)/float64(at))),
			Curves: []string{c.Key},
			Evidence: fmt.Sprintf("a stream runs at %s until %s are written, then at %s to its end at %s",
				speedText(float64(s.window)/before), bytesText(float64(bytes)), speedText(float64(s.window)/after), bytesText(float64(wrote))),
			Meaning: "Up to this much is written at full speed if the device was idle before. Beyond that, writes run at the lower speed: size bulk copies and benchmarks accordingly."})
	} else {
		looked := wrote / 2
		// Real caches of this kind reach gigabytes: a shorter stream
		// excludes none on a large device.
		if looked < min(4<<30, p.t.Size()/5) {
			p.unknown(FastCache, fmt.Sprintf("only %s could be written in the available time, too little to exclude one", bytesText(float64(wrote))))
		} else {
			p.found(Finding{Key: FastCache, Value: 0, Unit: "B", Confidence: min(0.9, 0.5+0.4*float64(wrote)/float64(p.t.Size())), Curves: []string{c.Key},
				Evidence: fmt.Sprintf("the speed stayed the same while %s were written: there is none up to about %s, or the main area is too slow for it to show", bytesText(float64(wrote)), bytesText(float64(looked))),
				Meaning:  "Long copies continue at their initial speed."})
		}
	}
	p.curve(c)
}

// significant reports whether the two levels are far apart relative to their
// variation.
func significant(times []float64, skip, at int) bool {
	a, b := times[skip:at], times[at:]
	s := scatter(a)/math.Sqrt(float64(len(a))) + scatter(b)/math.Sqrt(float64(len(b)))
	return middle(b)-middle(a) > 5*s
}

// step of the ladder: the flush after a number of bytes.
type step struct{ bytes, write, flush float64 }

// ladder times flushes after increasing numbers of bytes and adds the finding
// of the write cache. It returns its size and the largest size that would have
// been visible.
func (p *prober) ladder(s *stream) (room, most int64, err error) {
	unit := p.unit()
	quantum := max(unit, 16<<10)
	largest := down(min(level[int64](p, 64<<20, 256<<20, 1<<30), p.t.Size()/16), quantum)
	area := extent{p.base(0.125), s.next - p.base(0.125)}
	at := s.next
	var empty []float64
	for range 8 {
		d, err := p.sync()
		if err != nil {
			return 0, 0, err
		}
		empty = append(empty, sec(d))
	}
	var steps []step
	for f, by := 1.0, math.Pow(2, 0.25); ; f *= by {
		bytes := down(int64(float64(unit)*f+0.5), unit)
		if len(steps) > 0 && bytes <= int64(steps[len(steps)-1].bytes) {
			continue
		}
		if bytes > 2<<20 {
			by = math.Sqrt2
		}
		if bytes > largest || p.t.Elapsed() > p.until {
			break
		}
		var x step
		x, at, err = p.climb(bytes, quantum, area, at)
		if err != nil {
			return 0, 0, err
		}
		steps = append(steps, x)
		if (x.write+x.flush)*5 > sec(p.left()) && bytes > 1<<20 {
			break
		}
		if v, _, ok := saturation(steps, middle(empty)); ok && x.bytes > 8*v && x.bytes > 2<<20 {
			break
		}
	}
	if len(steps) < 6 {
		p.unknown(WriteCache, noTime)
		return 0, 0, nil
	}
	return p.writeCache(steps, empty), int64(steps[len(steps)-1].bytes), nil
}

// climb writes the bytes sequentially in as few requests as possible and
// flushes, three times, and returns the medians.
func (p *prober) climb(bytes, quantum int64, area extent, at int64) (step, int64, error) {
	var writes, flushes []float64
	request := min(bytes, 4<<20)
	for range 3 {
		if at+bytes > area.offset+area.length {
			at = area.offset
		}
		sum := 0.0
		for n := int64(0); n < bytes; n += request {
			d, err := p.write(at+n, min(request, bytes-n))
			if err != nil {
				return step{}, at, err
			}
			sum += sec(d)
		}
		at += (bytes + 4*quantum - 1) / (4 * quantum) * (4 * quantum) // begin each step on a new page
		d, err := p.sync()
		if err != nil {
			return step{}, at, err
		}
		writes, flushes = append(writes, sum), append(flushes, sec(d))
	}
	return step{float64(bytes), middle(writes), middle(flushes)}, at, nil
}

// saturation fits flush = empty + min(bytes, size)/speed to the steps, by
// least squares of relative errors over all sizes between the first step and
// the last. It is not ok if the flush does not depend on what was written.
func saturation(steps []step, empty float64) (size, misfit float64, ok bool) {
	if len(steps) < 6 {
		return 0, 0, false
	}
	lo, hi := steps[0].bytes, steps[len(steps)-1].bytes
	fit := func(size float64) float64 {
		var xy, xx float64
		for _, s := range steps {
			x, w := min(s.bytes, size), 1/max(s.flush, 1e-9)
			xy += w * w * x * (s.flush - empty)
			xx += w * w * x * x
		}
		slope := xy / xx
		sum := 0.0
		for _, s := range steps {
			e := (s.flush - empty - slope*min(s.bytes, size)) / max(s.flush, 1e-9)
			sum += min(e*e, 0.25) // one bad step must not decide
		}
		return math.Sqrt(sum / float64(len(steps)))
	}
	misfit = math.Inf(1)
	for b := lo; b <= hi*1.001; b *= 1.02 {
		if e := fit(b); e < misfit {
			size, misfit = b, e
		}
	}
	var high []float64
	for _, s := range steps {
		if s.bytes >= size {
			high = append(high, s.flush)
		}
	}
	gain := middle(high) - empty
	return size, misfit, len(high) > 0 && gain > 0.1*empty && gain > 10e-6
}

// knee finds the size above which single writes take longer than the line
// through the smaller ones: two lines, fitted by least squares of relative
// errors. It is not ok if there is no jump and no steeper slope.
func knee(steps []step) (size float64, ok bool) {
	best := math.Inf(1)
	for k := 3; k+3 <= len(steps); k++ {
		a, b, e := line(steps[:k])
		c, d, g := line(steps[k:])
		x := steps[k].bytes
		if sum := e + g; sum < best {
			best, size = sum, steps[k-1].bytes
			// If the steeper line begins without a jump, the lines
			// intersect at the size, which need not be a step.
			if meet := (a - c) / (d - b); d > b && meet > steps[k-2].bytes && meet < steps[k].bytes {
				size = meet
			}
			ok = b > 0 && (c+d*x > 1.15*(a+b*x) || d > 1.2*b)
		}
	}
	return size, ok
}

// line fits write = a + b × bytes and returns the sum of squared relative errors.
func line(s []step) (a, b, errors float64) {
	var w, wx, wy, wxx, wxy float64
	for _, q := range s {
		k := 1 / max(1e-18, q.write*q.write)
		w, wx, wy = w+k, wx+k*q.bytes, wy+k*q.write
		wxx, wxy = wxx+k*q.bytes*q.bytes, wxy+k*q.bytes*q.write
	}
	b = (w*wxy - wx*wy) / (w*wxx - wx*wx)
	a = (wy - b*wx) / w
	for _, q := range s {
		r := (q.write - a - b*q.bytes) / max(1e-9, q.write)
		errors += min(r*r, 0.25)
	}
	return a, b, errors
}

// writeCache derives the finding from the ladder: flushes show whether there
// is one; its size shows in flushes and writes.
func (p *prober) writeCache(steps []step, idle []float64) int64 {
	empty := middle(idle)
	c := Curve{Key: "flush-after", Title: "Writes and flushes by how much was written", XName: "written", XUnit: "B", YName: "time", YUnit: "s", LogX: true,
		LogY: true, Lines: []Line{{Name: "the flush"}, {Name: "the preceding writes"}}}
	for _, s := range steps {
		c.Lines[0].Points = append(c.Lines[0].Points, Point{X: s.bytes, Y: s.flush, Low: s.flush, High: s.flush, N: 3})
		c.Lines[1].Points = append(c.Lines[1].Points, Point{X: s.bytes, Y: s.write, Low: s.write, High: s.write, N: 3})
	}
	first, last := steps[0], steps[len(steps)-1]
	size, misfit, ok := saturation(steps, empty)
	// Flushing data takes about as long as writing it. If it takes a small
	// part of that, the host became slower.
	grew := last.flush - empty
	if ok && p.sustained > 0 && grew < 0.05*size/p.sustained {
		ok = false
	}
	f := Finding{Key: WriteCache, Unit: "B", Curves: []string{c.Key}}
	if !ok {
		f.Confidence = 0.85
		f.Evidence = fmt.Sprintf("a flush takes %s with nothing to write and %s after %s, far less than writing that takes", timeText(empty), timeText(last.flush), units.Size(int64(last.bytes)))
		f.Meaning = "Writes are on the medium when they are acknowledged, or the device ignores flushes: timing cannot distinguish the two."
		p.found(f)
		p.curve(c)
		return 0
	}
	turn, sharp := knee(upTo(steps, 8*size))
	sharp = sharp && turn > size/2.5 && turn < size*2.5
	switch {
	case size > last.bytes/1.5:
		f.Undetermined = fmt.Sprintf("flushes take longer the more was written, up to the last test of %s: the cache is larger than that", bytesText(last.bytes))
	case sharp:
		f.Value, f.Confidence = turn, 0.8
		if math.Abs(math.Log(turn/size)) < 0.3 {
			f.Confidence = 0.95
		}
		f.Evidence = fmt.Sprintf("a write of up to %s is accepted at once and a larger one has to wait; a flush takes %s with nothing to write, and longer the more was written, up to %s after %s",
			bytesText(turn), timeText(empty), timeText(last.flush), bytesText(size))
	case misfit < 0.25 && size > 200<<10:
		f.Value, f.Confidence = size, max(0.5, min(0.9, 1-1.5*misfit))
		f.Evidence = fmt.Sprintf("a flush takes %s with nothing to write and longer the more was written, up to %s after %s; then no longer (up to %s)",
			timeText(empty), timeText(last.flush), bytesText(size), bytesText(last.bytes))
	default:
		f.Undetermined = fmt.Sprintf("a flush has something to write (it takes %s with nothing to write, %s after %s, %s after %s), but the size of the cache does not show",
			timeText(empty), timeText(first.flush), bytesText(first.bytes), timeText(last.flush), bytesText(last.bytes))
	}
	f.Meaning = "The device keeps this much in volatile memory: a power loss destroys it. Never turn off flushes (barriers) on this device."
	if f.Undetermined != "" {
		f.Meaning = ""
	}
	c.Mark = f.Value
	p.found(f)
	p.curve(c)
	return int64(max(f.Value, size))
}

func upTo(steps []step, bytes float64) []step {
	for i, s := range steps {
		if s.bytes > bytes && i >= 6 {
			return steps[:i]
		}
	}
	return steps
}
