package flash

import (
	"slices"
	"time"
)

// disk is a rotating disk: arm, platter, track buffer and write cache.
//
// Requests are served in the order of arrival, even if the bus takes several
// at a time: a queue hides the command overhead, but the disk does not reorder
// them. The write cache is written out in order of position.
//
// If power fails while a sector is being written, the sector is completed, as
// the energy of the platters allows in real disks; so writes tear between
// sectors. Discards, where the model has them, change nothing, because there
// is nothing to free.
type disk struct {
	m     Model
	geo   geometry
	data  sparse // newest contents; undo holds what is on the platters
	stats Stats

	latest time.Duration // latest instant passed in
	until  time.Duration // the last completion so far
	head   float64       // position of the arm, in tracks from the start
	idle   time.Duration // when arm and platter become idle
	ahead  readAhead
	dirty  []*diskWrite // in the write cache, by offset, non-overlapping
	held   int64        // B of dirty
	going  []*diskWrite // being written to the platters, in order
}

// diskWrite is a run of sectors that is not, or may not be, on the platters.
type diskWrite struct {
	off, n     int64
	old        []byte        // what is on the platters; nil: zeros
	at         time.Duration // when it was acknowledged
	cached     bool          // acknowledged before it was on the platters
	begin, end time.Duration // when it is written; only for going
}

func newDisk(m Model) *disk {
	return &disk{m: m, geo: newGeometry(m.Size, m.Disk), data: newSparse(m.Size)}
}

func (d *disk) Size() int64  { return d.m.Size }
func (d *disk) Depth() int   { return d.m.Bus.Queue }
func (d *disk) Stats() Stats { return d.stats }

// Submit implements Device.
func (d *disk) Submit(now time.Duration, r Request) (time.Duration, error) {
	if err := checkRequest(r, d.m.Size); err != nil {
		return 0, err
	}
	if r.Op == Trim && !d.m.Trim.Supported {
		return 0, ErrTrim
	}
	now = max(now, d.latest)
	d.latest = now
	d.stats.request(r)
	// With a queue, the command overhead overlaps the previous request.
	at := max(now, d.until) + d.m.Bus.Command
	if d.m.Bus.Queue > 1 {
		at = max(now+d.m.Bus.Command, d.until)
	}
	d.destageUntil(at)
	d.forget(now)
	done := at
	switch r.Op {
	case Read:
		done = d.read(at, r)
	case Write:
		done = d.write(at, r, transfer(r.Length, 1e9/d.m.Bus.Write))
	case WriteZeroes:
		r.Data = nil
		done = d.write(at, r, 0)
	case Trim:
		done += d.m.Trim.Command
	case Flush:
		done = d.flush(at) + d.m.Bus.Flush
	}
	d.stats.Busy += max(0, done-max(now, d.until))
	d.until = max(d.until, done)
	return done, nil
}

// read returns data from the track buffer or the write cache at the speed of
// the bus, or from the platters.
func (d *disk) read(at time.Duration, r Request) time.Duration {
	if r.Data != nil {
		d.data.read(r.Offset, r.Data)
	}
	bus := at + transfer(r.Length, 1e9/d.m.Bus.Read)
	end := r.Offset + r.Length
	if r.Length == 0 || d.cached(r.Offset, end) {
		return bus
	}
	if ready, ok := d.ahead.hit(&d.geo, at, r.Offset, end); ok {
		d.ahead.passed(&d.geo, max(at, ready), end, d.room())
		return max(bus, ready)
	}
	begin, finish := d.position(at, r.Offset, r.Length)
	d.ahead.start(r.Offset, end, finish, d.room())
	return max(finish, begin+transfer(r.Length, 1e9/d.m.Bus.Read))
}

// position moves the arm to a place as soon as possible, waits for the place
// to rotate under it, and transfers. It ends read-ahead.
func (d *disk) position(at time.Duration, off, n int64) (begin, end time.Duration) {
	at = max(at, d.idle)
	from := d.head
	if d.ahead.on {
		from = d.geo.track(d.ahead.reached(&d.geo, at))
		d.ahead.stop(&d.geo, at)
	}
	to := d.geo.track(off)
	at += d.geo.seek(to - from)
	begin = at + d.geo.wait(at, to)
	d.head = d.geo.track(off + n)
	end = begin + d.geo.turns(d.head-to)
	d.idle = end
	return begin, end
}

// room is the part of the buffer that is free for read-ahead, in bytes.
func (d *disk) room() int64 { return max(0, d.m.Disk.Buffer-d.held) }

// write puts data into the cache or on the platters. bus is the duration of
// their transfer.
func (d *disk) write(at time.Duration, r Request, bus time.Duration) time.Duration {
	if r.Length == 0 {
		return at
	}
	d.ahead.drop(r.Offset, r.Offset+r.Length)
	if !d.m.Disk.WriteCache || d.m.Disk.Buffer < Sector || r.FUA {
		d.uncache(r.Offset, r.Offset+r.Length)
		w := &diskWrite{off: r.Offset, n: r.Length, old: d.data.get(r.Offset, r.Length)}
		d.data.set(r.Offset, r.Length, r.Data)
		w.begin, w.end = d.position(at, w.off, w.n)
		d.going = append(d.going, w)
		return max(w.end, at+bus)
	}
	// In parts, so that a write larger than the cache gets through it.
	part := max(Sector, d.m.Disk.Buffer/4/Sector*Sector)
	for off := int64(0); off < r.Length; off += part {
		n := min(part, r.Length-off)
		for d.held > 0 && d.held+n > d.m.Disk.Buffer {
			d.destage(at)
			at = max(at, d.going[len(d.going)-1].end)
		}
		at += time.Duration(float64(bus) * float64(n) / float64(r.Length))
		var data []byte
		if r.Data != nil {
			data = r.Data[off : off+n]
		}
		d.cache(at, r.Offset+off, n, data)
	}
	return at
}

func (d *disk) flush(at time.Duration) time.Duration {
	for len(d.dirty) > 0 {
		d.destage(at)
	}
	for _, w := range d.going {
		at = max(at, w.end)
	}
	return at
}

// Cut implements Device: the cache is lost; of a write in flight, the sectors
// that had passed the head survive.
func (d *disk) Cut(now time.Duration) Loss {
	var l Loss
	now = max(now, d.latest)
	d.latest = now
	d.destageUntil(now)
	d.forget(now)
	lose := func(w *diskWrite, from int64) {
		if w.cached && w.at <= now {
			l.Buffered += w.n - from
		}
		var old []byte
		if w.old != nil {
			old = w.old[from:]
		}
		d.data.set(w.off+from, w.n-from, old)
	}
	for _, w := range d.dirty {
		lose(w, 0)
	}
	for _, w := range slices.Backward(d.going) {
		from := int64(0)
		if w.begin < now {
			passed := float64(now-w.begin) / float64(w.end-w.begin) * float64(w.n)
			from = min(w.n, (int64(passed)/Sector+1)*Sector)
			if from < w.n {
				l.Torn++
			}
		}
		lose(w, from)
	}
	d.dirty, d.going, d.held = nil, nil, 0
	d.ahead = readAhead{}
	d.head, d.idle = 0, now
	if d.until > now {
		d.stats.Busy -= d.until - now
		d.until = now
	}
	return l
}

// forget removes writes that are on the platters by now from what a cut can
// undo.
func (d *disk) forget(now time.Duration) {
	n := 0
	for n < len(d.going) && d.going[n].end <= now {
		n++
	}
	d.going = slices.Delete(d.going, 0, n)
}
