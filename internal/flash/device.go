package flash

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrTrim is the error of a discard on a device that has none.
var ErrTrim = errors.New("the device does not support discards")

// New makes the device that a model describes, empty and unused. The error
// lists everything that is impossible about the model (Check).
func New(m Model) (Device, error) {
	if f := m.Check(); len(f) > 0 {
		var errs []error
		for _, x := range f {
			errs = append(errs, x)
		}
		return nil, fmt.Errorf("impossible model: %w", errors.Join(errs...))
	}
	switch m.Kind {
	case KindDisk:
		return newDisk(m), nil
	case KindFree:
		return newFree(m), nil
	}
	return newDrive(m), nil
}

// drive is flash behind a translation layer, with its host interface.
type drive struct {
	m       Model
	chip    *chip
	host    host
	stats   Stats
	page    int64
	pages   int64 // logical pages
	backing *backing

	fat   mapping // for the first fatPages; nil: none
	main  mapping
	buf   *buffer // nil: none
	areas []*media

	fatPages int64
	latest   time.Duration // latest instant passed in
}

func newDrive(m Model) *drive {
	d := &drive{m: m, page: m.Media.Page, host: newHost(m.Bus), backing: newBacking(m.Media.Page, m.Size)}
	d.chip = newChip(m.Media, &d.stats)
	d.pages = (m.Size + d.page - 1) / d.page
	d.fatPages = m.FAT / d.page
	if d.fatPages > 0 {
		d.fat = newPage(d.chip, d.fatPages, fatSpare, m.Wear, m.Trim, m.Media)
		d.areas = append(d.areas, d.fat.areas()...)
	}
	switch m.Map.Scheme {
	case SchemeSegment:
		d.main = newSegmented(d.chip, m, d.pages, d.fatPages, forward{m.Map.Random})
	case SchemeHybrid:
		d.main = newSegmented(d.chip, m, d.pages, d.fatPages, logBlock{})
	default:
		d.main = newPage(d.chip, d.pages, m.Map.Spare, m.Wear, m.Trim, m.Media)
	}
	if m.Fast.Size > 0 {
		d.main = newFast(d.chip, m, d.main)
	}
	d.areas = append(d.areas, d.main.areas()...)
	if m.Buffer.Size > 0 {
		d.buf = newBuffer(d)
	}
	return d
}

// fatSpare is the over-provisioning of the FAT area's own page mapping. No
// source states one; a quarter keeps collection rare in such a small area.
const fatSpare = 0.25

func (d *drive) Size() int64 { return d.m.Size }

func (d *drive) Depth() int { return d.m.Bus.Queue }

// at returns the mapping of a logical page.
func (d *drive) at(lp int64) mapping {
	if lp < d.fatPages {
		return d.fat
	}
	return d.main
}

// Submit implements Device.
func (d *drive) Submit(now time.Duration, r Request) (time.Duration, error) {
	if err := checkRequest(r, d.m.Size); err != nil {
		return 0, err
	}
	if r.Op == Trim && !d.m.Trim.Supported {
		return 0, ErrTrim
	}
	now = d.advance(now)
	d.stats.request(r)
	at := d.host.begin(now)
	var done time.Duration
	switch r.Op {
	case Read:
		done = d.read(at, r)
	case Write, WriteZeroes:
		done = d.write(at, r)
	case Trim:
		done = d.trim(at, r)
	case Flush:
		done = d.flush(at)
	}
	d.host.end(now, done)
	return done, nil
}

// advance brings the device to an instant: it settles what is finished and
// uses idle time.
func (d *drive) advance(now time.Duration) time.Duration {
	now = max(now, d.latest)
	d.latest = now
	d.idle(now)
	d.chip.journal.settle(now)
	return now
}

// Stats implements Device.
func (d *drive) Stats() Stats {
	s := d.stats
	s.Busy = d.host.busy
	wear(&s, d.areas)
	return s
}

// wear computes the distribution of erases over all blocks of the medium. The
// blocks of a unit are always erased together.
func wear(s *Stats, areas []*media) {
	each := func(f func(erases, blocks int64)) {
		for _, m := range areas {
			for _, n := range m.pool.erases {
				f(int64(n), m.blocks)
			}
		}
	}
	var sum, squares float64
	s.MinErases = math.MaxInt64
	each(func(n, blocks int64) {
		s.MinErases, s.MaxErases = min(s.MinErases, n), max(s.MaxErases, n)
		s.Blocks += blocks
		sum += float64(n * blocks)
	})
	s.MeanErases = sum / float64(s.Blocks)
	each(func(n, blocks int64) {
		squares += (float64(n) - s.MeanErases) * (float64(n) - s.MeanErases) * float64(blocks)
	})
	s.StdDevErases = math.Sqrt(squares / float64(s.Blocks))
}
