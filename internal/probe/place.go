package probe

import (
	"errors"
	"time"
)

// What the parts about geometry share: where on the device they work, and
// writing so that every cost is seen.

// fillChunk is the size of the writes that fill an area.
const fillChunk = 1 << 20

// fill writes an area onward, untimed: what was never written need not be
// copied, and a device that copies nothing shows nothing.
func (p *prober) fill(offset, length int64) error {
	for end := offset + length; offset < end; {
		n := min(fillChunk, end-offset)
		if _, err := p.write(offset, n); err != nil {
			return err
		}
		offset += n
	}
	return p.settle()
}

// settle flushes, where the device can.
func (p *prober) settle() error {
	if _, err := p.sync(); err != nil && !errors.Is(err, ErrUnsupported) {
		return err
	}
	return nil
}

// through times a write until it is on the medium: with the flush behind it,
// because a buffer would hide it.
func (p *prober) through(offset, length int64) (time.Duration, error) {
	d, err := p.write(offset, length)
	if err != nil {
		return d, err
	}
	f, err := p.sync()
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return d, err
	}
	return d + f, nil
}

// site is where segments are looked for. All that is supposed of the device is
// that segments are counted from its beginning.
type site struct {
	write int64 // B of one write; whole pages
	most  int64 // B, the largest segment that can be found
	// base is a multiple of every size that can be found; the device is filled
	// from base-most to base+2*most.
	base int64
	// push is written behind everything that is timed, so that a fast cache has
	// emptied all of it into the rest of the device; of length 0 where there is
	// no such cache.
	push extent
	far  []int64 // places of which no two can be in one segment, and none is near base or the start
}

// sizes are the segment sizes that can be found, ascending: powers of two, and
// three times these, which cards with three bits a cell have.
func (s site) sizes() (out []int64) {
	for n := int64(128 << 10); n <= s.most; n *= 2 {
		out = append(out, n)
		if n+n/2 <= s.most {
			out = append(out, n+n/2)
		}
	}
	return out
}

// maxFar is how many far places are used at most: more open segments than
// that are not looked for.
const maxFar = 20

// place chooses the site; false where the device is too small.
func (p *prober) place() (s site, ok bool) {
	size := p.t.Size()
	s.write = max(32<<10, p.block)
	if f := p.r.Find(PageSize); f.Known() {
		s.write = max(s.write, int64(f.Value))
	}
	if f := p.r.Find(FastCache); f.Known() && f.Value > 0 {
		// The measured size may be a little short, and the cache works in blocks.
		n := min((int64(f.Value*1.3)+16<<20)>>20<<20, size/2>>20<<20)
		size = (size - n - evenOut) >> 20 << 20
		s.push = extent{size, n}
	}
	s.most = 32 << 20
	for s.most > 1<<20 && size < 16*s.most {
		s.most /= 2
	}
	if size < 16*s.most {
		return s, false
	}
	whole := 3 * s.most // the least common multiple of all sizes
	s.base = size / 2 / whole * whole
	if s.base < 2*s.most {
		s.base = whole
	}
	for at := s.most; at+s.most <= size && len(s.far) < maxFar; at += s.most {
		if at+s.most <= s.base-s.most || at >= s.base+2*s.most {
			s.far = append(s.far, at)
		}
	}
	return s, len(s.far) >= 4
}

// cycle writes at these places, in this order, and then at all the far ones, so
// that every segment touched is closed. The time for all of it says how much
// had to be copied, whenever the device does it.
func (p *prober) cycle(s site, places ...int64) (sum time.Duration, err error) {
	for _, list := range [][]int64{places, s.far} {
		for _, at := range list {
			d, err := p.through(at, s.write)
			if err != nil {
				return 0, err
			}
			sum += d
		}
	}
	if s.push.length == 0 {
		return sum, nil
	}
	// Behind the push, what makes every cycle as long as any other: where the
	// device goes on then decides which of its planes work at the same time.
	n := int64(len(places)+len(s.far)) * s.write % evenOut
	extra := extent{s.push.offset + s.push.length, evenOut - n}
	for _, x := range []extent{extra, s.push} {
		d, err := p.pushOut(site{push: x})
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// evenOut is a multiple of everything that a device may count in, in bytes.
const evenOut = 8 << 20

// pushOut writes so much that a fast cache holds nothing of what came before.
func (p *prober) pushOut(s site) (sum time.Duration, err error) {
	for at, end := s.push.offset, s.push.offset+s.push.length; at < end; at += fillChunk {
		d, err := p.write(at, min(fillChunk, end-at))
		if err != nil {
			return 0, err
		}
		sum += d
	}
	if s.push.length == 0 {
		return 0, nil
	}
	d, err := p.sync()
	if errors.Is(err, ErrUnsupported) {
		return sum, nil
	}
	return sum + d, err
}
