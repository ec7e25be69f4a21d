package script

import (
	"bytes"
	"fmt"

	"whichfs/internal/fault"
)

// sector is the unit that storage writes atomically, in bytes.
const sector = 512

// right reports whether a file has allowed contents: a size within the range of
// those that it had, and in each sector one of its versions.
func (l *look) right(c *candidate, f Found) bool {
	newest := c.in.versions[c.to].data
	if bytes.Equal(f.Data, newest) {
		return f.Size == int64(len(newest))
	}
	if c.in.kind == kindSymlink || f.Size < c.min || f.Size > c.max || int64(len(f.Data)) != f.Size {
		return false
	}
	for off := 0; off < len(f.Data); off += sector {
		if ok, free := l.sector(c, f.Data, off); !ok && (!free || l.promises.NoStale) {
			return false
		}
	}
	return true
}

// zeros is a sector of zeros.
var zeros [sector]byte

// sector compares one sector with the versions that it may have. free: it was
// written where the file had no data and has not been synced since, so that only
// NoStale forbids other bytes.
func (l *look) sector(c *candidate, data []byte, off int) (ok, free bool) {
	got := data[off:min(off+sector, len(data))]
	set := false
	for v := c.to; v >= c.from; v-- {
		have := c.in.versions[v].data
		if same(have, got, off) {
			return true, false
		}
		if !same(have, zeros[:len(got)], off) {
			set = true
		} else if set {
			free = true
		}
	}
	return false, free
}

// same reports whether a version, padded with zeros, contains got at off.
func same(have, got []byte, off int) bool {
	if off >= len(have) {
		return bytes.Equal(got, zeros[:len(got)])
	}
	part := have[off:min(off+len(got), len(have))]
	return bytes.Equal(part, got[:len(part)]) && bytes.Equal(got[len(part):], zeros[:len(got)-len(part)])
}

// wrong describes the breach if the file at a path is none of those allowed.
func (l *look) wrong(n *namePlan, path string, f Found) {
	c := &n.may[len(n.may)-1]
	for i := range n.may {
		l.at[n.may[i].in.id] = true
		if n.may[i].in.kind == f.Kind && (c.in.kind != f.Kind || l.distance(&n.may[i], f) < l.distance(c, f)) {
			c = &n.may[i]
		}
	}
	l.skip(path)
	promise := orKept(c.promise)
	switch {
	case c.in.kind != f.Kind:
		l.breach(orKept(n.promise), path, fault.Wrong, fmt.Sprintf("a %s where a %s was promised", f.Kind, c.in.kind))
	case f.Err != "":
		changing := c.promise == PromiseNone || l.promises.NoJournal && (n.absent || c.from < c.to)
		l.unreadable(path, f, promise, changing)
	case f.Kind == kindSymlink:
		l.breach(promise, path, fault.Wrong, fmt.Sprintf("it points to %q, not to %q", f.Data, c.in.versions[0].data))
	default:
		l.contents(c, n, path, f)
	}
}

// distance is the number of sectors of a file that a candidate does not allow; a
// wrong size adds to it.
func (l *look) distance(c *candidate, f Found) int {
	if c.in.kind != kindFile {
		return 0
	}
	bad := 0
	if f.Size < c.min || f.Size > c.max {
		bad++
		bad += int(max(c.min-f.Size, 0) / sector)
	}
	for off := 0; off < len(f.Data); off += sector {
		if ok, _ := l.sector(c, f.Data, off); !ok {
			bad++
		}
	}
	return bad
}

// contents describes what is wrong with a file's size and bytes. It reports one
// breach per file, the worst.
func (l *look) contents(c *candidate, n *namePlan, path string, f Found) {
	var bad, zeroed, first int
	whence, foreign, free := "", false, false
	first = -1
	for off := 0; off < len(f.Data); off += sector {
		ok, unset := l.sector(c, f.Data, off)
		if ok || unset && !l.promises.NoStale {
			continue
		}
		got := f.Data[off:min(off+sector, len(f.Data))]
		if first < 0 {
			first = off
		}
		if bytes.Equal(got, zeros[:len(got)]) {
			zeroed += len(got)
			continue
		}
		if whence == "" || !foreign {
			whence, foreign = l.model.whence(got, c.in.path, int64(off))
			free = unset
		}
		bad += len(got)
	}
	promise := orKept(c.promise)
	if n.replaced && c.promise != PromiseReplaceSyncs && c.promise != PromiseClaimed {
		promise = PromiseAtomicReplace
	}
	short := f.Size < c.min || int64(len(f.Data)) < f.Size
	switch {
	case bad > 0 && free:
		l.breach(PromiseNoStale, path, fault.Wrong, fmt.Sprintf("%d of %d bytes, from %d on, were never written and hold %s", bad, f.Size, first, whence))
	case bad > 0:
		l.breach(promise, path, fault.Wrong, fmt.Sprintf("%d of %d bytes, from %d on, differ from the promised contents: %s", bad, f.Size, first, whence))
	case zeroed > 0:
		l.breach(promise, path, fault.Zeroed, fmt.Sprintf("%d of %d bytes, from %d on, are zeros", zeroed, f.Size, first))
	case short:
		l.breach(promise, path, fault.Truncated, fmt.Sprintf("only %d of at least %d bytes are there", min(f.Size, int64(len(f.Data))), c.min))
	default:
		l.breach(PromiseSize, path, fault.Wrong, fmt.Sprintf("it has %d bytes, but never had more than %d since its last sync", f.Size, c.max))
	}
}
