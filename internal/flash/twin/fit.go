// Package twin derives a model of simulated storage from a probe of a real device, and reports how
// well a model reproduces one. Its point of view: findings of a probe are used unchanged,
// everything else is marked as an estimate, and a twin must be probed, too.
package twin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// Estimates of figures that no probe reveals.
const (
	defaultPage  = 16 << 10
	defaultUnit  = 4 << 10
	defaultBlock = 4 << 20
	defaultSpare = 0.07
	planes       = 4
	eraseTime    = 3 * time.Millisecond
	// Of writes that are buffered somewhere.
	defaultBuffer = 1 << 20
)

// fitter transfers findings into a model and records the source of each
// figure.
type fitter struct {
	r probe.Report
	m flash.Model
}

// impossible returns the error that no model can be fitted to the probe.
func (f *fitter) impossible(format string, args ...any) error {
	return noTwin("cannot make a twin of %s: %s", f.device(), fmt.Sprintf(format, args...))
}

func noTwin(format string, args ...any) error {
	return result.Refuse("a probe that may write finds more: whichfs probe --help", format, args...)
}

// First is the model that follows directly from a report, before it is probed
// itself and its times are fitted.
func First(r probe.Report) (flash.Model, error) {
	f := &fitter{r: r, m: flash.Model{Name: nameOf(r.Identity, r.Storage), Kind: flash.KindFlash, Sources: map[string]string{}}}
	f.m.Title = clean("twin of " + f.device())
	f.size()
	if f.m.Size <= 0 {
		return f.m, f.impossible("its probe did not find its size")
	}
	if g := r.Find(probe.ReadSpeed); !g.Known() || g.Value <= 0 {
		return f.m, f.impossible("its probe has no read speed (%s)", reason(g))
	}
	if g := r.Find(probe.Rotation); g.Known() && g.Text == "rotating" {
		f.disk(g)
	} else {
		f.media()
		f.mapping()
		f.caches()
	}
	f.bus()
	f.trim()
	for _, fault := range f.m.Check() {
		return f.m, f.impossible("its probe yields an impossible model: %v", fault)
	}
	return f.m, nil
}

// device names what was probed.
func (f *fitter) device() string {
	if f.r.Identity != "" {
		return f.r.Identity
	}
	return f.r.Storage
}

// from is the source of a figure that follows from a finding.
func (f *fitter) from(g probe.Finding, how string) string {
	text := fmt.Sprintf("probe %s %s: %s %s", f.device(), f.r.Started.UTC().Format(time.DateOnly), strings.ToLower(nameOfFinding(g)), Value(g))
	if s := g.Sureness(); s != "" {
		text += ", " + s
	}
	if how != "" {
		text += "; " + how
	}
	return clean(text)
}

// guess is the source of a figure that the probe did not find.
func (f *fitter) guess(g probe.Finding, how string) string {
	return clean(fmt.Sprintf("estimate: the probe could not determine it (%s); %s", reason(g), how))
}

func (f *fitter) set(key, source string) { f.m.Sources[key] = source }

func (f *fitter) size() {
	f.m.Size = f.r.Size
	f.set("size", clean(fmt.Sprintf("probe %s %s: reported by the device", f.device(), f.r.Started.UTC().Format(time.DateOnly))))
	if g := f.r.Find(probe.RealSize); g.Known() && g.Value > 0 && int64(g.Value) < f.r.Size {
		f.m.Size = int64(g.Value) / flash.Sector * flash.Sector
		f.set("size", f.from(g, "the device claims more"))
	}
}

