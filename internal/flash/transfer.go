package flash

import "time"

// piece is the part of a request that lies in one logical page.
type piece struct {
	lp       int64
	from, to int64 // B of the page
	data     []byte
}

// pieces splits a request at page boundaries.
func (d *drive) pieces(r *Request) piecer {
	return piecer{page: d.page, off: r.Offset, end: r.Offset + r.Length, base: r.Offset, data: r.Data}
}

type piecer struct {
	page, off, end, base int64
	data                 []byte
	piece
}

func (p *piecer) next() bool {
	if p.off >= p.end {
		return false
	}
	p.lp = p.off / p.page
	p.from = p.off % p.page
	p.to = min(p.page, p.from+p.end-p.off)
	if n := p.to - p.from; p.data != nil {
		p.piece.data = p.data[p.off-p.base:][:n:n]
	}
	p.off += p.to - p.from
	return true
}

func (d *drive) read(at time.Duration, r Request) time.Duration {
	done := at
	for p := d.pieces(&r); p.next(); {
		ready := at
		held := d.buf.find(p.lp)
		if held == nil || !held.covers(p.from, p.to) {
			if m, place := d.locate(p.lp); place != noPage {
				ready = m.readPage(at, place)
			}
		}
		if p.piece.data != nil {
			copyOut(p.piece.data, d.newest(p.lp), p.from)
		}
		done = d.host.fetch(max(done, ready), p.to-p.from)
	}
	return max(done, d.host.reserve(at, r.Length))
}

// copyOut copies a part of a page's contents; nil reads as zeros.
func copyOut(to []byte, page *contents, from int64) {
	if page == nil {
		clear(to)
		return
	}
	copy(to, page.Data[from:])
}

// locate returns where a page is on the medium.
func (d *drive) locate(lp int64) (*media, ppn) { return d.at(lp).find(lp) }

// newest returns the newest contents of a page, wherever it is; nil reads as
// zeros.
func (d *drive) newest(lp int64) *contents {
	if e := d.buf.find(lp); e != nil {
		return e.data
	}
	m, place := d.locate(lp)
	return m.content(place)
}

// write carries out writes and writes of zeros. Without a buffer it completes
// when the medium has finished it and everything before it.
func (d *drive) write(at time.Duration, r Request) time.Duration {
	zeros := r.Op == WriteZeroes
	if zeros {
		r.Data = nil
	}
	through := r.FUA || d.buf == nil
	done := at
	for p := d.pieces(&r); p.next(); {
		t := at
		if !zeros {
			t = d.host.send(at, p.to-p.from)
		}
		switch {
		case zeros && p.to-p.from == d.page && d.m.Trim.Supported && d.m.Trim.Zeroes:
			d.buf.drop(p.lp, 1)
			d.at(p.lp).trim(t, p.lp, 1)
		case through:
			d.writeThrough(t, p.piece)
		default:
			t = d.buf.write(t, p.piece)
		}
		done = max(done, t)
	}
	if through {
		return max(done, d.chip.journal.last)
	}
	d.buf.acknowledge(done)
	return done
}

// writeThrough programs the page that a piece belongs to.
func (d *drive) writeThrough(at time.Duration, p piece) time.Duration {
	w := pageWrite{lp: p.lp, from: p.from, to: p.to, data: d.compose(p)}
	held := d.buf.find(p.lp)
	if held != nil {
		w.from, w.to = held.extent(p.from, p.to)
	}
	if p.to-p.from < d.page && (held == nil || !held.completes(p.from, p.to)) {
		if m, place := d.locate(p.lp); place != noPage {
			at = m.readPage(at, place)
		}
	}
	if held != nil {
		d.buf.remove(held)
	}
	return d.at(p.lp).write(at, w)
}

// compose makes the new contents of a page in new memory, because contents are
// never changed in place; nil if there is nothing to store.
func (d *drive) compose(p piece) *contents {
	var old *contents
	if p.to-p.from < d.page {
		old = d.newest(p.lp)
	}
	if p.data == nil && old == nil {
		return nil
	}
	c := d.backing.make()
	if old != nil {
		copy(c.Data, old.Data)
	}
	if p.data == nil {
		clear(c.Data[p.from:p.to])
	} else {
		copy(c.Data[p.from:], p.data)
	}
	return c
}

// trim drops the pages that a discard covers completely. If discarded pages
// read as zeros, the partial pages at its ends are written with zeros.
func (d *drive) trim(at time.Duration, r Request) time.Duration {
	at += d.m.Trim.Command
	done := at
	first := (r.Offset + d.page - 1) / d.page
	last := (r.Offset + r.Length) / d.page
	if r.Offset+r.Length == d.m.Size {
		last = d.pages
	}
	if d.m.Trim.Zeroes {
		edge := func(from, to int64) {
			if from < to {
				done = max(done, d.write(at, Request{Op: WriteZeroes, Offset: from, Length: to - from, FUA: r.FUA}))
			}
		}
		end := r.Offset + r.Length
		edge(r.Offset, min(first*d.page, end))
		if last >= first {
			edge(last*d.page, end)
		}
	}
	if last <= first {
		return done
	}
	d.buf.drop(first, last-first)
	if k := min(last, d.fatPages) - first; k > 0 {
		d.fat.trim(at, first, k)
		first += k
	}
	if last > first {
		d.main.trim(at, first, last-first)
	}
	return done
}

func (d *drive) flush(at time.Duration) time.Duration {
	d.buf.drain(at)
	return max(at, d.chip.journal.last) + d.m.Bus.Flush
}
