package probe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"whichfs/internal/sys/units"
)

// A device with a false capacity accepts writes beyond its real size and loses
// them, or overwrites other data. So each place gets contents that name it;
// reading back shows which place the device really wrote to.

// size finds out how much of the device keeps its contents.
func (p *prober) size() error {
	unit, size := p.unit(), p.t.Size()
	places := p.sizePlaces(unit, size)
	var done []int64
	for _, i := range p.random.Perm(len(places)) {
		if len(done) >= 12 && p.left() < p.budgetOf(0.3) {
			break
		}
		if err := p.store(places[i], p.stamp(places[i], unit)); err != nil {
			return err
		}
		done = append(done, places[i])
	}
	slices.Sort(done)
	if err := p.pause(level(p, 100*time.Millisecond, time.Second, 5*time.Second)); err != nil {
		return err
	}
	var good, lost []int64
	var apart int64 // common divisor of the distances by which contents were displaced
	moved := 0
	buf := make([]byte, unit)
	for _, at := range done {
		if err := p.load(at, buf); err != nil {
			return err
		}
		switch from, ok := p.stamped(buf); {
		case ok && from == at:
			good = append(good, at)
		case ok:
			apart = divisor(apart, max(from-at, at-from))
			moved++
		default:
			lost = append(lost, at)
		}
	}
	switch {
	case moved > 0:
		p.wraps(apart, moved, len(done))
	case len(lost) > 0:
		return p.ends(good, lost, unit, len(done))
	default:
		p.found(Finding{Key: RealSize, Value: float64(size), Unit: "B", Confidence: min(0.98, 0.6+float64(len(done))/100),
			Evidence: fmt.Sprintf("%d places from the start to the end, each with unique contents, all kept them", len(done)),
			Meaning:  "The device has its stated capacity."})
	}
	return nil
}

// sizePlaces returns both ends, the powers of two, and random places.
func (p *prober) sizePlaces(unit, size int64) []int64 {
	list := []int64{0, down(size-unit, unit), down(size/2-unit, unit)}
	for at := int64(1 << 20); at < size-unit; at *= 2 {
		list = append(list, down(at, unit))
	}
	for range level(p, 12, 32, 128) {
		list = append(list, down(p.random.Int64N(size-unit+1), unit))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(at int64) bool { return at < 0 || at+unit > size })
}

const stampMark = 0x77686963_68667331 // "whichfs1"

// stamp returns contents that name a place.
func (p *prober) stamp(at, unit int64) []byte {
	b := make([]byte, unit)
	x := p.o.Seed ^ uint64(at)*0x9e3779b97f4a7c15
	for i := 0; i < len(b); i += 8 {
		x = x*6364136223846793005 + 1442695040888963407
		binary.LittleEndian.PutUint64(b[i:], x)
	}
	binary.LittleEndian.PutUint64(b, stampMark)
	binary.LittleEndian.PutUint64(b[8:], uint64(at))
	binary.LittleEndian.PutUint64(b[16:], p.o.Seed)
	return b
}

// stamped returns the place that contents name; not ok if they are damaged.
func (p *prober) stamped(b []byte) (at int64, ok bool) {
	at = int64(binary.LittleEndian.Uint64(b[8:]))
	return at, slices.Equal(b, p.stamp(at, int64(len(b))))
}

func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (p *prober) fake(f Finding) {
	f.Key, f.Unit = RealSize, "B"
	f.Meaning = "The device has less than it states: writes beyond its real size are lost without an error. Do not use it. If you must, keep all partitions within the real size."
	p.found(f)
	p.warn(fmt.Sprintf("the device states %s, but only %s of it retain data: its capacity is false, or it is defective", units.Size(p.t.Size()), bytesText(f.Value)))
}

func (p *prober) wraps(apart int64, moved, all int) {
	p.fake(Finding{Value: float64(apart), Confidence: min(0.98, 0.6+0.1*float64(moved)),
		Evidence: fmt.Sprintf("%d of %d places held the contents of another one; the distances between the two are multiples of %s", moved, all, units.Size(apart))})
}

// ends narrows down where contents begin to be lost.
func (p *prober) ends(good, lost []int64, unit int64, all int) error {
	low, high := int64(0), lost[0]
	for _, at := range good {
		if at < high {
			low = at + unit
		}
	}
	if len(good) == 0 {
		p.unknown(RealSize, "no written data could be read back")
		p.warn("no written data could be read back from any place")
		return nil
	}
	if good[len(good)-1] > high {
		p.warn(fmt.Sprintf("contents were lost at %s, although later places keep theirs: the device is defective", bytesText(float64(high))))
		p.unknown(RealSize, fmt.Sprintf("%d of %d places lost their contents, while later places did not", len(lost), all))
		return nil
	}
	buf := make([]byte, unit)
	for high-low > unit && p.left() > -p.budgetOf(1) {
		at := down(low+(high-low)/2, unit)
		if at < low {
			break
		}
		if err := p.store(at, p.stamp(at, unit)); err != nil {
			return err
		}
		if err := p.load(at, buf); err != nil {
			return err
		}
		if from, ok := p.stamped(buf); ok && from == at {
			low = at + unit
		} else {
			high = at
		}
	}
	p.fake(Finding{Value: float64(high), Confidence: 0.95,
		Evidence: fmt.Sprintf("%d of %d places lost their contents, all from %s on; the last good place ends at %s", len(lost), all, bytesText(float64(high)), bytesText(float64(low)))})
	return nil
}