func (f *fitter) media() {
	d := &f.m.Media
	d.Page = defaultPage
	if g := f.r.Find(probe.PageSize); g.Known() && g.Value >= flash.Sector {
		d.Page = int64(g.Value)
		f.set("media.page", f.from(g, ""))
	} else if segment := f.r.Find(probe.SegmentSize); segment.Known() {
		f.set("media.page", f.guess(g, "usual for flash with three bits per cell"))
	} else {
		d.Page = defaultUnit
		f.set("media.page", f.guess(g, "the mapping unit of devices that show neither"))
	}
	d.Read = 50 * time.Microsecond
	if g := f.r.Find(probe.RandomRead); g.Known() && g.Value > 0 {
		d.Read = min(d.Read, seconds(0.3/g.Value))
	}
	f.set("media.read", "estimate: probes cannot distinguish it from the overhead of a request; usual for flash, and at most a third of a random read")
	d.Planes, d.Erase = planes, eraseTime
	need := 2 * f.r.Find(probe.ReadSpeed).Value * d.Read.Seconds() / float64(d.Page)
	for float64(d.Planes) < need && d.Planes < 512 {
		d.Planes *= 2
	}
	f.set("media.planes", "estimate: not visible to probes; enough to read twice as fast as the device does")
	f.set("media.erase", "estimate: not visible to probes; 3 ms is typical of data sheets")

	write := f.r.Find(probe.WriteSpeed)
	speed := f.r.Find(probe.ReadSpeed).Value / 2
	source := f.guess(write, "half the read speed")
	if write.Known() && write.Value > 0 {
		speed = write.Value
		source = f.from(write, "initially assumes that the flash is twice as fast as the whole device")
	}
	d.Program = max(seconds(float64(d.Page)*float64(d.Planes)/(2*speed)), 1)
	f.set("media.program", source)
}

func (f *fitter) mapping() {
	m := &f.m
	segment := f.r.Find(probe.SegmentSize)
	if !segment.Known() || int64(segment.Value) < m.Media.Page {
		m.Map = flash.Map{Scheme: flash.SchemePage, Spare: defaultSpare}
		m.Media.Block = max(defaultBlock/m.Media.Page, 1) * m.Media.Page
		f.set("map.scheme", f.guess(segment, "a mapping by pages has no visible segments"))
		f.set("map.spare", "estimate: 7 %, usual for consumer devices")
		f.set("media.block", "estimate: usual for flash with three bits per cell")
		return
	}
	m.Map.Scheme, m.Map.Segment = flash.SchemeSegment, int64(segment.Value)
	m.Map.Segment -= m.Map.Segment % m.Media.Page
	f.set("map.scheme", f.from(segment, "a device with segments is mapped by segments"))
	f.set("map.segment", f.from(segment, ""))
	m.Media.Block = m.Map.Segment
	if m.Map.Segment > defaultBlock && m.Map.Segment%defaultBlock == 0 && defaultBlock%m.Media.Page == 0 {
		m.Media.Block = defaultBlock
	}
	f.set("media.block", "estimate: the segment, or 4 MiB of it; not visible to probes")
	linear, random := f.r.Find(probe.OpenLinear), f.r.Find(probe.OpenRandom)
	m.Map.Open = 1
	switch {
	case random.Known() && random.Value >= 1:
		m.Map.Open, m.Map.Random = int(random.Value), true
		f.set("map.open", f.from(random, ""))
		f.set("map.random", f.from(random, ""))
		if linear.Known() && linear.Value > random.Value {
			m.Map.Open = int(linear.Value)
			f.set("map.open", f.from(linear, fmt.Sprintf("at random it is %s, which the model does not distinguish", Value(random))))
		}
	case linear.Known() && linear.Value >= 1:
		m.Map.Open = int(linear.Value)
		f.set("map.open", f.from(linear, ""))
	default:
		f.set("map.open", f.guess(linear, "one, the minimum"))
	}
	if g := f.r.Find(probe.FATArea); g.Known() && g.Value > 0 && int64(g.Value) < m.Size {
		m.FAT = max(int64(g.Value)/m.Media.Page, 1) * m.Media.Page
		f.set("fat", f.from(g, ""))
	}
}

func (f *fitter) caches() {
	m := &f.m
	if g := f.r.Find(probe.WriteCache); g.Known() && int64(g.Value) >= m.Media.Page {
		m.Buffer.Size = int64(g.Value)
		f.set("buffer.size", f.from(g, ""))
	} else if rate, quick := f.buffered(); !g.Known() && quick {
		m.Buffer.Size = max(defaultBuffer/m.Media.Page, 1) * m.Media.Page
		f.set("buffer.size", f.from(rate, "faster than reading, so there must be a buffer; its size is an estimate"))
	}
	if g := f.r.Find(probe.FastCache); g.Known() && int64(g.Value) >= m.Media.Block {
		m.Fast.Size = int64(g.Value) / m.Media.Block * m.Media.Block
		m.Fast.Program = max(m.Media.Program/4, 1)
		m.Fast.Idle = time.Second
		f.set("fast.size", f.from(g, "in whole blocks"))
		f.set("fast.program", "estimate: one bit per cell programs about four times as fast as three")
		f.set("fast.idle", "estimate: a second; the probe does not measure it")
	}
}

