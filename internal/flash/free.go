package flash

import "time"

// free is memory behind a device's interface. Every request completes at the
// instant at which it arrives and every write is durable at once, so a power
// cut loses nothing. Any further time is the front end's own cost.
type free struct {
	size  int64
	depth int
	data  sparse
	stats Stats
}

func newFree(m Model) *free {
	return &free{size: m.Size, depth: max(1, m.Bus.Queue), data: newSparse(m.Size)}
}

func (f *free) Size() int64            { return f.size }
func (f *free) Depth() int             { return f.depth }
func (f *free) Cut(time.Duration) Loss { return Loss{} }
func (f *free) Stats() Stats           { return f.stats }

func (f *free) Submit(now time.Duration, r Request) (time.Duration, error) {
	if err := checkRequest(r, f.size); err != nil {
		return 0, err
	}
	f.stats.request(r)
	switch r.Op {
	case Read:
		if r.Data != nil {
			f.data.read(r.Offset, r.Data)
		}
	case Write:
		f.data.set(r.Offset, r.Length, r.Data)
	case Trim, WriteZeroes:
		f.data.zero(r.Offset, r.Length)
	}
	return now, nil
}
