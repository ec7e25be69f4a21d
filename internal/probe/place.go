package probe

import (
	"errors"
	"time"
)

// What the parts about geometry share: where on the device they work, and how
// to write so that every cost shows.

// fillChunk is the size of the writes that fill an area.
const fillChunk = 1 << 20

// fill writes an area sequentially, untimed: a device need not copy what was
// never written, and a device that copies nothing shows nothing.
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

// settle flushes if the device can.
func (p *prober) settle() error {
	if _, err := p.sync(); err != nil && !errors.Is(err, ErrUnsupported) {
		return err
	}
	return nil
}

// through times a write until it is on the medium, including the flush,
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

// site is where to look for segments. It assumes only that the device counts
// segments from its start.
type site struct {
	write int64 // B of one write; whole pages
	most  int64 // B, the largest detectable segment
	// base is a multiple of every detectable size; the device is filled
	// from base-most to base+2*most.
	base int64
	// push is written after everything that is timed, so that a fast cache
	// folds all of it into the main area; its length is 0 without such a
	// cache.
	push extent
	far  []int64 // places no two of which can be in one segment, none near base or the start
}

// sizes returns the detectable segment sizes in ascending order: powers of
// two, and three times these, as on cards with three bits per cell.
func (s site) sizes() (out []int64) {
	for n := int64(128 << 10); n <= s.most; n *= 2 {
		out = append(out, n)
		if n+n/2 <= s.most {
			out = append(out, n+n/2)
		}
	}
	return out
}

// maxFar is the maximum number of far places, and so of detectable open
// segments.
const maxFar = 20

// place chooses the site; false if the device is too small.
func (p *prober) place() (s site, ok bool) {
	size := p.t.Size()
	s.write = max(32<<10, p.block)
	if f := p.r.Find(PageSize); f.Known() {
		s.write = max(s.write, int64(f.Value))
	}
	if f := p.r.Find(FastCache); f.Known() && f.Value > 0 {
		// The measured size may be slightly short, and the cache works
		// in blocks.
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

// cycle writes at these places, in this order, and then at all the far ones,
// which closes every touched segment. The total time shows how much had to be
// copied, whenever the device does so.
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
	// After the push, pad every cycle to the same length: the position at
	// which the device continues determines which of its planes work in
	// parallel.
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

// evenOut is a multiple of every likely unit of a device, in bytes.
const evenOut = 8 << 20

// pushOut writes so much that a fast cache holds nothing written earlier.
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