// buffered reports whether writes are too fast to have reached any medium:
// they take less time than reads.
func (f *fitter) buffered() (writes probe.Finding, quick bool) {
	writes = f.r.Find(probe.RandomWrite)
	reads := f.r.Find(probe.RandomRead)
	return writes, writes.Known() && reads.Known() && reads.Value > 0 && writes.Value > 1.2*reads.Value
}

func (f *fitter) bus() {
	b := &f.m.Bus
	read, write, random := f.r.Find(probe.ReadSpeed), f.r.Find(probe.WriteSpeed), f.r.Find(probe.RandomRead)
	b.Read = read.Value
	f.set("bus.read", f.from(read, "including the overhead of a request"))
	b.Write = read.Value
	f.set("bus.write", f.guess(write, "as reading"))
	switch {
	case !write.Known() || write.Value <= 0:
	case f.m.Map.Scheme == flash.SchemePage && write.Value < read.Value:
		// In sustained writes the flash is the limit; a burst meets
		// the bus.
		f.set("bus.write", "estimate: as for reading; the flash limits sustained writes")
	default:
		b.Write = 1.1 * write.Value
		f.set("bus.write", f.from(write, "including the overhead of a request"))
	}
	b.Command = 100 * time.Microsecond
	f.set("bus.command", f.guess(random, "usual for cards"))
	if random.Known() && random.Value > 0 && f.m.Kind == flash.KindFlash {
		b.Command = max(seconds(1/random.Value)-f.m.Media.Read-seconds(4096/b.Read), time.Microsecond)
		f.set("bus.command", f.from(random, "less the page and its transfer"))
	} else if one, _, ok := smallOnes("read", f.m, f.r, f.r); ok && f.m.Kind == flash.KindFlash {
		b.Command = max(seconds(one)-f.m.Media.Read-seconds(math.Max(4096, float64(f.m.Media.Page))/b.Read), time.Microsecond)
		f.set("bus.command", clean(fmt.Sprintf("probe %s %s: reading by block size, less the page and its transfer", f.device(), f.r.Started.UTC().Format(time.DateOnly))))
	}
	b.Queue = 1
	if g := f.r.Find(probe.QueueDepth); g.Known() && g.Value >= 1 {
		b.Queue = int(g.Value)
		f.set("bus.queue", f.from(g, "more bring no gain"))
	} else {
		f.set("bus.queue", f.guess(g, "one, the minimum"))
	}
	// A disk's flush consists mostly of arm movement.
	if g := f.r.Find(probe.FlushCost); g.Known() && g.Value > 0 && f.m.Kind == flash.KindFlash {
		d := seconds(g.Value) - b.Command
		if f.m.Buffer.Size > 0 {
			d -= f.m.Media.Program
		}
		if d > time.Microsecond {
			b.Flush = d
			f.set("bus.flush", f.from(g, "less the overhead of a request and the page"))
		}
	}
}

// trim: the cost of a discard per GiB is that of a single request, which is
// what a probe sends.
func (f *fitter) trim() {
	g := f.r.Find(probe.DiscardCost)
	if !g.Known() || g.Value <= 0 || f.m.Kind != flash.KindFlash {
		return // a text in place of a value means that there are none
	}
	f.m.Trim.Supported = true
	f.set("trim.supported", f.from(g, ""))
	if d := seconds(g.Value); d > 0 {
		f.m.Trim.Command = min(d, time.Second)
		f.set("trim.command", f.from(g, "as one request"))
	}
	if z := f.r.Find(probe.DiscardZeroes); z.Known() && z.Text == "yes" {
		f.m.Trim.Zeroes = true
		f.set("trim.zeroes", f.from(z, ""))
	}
}
