package nbd

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"whichfs/internal/fault/writelog"
	"whichfs/internal/flash"
)

// Recorder is a device that passes everything on to another one, and logs what
// changes it and what makes it durable, in the order of completion. A flush
// stands behind the writes that had completed when it came, and before those that
// completed while it was under way: the device need not have taken these in.
//
// With it under a server, the log of a guest of any kind is that of its storage,
// with FUA, which QEMU's own log does not know. There are no marks. The log ends
// where the device's power is first cut.
type Recorder struct {
	flash.Device
	most int64

	mu      sync.Mutex // Log may be called while a server uses the device
	journal journal
	size    int64 // of the data in the journal, in bytes
	lost    error
	cut     bool
}

// Record makes a recorder above a device, which belongs to it from now on. At
// most most bytes of data are kept, in memory.
func Record(d flash.Device, most int64) *Recorder { return &Recorder{Device: d, most: most} }

// Submit implements flash.Device.
func (r *Recorder) Submit(now time.Duration, q flash.Request) (time.Duration, error) {
	done, err := r.Device.Submit(now, q)
	if err == nil && q.Op != flash.Read {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log(now, done, q)
	}
	return done, err
}

// Cut implements flash.Device.
func (r *Recorder) Cut(now time.Duration) flash.Loss {
	r.mu.Lock()
	if !r.cut {
		r.journal.until(now)
		r.journal.pending, r.cut = nil, true
	}
	r.mu.Unlock()
	return r.Device.Cut(now)
}

// Log is what was recorded until now; what is still under way counts as completed
// if it ever will be. A log that became too long is an error.
func (r *Recorder) Log() (writelog.Log, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return writelog.Log{}, r.lost
	}
	j := r.journal.clone()
	j.until(never - 1)
	l := writelog.Log{Entries: j.entries}
	for _, h := range j.held {
		l.Entries = append(l.Entries, h.entry)
	}
	return l, nil
}

// log puts a request that arrived now into the journal.
func (r *Recorder) log(now, done time.Duration, q flash.Request) {
	if r.cut || r.lost != nil {
		return
	}
	r.journal.until(now)
	e := writelog.Entry{Sector: uint64(q.Offset) / flash.Sector, Sectors: uint64(q.Length) / flash.Sector}
	switch q.Op {
	case flash.Flush:
		e = writelog.Entry{Flags: writelog.Flush}
	case flash.Trim:
		e.Flags = writelog.Discard
	default:
		if r.size += q.Length; r.size > r.most {
			r.lost = fmt.Errorf("the log of what the device was sent became longer than %d bytes; allow for more", r.most)
			r.journal = journal{}
			return
		}
		if q.FUA {
			e.Flags = writelog.FUA
		}
		e.Data = make([]byte, q.Length)
		if q.Op == flash.Write {
			copy(e.Data, q.Data)
		}
	}
	if e.Sectors > 0 || e.Flags == writelog.Flush {
		r.journal.begin(under{entry: e, arrived: now, done: done})
	}
}

// never is the completion of what does not complete.
const never = time.Duration(math.MaxInt64)

// under is a request that is under way, or has completed and waits for its place.
type under struct {
	entry         writelog.Entry
	arrived, done time.Duration
}

func (u under) isFlush() bool { return u.entry.Flags&writelog.Flush != 0 }

// journal brings requests into the order of the log.
type journal struct {
	entries []writelog.Entry
	pending []under // not completed, in the order of their completion
	held    []under // completed while a flush was under way that came before
}

func (j *journal) clone() journal {
	return journal{entries: slices.Clone(j.entries), pending: slices.Clone(j.pending), held: slices.Clone(j.held)}
}

// begin takes in a request that has just arrived.
func (j *journal) begin(u under) {
	i := len(j.pending)
	for i > 0 && j.pending[i-1].done > u.done {
		i--
	}
	j.pending = slices.Insert(j.pending, i, u)
}

// until completes what is due by an instant.
func (j *journal) until(now time.Duration) {
	for len(j.pending) > 0 && j.pending[0].done <= now {
		u := j.pending[0]
		j.pending = j.pending[1:]
		if u.isFlush() {
			j.release(u.arrived)
			j.entries = append(j.entries, u.entry)
		} else {
			j.held = append(j.held, u)
		}
		first := never // arrival of a flush that is under way
		for _, p := range j.pending {
			if p.isFlush() {
				first = min(first, p.arrived)
			}
		}
		j.release(first)
	}
}

// release logs what had completed by an instant, in its order.
func (j *journal) release(by time.Duration) {
	for len(j.held) > 0 && j.held[0].done <= by {
		j.entries = append(j.entries, j.held[0].entry)
		j.held = j.held[1:]
	}
}
