package twin

import (
	"fmt"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/probe"
)

// disk fills in a rotating disk.
func (f *fitter) disk(rotation probe.Finding) {
	m := &f.m
	m.Kind = flash.KindDisk
	m.Disk.RPM = 5400
	f.set("disk.rpm", f.guess(rotation, "usual for small disks"))
	if rotation.Value >= 100 {
		m.Disk.RPM = rotation.Value
		f.set("disk.rpm", f.from(rotation, ""))
	}
	read := f.r.Find(probe.ReadSpeed)
	m.Disk.Outer, m.Disk.Inner = read.Value, read.Value/2
	f.set("disk.outer", f.from(read, "the fastest point"))
	f.set("disk.inner", "estimate: half of the outer rate, as is typical of disks")
	if first, last, ok := ends(f.r); ok && last < first {
		m.Disk.Outer, m.Disk.Inner = max(first, read.Value), last
		f.set("disk.inner", clean(fmt.Sprintf("probe %s %s: the end of the read map", f.device(), f.r.Started.UTC().Format(time.DateOnly))))
	}
	m.Disk.TrackSeek, m.Disk.MeanSeek, m.Disk.FullSeek = time.Millisecond, 12*time.Millisecond, 20*time.Millisecond
	f.set("disk.track_seek", "estimate: 1 ms, from the specification of the Hitachi Travelstar 5K320")
	f.set("disk.mean_seek", "estimate: 12 ms, from the specification of the Hitachi Travelstar 5K320")
	f.set("disk.full_seek", "estimate: five thirds of the mean, from the specification of the Hitachi Travelstar 5K320")
	if g := f.r.Find(probe.RandomRead); g.Known() && g.Value > 0 {
		turn := seconds(60 / m.Disk.RPM)
		if mean := seconds(1/g.Value) - turn/2 - 100*time.Microsecond; mean > time.Millisecond {
			f.seek(mean, g)
		}
	}
	f.diskCache()
}

// diskCache fills in a disk's memory. A probe for the fast area of flash finds
// it, too.
func (f *fitter) diskCache() {
	d := &f.m.Disk
	cache, fast := f.r.Find(probe.WriteCache), f.r.Find(probe.FastCache)
	rate, quick := f.buffered()
	switch {
	case cache.Known() && cache.Value > 0:
		d.Buffer, d.WriteCache = int64(cache.Value), true
		f.set("disk.buffer", f.from(cache, ""))
		f.set("disk.write_cache", f.from(cache, ""))
		return
	case !cache.Known() && quick:
		d.WriteCache = true
		f.set("disk.write_cache", f.from(rate, "faster than reading, so it must be a cache"))
	}
	if fast.Known() && fast.Value >= 1<<20 {
		d.Buffer = int64(fast.Value)
		f.set("disk.buffer", f.from(fast, "which on a disk is its buffer"))
		return
	}
	d.Buffer = 8 << 20
	f.set("disk.buffer", f.guess(cache, "usual for small disks"))
}

// seek sets the mean seek and what depends on it.
func (f *fitter) seek(mean time.Duration, g probe.Finding) {
	d := &f.m.Disk
	d.MeanSeek, d.FullSeek, d.TrackSeek = mean, mean*5/3, min(d.TrackSeek, mean)
	f.set("disk.mean_seek", f.from(g, "less half a revolution and the overhead of a request"))
}

// ends returns the speeds at the first and the last point of the read map.
func ends(r probe.Report) (first, last float64, ok bool) {
	for _, c := range r.Curves {
		if c.Key != "map-read" || len(c.Lines) == 0 || len(c.Lines[0].Points) < 2 {
			continue
		}
		p := c.Lines[0].Points
		first, last = p[0].Y, p[len(p)-1].Y
		return first, last, first > 0 && last > 0
	}
	return 0, 0, false
}
