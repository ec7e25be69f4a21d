package flash

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Fault is an invalid figure of a model.
type Fault struct {
	Key  string // as in a model file, "map.segment"
	Text string // what is wrong and what is allowed
}

// Error implements error.
func (f Fault) Error() string { return f.Key + ": " + f.Text }

// Limits of a model's figures. They are far outside real hardware; they keep
// arithmetic exact and memory bounded.
const (
	maxSize   = 64 << 40
	maxPage   = 256 * Sector
	maxBlock  = 1 << 30
	maxPlanes = 1024
	maxOpen   = 4096
	maxQueue  = 65536
	maxTime   = time.Minute
	maxBuffer = 4 << 30
)

// faults collects what a check finds.
type faults []Fault

func (f *faults) add(key, format string, args ...any) {
	*f = append(*f, Fault{key, fmt.Sprintf(format, args...)})
}

func (f *faults) between(key string, v, lo, hi int64) bool {
	if v < lo || v > hi {
		f.add(key, "%d is not between %d and %d", v, lo, hi)
		return false
	}
	return true
}

func (f *faults) time(key string, v, lo time.Duration) {
	if v < lo || v > maxTime {
		f.add(key, "%v is not between %v and %v", v, lo, time.Duration(maxTime))
	}
}

func (f *faults) rate(key string, v float64) {
	if !(v >= 1e3 && v <= 1e12) { // false for NaN
		f.add(key, "%g B/s is not between 1e3 and 1e12 B/s", v)
	}
}

// multiple checks that v is a multiple of unit, if unit itself is valid.
func (f *faults) multiple(key string, v, unit int64, of string) {
	if unit > 0 && v%unit != 0 {
		f.add(key, "%d B is not a multiple of %s, %d B", v, of, unit)
	}
}

// Check returns what is impossible about a model; nothing if the device can be
// made.
func (m Model) Check() []Fault {
	var f faults
	if strings.ContainsAny(m.Name, " \t\n/:,=") {
		f.add("name", "%q contains a space or one of / : , =", m.Name)
	}
	if f.between("size", m.Size, Sector, maxSize) {
		f.multiple("size", m.Size, Sector, "a sector")
	}
	switch m.Kind {
	case KindFree:
	case KindDisk:
		m.checkBus(&f)
		m.checkDisk(&f)
	case KindFlash:
		m.checkBus(&f)
		m.checkMedia(&f)
		m.checkMap(&f)
		m.checkParts(&f)
	default:
		f.add("kind", "%q is none of %s, %s, %s", m.Kind, KindFlash, KindDisk, KindFree)
	}
	return f
}

func (m Model) checkBus(f *faults) {
	f.time("bus.command", m.Bus.Command, 0)
	f.rate("bus.read", m.Bus.Read)
	f.rate("bus.write", m.Bus.Write)
	f.between("bus.queue", int64(m.Bus.Queue), 1, maxQueue)
	f.time("bus.flush", m.Bus.Flush, 0)
	f.time("trim.command", m.Trim.Command, 0)
}

func (m Model) checkMedia(f *faults) {
	d := m.Media
	if f.between("media.page", d.Page, Sector, maxPage) {
		f.multiple("media.page", d.Page, Sector, "a sector")
		if f.between("media.block", d.Block, d.Page, maxBlock) {
			f.multiple("media.block", d.Block, d.Page, "media.page")
		}
	}
	f.between("media.planes", int64(d.Planes), 1, maxPlanes)
	f.time("media.read", d.Read, 0)
	f.time("media.program", d.Program, 1)
	f.time("media.erase", d.Erase, 0)
	f.between("media.cycles", d.Cycles, 0, math.MaxInt32)
}

func (m Model) checkMap(f *faults) {
	p := m.Map
	switch p.Scheme {
	case SchemeSegment, SchemeHybrid:
		if m.Media.Block > 0 && f.between("map.segment", p.Segment, m.Media.Block, max(m.Size, m.Media.Block)) {
			f.multiple("map.segment", p.Segment, m.Media.Block, "media.block")
		}
		f.between("map.open", int64(p.Open), 1, maxOpen)
		if p.Spare != 0 {
			f.add("map.spare", "%g: only map.scheme %q has over-provisioning", p.Spare, SchemePage)
		}
	case SchemePage:
		if !(p.Spare >= 0.001 && p.Spare <= 10) {
			f.add("map.spare", "%g is not between 0.001 and 10", p.Spare)
		} else if page := m.Media.Page; page > 0 && (float64(m.Size)*(1+p.Spare)+3*float64(m.Media.Block))/float64(page) > maxPages {
			f.add("media.page", "%d B are too few: %d B with map.spare %g are more than the %d pages that can be mapped", page, m.Size, p.Spare, int64(maxPages))
		}
	default:
		f.add("map.scheme", "%q is none of %s, %s, %s", p.Scheme, SchemeSegment, SchemeHybrid, SchemePage)
	}
}

func (m Model) checkParts(f *faults) {
	page := m.Media.Page
	if m.FAT != 0 {
		if f.between("fat", m.FAT, 0, max(m.Size-Sector, 0)) {
			f.multiple("fat", m.FAT, page, "media.page")
		}
	}
	if m.Buffer.Size != 0 {
		f.between("buffer.size", m.Buffer.Size, max(page, Sector), maxBuffer)
	}
	if m.Fast.Size != 0 {
		f.between("fast.size", m.Fast.Size, max(m.Media.Block, Sector), maxSize)
		f.multiple("fast.size", m.Fast.Size, m.Media.Block, "media.block")
		f.time("fast.program", m.Fast.Program, 1)
	} else if m.Fast.Program != 0 {
		f.add("fast.program", "is given although fast.size is not")
	}
	f.time("fast.read", m.Fast.Read, 0)
	if m.Fast.Idle < 0 || m.Fast.Idle > time.Hour {
		f.add("fast.idle", "%v is not between 0 and 1h", m.Fast.Idle)
	}
	f.between("wear.gap", m.Wear.Gap, 0, math.MaxInt32)
}

func (m Model) checkDisk(f *faults) {
	d := m.Disk
	if !(d.RPM >= 100 && d.RPM <= 1e6) {
		f.add("disk.rpm", "%g is not between 100 and 1000000", d.RPM)
	}
	f.time("disk.track_seek", d.TrackSeek, 0)
	f.time("disk.mean_seek", d.MeanSeek, 0)
	f.time("disk.full_seek", d.FullSeek, 0)
	if d.MeanSeek < d.TrackSeek {
		f.add("disk.mean_seek", "%v is less than disk.track_seek, %v", d.MeanSeek, d.TrackSeek)
	}
	if d.FullSeek < d.MeanSeek {
		f.add("disk.full_seek", "%v is less than disk.mean_seek, %v", d.FullSeek, d.MeanSeek)
	}
	f.rate("disk.outer", d.Outer)
	f.rate("disk.inner", d.Inner)
	if d.Inner > d.Outer {
		f.add("disk.inner", "%g B/s is more than disk.outer, %g B/s", d.Inner, d.Outer)
	}
	f.between("disk.buffer", d.Buffer, 0, maxBuffer)
}
