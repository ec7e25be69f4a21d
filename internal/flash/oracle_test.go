package flash

import (
	"encoding/binary"
	"fmt"
	"time"
)

// oracle is a plain array of sectors with the versions that each may have. It
// ignores how a device works internally and checks only what a host may rely
// on:
//
//   - a read returns what was written last;
//   - after a power cut a sector is as it was at the last flush or FUA write
//     that had completed, or has any version written since;
//   - what was read after a cut stays.
type oracle struct {
	zeroes  bool // TrimModel.Zeroes
	through bool // each write is durable when it completes
	sectors [][]version
	flushed []version // op and done of the flushes since the last cut
	op      int64
}

// version is the contents that a request gave to a sector.
type version struct {
	op    int64
	value int64 // op, or 0: zeros
	done  time.Duration
	fua   bool
	wild  bool // discarded, not as zeros: reads as any of its earlier contents
}

func newOracle(m Model) *oracle {
	o := &oracle{zeroes: m.Trim.Zeroes, through: m.Buffer.Size == 0, sectors: make([][]version, m.Size/Sector)}
	for i := range o.sectors {
		o.sectors[i] = []version{{}}
	}
	return o
}

// tag fills a sector with the contents of version op.
func tag(b []byte, sector, op int64) {
	binary.LittleEndian.PutUint64(b, uint64(op))
	binary.LittleEndian.PutUint64(b[8:], uint64(sector))
	binary.LittleEndian.PutUint64(b[Sector-8:], uint64(op^sector<<32))
}

// untag returns the version of a sector's contents; −1 if they are from no version.
func untag(b []byte, sector int64) int64 {
	op := int64(binary.LittleEndian.Uint64(b))
	is := int64(binary.LittleEndian.Uint64(b[8:]))
	end := int64(binary.LittleEndian.Uint64(b[Sector-8:]))
	if op|is|end == 0 {
		return 0
	}
	if op == 0 || is != sector || end != op^sector<<32 {
		return -1
	}
	return op
}

// prepare fills in the data of a write.
func (o *oracle) prepare(r *Request) {
	o.op++
	if r.Op != Write {
		return
	}
	for i := int64(0); i < r.Length; i += Sector {
		tag(r.Data[i:i+Sector], (r.Offset+i)/Sector, o.op)
	}
}

// carried records a request that the device carried out, or checks what it
// read.
func (o *oracle) carried(r Request, done time.Duration) error {
	switch r.Op {
	case Flush:
		o.flushed = append(o.flushed, version{op: o.op, done: done})
		return nil
	case Read:
		return o.each(r, func(vs []version, value int64) bool {
			v := vs[len(vs)-1]
			return v.wild || v.value == value
		})
	}
	v := version{op: o.op, value: o.op, done: done, fua: r.FUA || o.through}
	if r.Op != Write {
		v.value = 0
	}
	if r.Op == Trim {
		v.fua, v.wild = false, !o.zeroes
	}
	for i := r.Offset / Sector; i < (r.Offset+r.Length)/Sector; i++ {
		o.sectors[i] = append(o.sectors[i], v)
	}
	return nil
}

func (o *oracle) each(r Request, ok func(vs []version, value int64) bool) error {
	for i := int64(0); i < r.Length; i += Sector {
		n := (r.Offset + i) / Sector
		value := untag(r.Data[i:i+Sector], n)
		if value < 0 {
			return fmt.Errorf("sector %d holds what was never written there: % x …", n, r.Data[i:i+24])
		}
		if !ok(o.sectors[n], value) {
			return fmt.Errorf("sector %d holds version %d, which is not allowed: %+v", n, value, o.sectors[n])
		}
	}
	return nil
}

// cut checks the whole contents as read after a power cut at an instant, and
// continues from them. With lossy, any sector may have become zeros.
func (o *oracle) cut(now time.Duration, contents []byte, lossy bool) error {
	flushed := int64(0)
	for _, f := range o.flushed {
		if f.done <= now {
			flushed = f.op
		}
	}
	o.flushed = o.flushed[:0]
	all := Request{Length: int64(len(contents)), Data: contents}
	err := o.each(all, func(vs []version, value int64) bool {
		ok := value == 0 && lossy
		for i := len(vs) - 1; i >= 0; i-- {
			v := vs[i]
			ok = ok || v.wild || v.value == value
			if v.op <= flushed || v.fua && v.done <= now {
				break
			}
		}
		return ok
	})
	for i, vs := range o.sectors {
		wild := false
		for _, v := range vs {
			wild = wild || v.wild
		}
		value := untag(contents[i*Sector:(i+1)*Sector], int64(i))
		o.sectors[i] = append(vs[:0], version{value: value, wild: wild})
	}
	return err
}
