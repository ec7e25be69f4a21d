// Package states enumerates what a power loss can leave of the requests sent to a
// device: for each point of a log the durable prefix, plus any subset of the writes
// that had been sent but were not durable, torn at sector boundaries. All
// enumerates states, Remains draws one at random, and Flipped draws flipped bits.
// The package does no I/O.
//
// A write or discard is durable at a point if it has FUA, or if an entry with Flush
// follows it before the point. A flush that carries data comes before its own data,
// which is durable only with FUA. All other writes and discards are volatile: each
// may have reached the medium or not. Those that reached it are applied in the
// order of the log. A discard that reached it leaves zeros.
//
// A disk may write the sectors of a request in any order. Of the ways in which a
// write can be torn, this package makes those in which one run of its sectors
// reached the medium: its beginning, its end, or a piece in between. Volatile
// writes can be torn and, at the point immediately after it, an FUA write: it was
// in flight when the power failed. A state has at most one torn write; discards are
// never torn.
package states

import (
	"fmt"
	"math"

	"whichfs/internal/fault/writelog"
)

// State is one of the contents that a power loss can leave.
type State struct {
	// Point is how many entries of the log had been sent when the power failed;
	// entries from Point on leave no trace.
	Point int `json:"point"`
	// Kept are the volatile writes and discards before Point that reached the
	// medium although no flush had made them durable: indices of entries,
	// ascending. Durable entries are not listed; they are always there.
	Kept []int `json:"kept,omitempty"`
	// Torn, if not nil: of this entry of Kept, or of the FUA write that is the last
	// entry before Point, only some sectors reached the medium.
	Torn *Torn `json:"torn,omitempty"`
}

// Torn is a write of which only a part reached the medium.
type Torn struct {
	Entry int `json:"entry"`
	// First and Sectors are the run of the entry's sectors, of 512 bytes, that
	// reached the medium.
	First   int `json:"first"`
	Sectors int `json:"sectors"`
}

// Options of an enumeration. The zero value of a number means its default.
type Options struct {
	Seed uint64 `json:"seed"`
	// Most is the maximum number of states; if there are more, they are drawn with
	// Seed, spread over all points. 0: no limit.
	Most int `json:"most,omitempty"`
	// Complete is the largest number of volatile writes at a point for which all
	// subsets are listed; above it, subsets are drawn. 0: 6. At most 24.
	Complete int `json:"complete,omitempty"`
	// PerPoint is how many subsets are drawn at a point with more volatile writes.
	// 0: 32.
	PerPoint int `json:"per_point,omitempty"`
	// From and To restrict the points: From ≤ Point ≤ To; To 0: to the end.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Whole: no write is torn.
	Whole bool `json:"whole,omitempty"`
}

// withDefaults fills in the defaults for a log of that many entries.
func (o Options) withDefaults(entries int) Options {
	if o.Complete <= 0 {
		o.Complete = 6
	}
	o.Complete = min(o.Complete, 24)
	if o.PerPoint <= 0 {
		o.PerPoint = 32
	}
	if o.To <= 0 || o.To > entries {
		o.To = entries
	}
	return o
}

// Volatile returns the indices of the writes and discards before point that neither
// a flush nor FUA made durable, ascending.
func Volatile(l writelog.Log, point int) []int {
	var v []int
	for i, e := range l.Entries[:min(max(point, 0), len(l.Entries))] {
		v = sent(v, i, e)
	}
	return v
}

// sent returns what is volatile after one more entry.
func sent(v []int, index int, e writelog.Entry) []int {
	if e.Flags&writelog.Flush != 0 {
		v = v[:0:0]
	}
	if isVolatile(e) {
		v = append(v, index)
	}
	return v
}

// isVolatile reports whether an entry changes the disk and needs a flush to be
// durable.
func isVolatile(e writelog.Entry) bool {
	return (e.IsWrite() || e.IsDiscard()) && e.Flags&writelog.FUA == 0
}

// Possible is the number of states without torn ones, as a logarithm to base 2:
// each counted once at the first point at which it is possible, and again at each
// mark, because a mark changes what was acknowledged.
func Possible(l writelog.Log) float64 {
	total := math.Inf(-1)
	for p := range walk(l, Options{}.withDefaults(len(l.Entries))) {
		m := float64(len(p.free))
		high, low := max(total, m), min(total, m)
		total = high + math.Log2(1+math.Exp2(low-high))
	}
	return total
}

// Check says why a state from an untrusted source is impossible.
func Check(l writelog.Log, s State) error {
	if s.Point < 0 || s.Point > len(l.Entries) {
		return fmt.Errorf("a state at point %d of a log of %d entries", s.Point, len(l.Entries))
	}
	v, torn := Volatile(l, s.Point), false
	last := -1
	for _, k := range s.Kept {
		for len(v) > 0 && v[0] < k {
			v = v[1:]
		}
		if k <= last || len(v) == 0 || v[0] != k {
			return fmt.Errorf("a state at point %d keeps entry %d, which is not a volatile write there, or is out of order", s.Point, k)
		}
		last, torn = k, torn || s.Torn != nil && s.Torn.Entry == k
	}
	if s.Torn == nil {
		return nil
	}
	t := *s.Torn
	if t.Entry == s.Point-1 && s.Point > 0 && l.Entries[t.Entry].Flags&writelog.FUA != 0 {
		torn = true
	}
	if !torn || !l.Entries[t.Entry].IsWrite() {
		return fmt.Errorf("a state at point %d has entry %d torn, which cannot be torn there", s.Point, t.Entry)
	}
	if n := l.Entries[t.Entry].Sectors; t.First < 0 || t.Sectors < 1 || uint64(t.Sectors) > n || uint64(t.First) > n-uint64(t.Sectors) {
		return fmt.Errorf("a state at point %d keeps sectors %d to %d of entry %d, which has %d", s.Point, t.First, t.First+t.Sectors, t.Entry, n)
	}
	return nil
}
