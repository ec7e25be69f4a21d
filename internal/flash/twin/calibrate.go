package twin

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/probe"
)

// Prober probes a model as a device was probed: with the effort and the seed
// of the report to compare with, in virtual time, and completely, because each
// part finds what the previous one wrote.
type Prober func(ctx context.Context, m flash.Model, like probe.Report) (probe.Report, error)

// speeds are the findings that must come close.
var speeds = []string{probe.ReadSpeed, probe.WriteSpeed, probe.RandomRead, probe.RandomWrite}

const (
	// good is the required accuracy of speeds, as a share.
	good = 0.05
	// maximum number of fitting steps; each one is a probe
	steps = 8
)

// Fit makes a model from a probe: it starts with the model that follows from
// the findings and corrects its times until the speeds of its own probe match
// the device's. The model's Fit records how close they came; the rows are the
// whole comparison.
func Fit(ctx context.Context, measured probe.Report, run Prober) (flash.Model, []Row, error) {
	m, err := First(measured)
	if err != nil {
		return m, nil, err
	}
	var best flash.Model
	var rows []Row
	least := math.Inf(1)
	for range steps {
		twin, err := run(ctx, m, measured)
		if err != nil {
			return m, nil, fmt.Errorf("probe of the twin: %w", err)
		}
		if off := distance(m, measured, twin); off < least {
			best, least, rows = m, off, Compare(measured, twin)
		}
		if least <= good {
			break
		}
		if m = correct(m, measured, twin); len(m.Check()) > 0 {
			break
		}
	}
	if rows == nil {
		return m, nil, noTwin("no twin can be made: the probes of the model and of the device have nothing in common")
	}
	best.Sources = maps.Clone(best.Sources)
	fitted(&best, measured)
	best.Fit = Summary(measured, rows)
	return best, rows, nil
}

// distance is the largest deviation of a speed, as a share.
func distance(m flash.Model, measured, twin probe.Report) float64 {
	worst := 0.0
	for _, row := range Compare(measured, twin) {
		for _, key := range speeds {
			if !row.Curve && row.Key == key {
				worst = math.Max(worst, row.Off())
			}
		}
	}
	for _, direction := range []string{"read", "write"} {
		if a, b, ok := smallOnes(direction, m, measured, twin); ok {
			worst = math.Max(worst, math.Max(a/b, b/a)-1)
		}
	}
	return worst
}

// collects reports whether the probe wrote until a mapping by pages had to
// collect: random writes are then far slower than sequential writes of that
// size. Before that they say nothing about over-provisioning.
func collects(m flash.Model, measured probe.Report) bool {
	random := measured.Find(probe.RandomWrite)
	inOrder, _, ok := smallOnes("write", m, measured, measured)
	return ok && random.Known() && random.Value > 0 && 1/random.Value > 1.5*inOrder
}

// smallOnes returns the times of a small request, in s, from the curves of
// reading or writing at different sizes: of a page, at least 4 KiB. Smaller
// writes hit the same page twice, which changes more than the time.
func smallOnes(direction string, m flash.Model, measured, twin probe.Report) (a, b float64, ok bool) {
	size := math.Max(4096, float64(m.Media.Page))
	for _, c := range measured.Curves {
		if !strings.Contains(c.Key, direction) || c.XUnit != "B" || c.YUnit != "B/s" || strings.HasPrefix(c.Key, "map-") || len(c.Lines) == 0 {
			continue
		}
		line := c.Lines[0].Name
		va, in := valueAt(measured, c.Key, line, size)
		vb, there := valueAt(twin, c.Key, line, size)
		if in && there && va > 0 && vb > 0 {
			return size / va, size / vb, true
		}
	}
	return 0, 0, false
}

// correct adjusts the times of a model by the deviations of its twin's probe.
// Parts that add up in a request are corrected by their difference, parts that
// scale by their ratio.
func correct(m flash.Model, measured, twin probe.Report) flash.Model {
	both := func(key string) (a, b float64, ok bool) {
		g, h := measured.Find(key), twin.Find(key)
		return g.Value, h.Value, g.Known() && h.Known() && g.Value > 0 && h.Value > 0
	}
	command := m.Bus.Command
	a, b, ok := both(probe.RandomRead)
	if a, b = 1/a, 1/b; !ok && m.Kind == flash.KindFlash {
		a, b, ok = smallOnes("read", m, measured, twin)
	}
	if ok {
		late := seconds(a - b)
		if m.Kind == flash.KindDisk {
			m.Disk.MeanSeek = max(m.Disk.MeanSeek+late, m.Disk.TrackSeek)
			m.Disk.FullSeek = max(m.Disk.FullSeek, m.Disk.MeanSeek)
		} else if m.Bus.Command+late >= time.Microsecond {
			m.Bus.Command += late
		} else {
			m.Media.Read = max(m.Media.Read+late+m.Bus.Command, time.Microsecond)
			m.Bus.Command = time.Microsecond
		}
	}
	if a, b, ok := both(probe.ReadSpeed); ok {
		if m.Kind == flash.KindDisk {
			m.Disk.Outer *= a / b
			m.Disk.Inner *= a / b
			m.Bus.Read = max(m.Bus.Read, 2*m.Disk.Outer)
			m.Bus.Write = max(m.Bus.Write, 2*m.Disk.Outer)
		} else {
			m.Bus.Read = slower(m.Bus.Read, 1/a-1/b)
		}
	}
	if m.Kind == flash.KindDisk {
		return m
	}
	correctWrites(&m, both, collects(m, measured))
	if a, b, ok := smallOnes("write", m, measured, twin); ok {
		correctSmall(&m, seconds(a-b))
	}
	if a, b, ok := both(probe.FlushCost); ok {
		// The overhead of a request is part of a flush, and was just corrected.
		m.Bus.Flush = max(m.Bus.Flush+seconds(a-b)-(m.Bus.Command-command), 0)
	}
	if a, b, ok := both(probe.DiscardCost); ok && m.Trim.Supported {
		m.Trim.Command = time.Duration(float64(m.Trim.Command) * clamp(a/b, 0.1, 10))
	}
	return m
}

// correctWrites fits the flash to the random writes, which are mostly internal
// copies, and the bus to the sequential ones, which are not. The flash must
// stay fast enough for the latter.
func correctWrites(m *flash.Model, both func(string) (a, b float64, ok bool), collects bool) {
	write, is, sequential := both(probe.WriteSpeed)
	if a, b, ok := both(probe.RandomWrite); ok {
		if m.Map.Scheme == flash.SchemePage && collects {
			m.Map.Spare = clamp(m.Map.Spare*clamp(a/b, 0.5, 2), 0.01, 0.5)
		}
		if m.Map.Scheme != flash.SchemePage {
			m.Media.Program = max(time.Duration(float64(m.Media.Program)*clamp(b/a, 0.5, 2)), time.Microsecond)
		}
	}
	if !sequential {
		return
	}
	// Behind a fast cache, or mapped by pages, sustained writes run at the
	// speed of the flash; otherwise at the speed of the bus.
	if m.Map.Scheme == flash.SchemePage {
		m.Media.Program = max(time.Duration(float64(m.Media.Program)*clamp(is/write, 0.5, 2)), time.Microsecond)
		return
	}
	if floor := seconds(float64(m.Media.Page) * float64(m.Media.Planes) / (1.15 * write)); m.Media.Program > floor {
		m.Media.Program = floor
	}
	m.Bus.Write = slower(m.Bus.Write, 1/write-1/is)
}

// correctSmall fits a 4 KiB write by its deviation. With a buffer it programs
// no page, and so separates the overhead of a request from reading a page.
// Without one it takes the program of one page: more and slower planes write
// long requests as fast as before.
func correctSmall(m *flash.Model, late time.Duration) {
	if m.Buffer.Size > 0 {
		late = max(min(late, m.Media.Read-time.Microsecond), time.Microsecond-m.Bus.Command)
		m.Bus.Command += late
		m.Media.Read -= late
		return
	}
	if m.Fast.Size > 0 {
		return // the fast program time shows here, and has its own finding
	}
	n := float64(m.Media.Planes) * float64(m.Media.Program+late) / float64(m.Media.Program)
	n = math.Round(clamp(clamp(n, float64(m.Media.Planes)/2, float64(m.Media.Planes)*2), 1, 512))
	m.Media.Program = max(time.Duration(float64(m.Media.Program)*n/float64(m.Media.Planes)), 1)
	m.Media.Planes = int(n)
}

// slower reduces a rate so that every byte takes by seconds longer; at most by
// a factor of four at once.
func slower(rate, by float64) float64 {
	each := 1/rate + by
	return 1 / math.Max(each, 1/(4*rate))
}

func clamp(x, low, high float64) float64 { return math.Min(math.Max(x, low), high) }

// fitted appends to the sources of the corrected figures.
func fitted(m *flash.Model, measured probe.Report) {
	of := map[string]string{
		"bus.command": probe.RandomRead, "bus.read": probe.ReadSpeed, "bus.write": probe.WriteSpeed,
		"media.planes": probe.WriteSpeed, "media.read": probe.RandomRead,
		"bus.flush": probe.FlushCost, "trim.command": probe.DiscardCost, "media.program": probe.WriteSpeed,
		"map.spare": probe.RandomWrite, "disk.mean_seek": probe.RandomRead, "disk.full_seek": probe.RandomRead,
		"disk.outer": probe.ReadSpeed,
	}
	for key, finding := range of {
		if source, ok := m.Sources[key]; ok && measured.Find(finding).Known() {
			m.Sources[key] = clean(source + "; corrected until the probe of the twin agrees")
		}
	}
	for _, key := range []string{"bus.flush", "trim.command"} {
		if (key == "bus.flush" && m.Bus.Flush == 0) || (key == "trim.command" && m.Trim.Command == 0) {
			delete(m.Sources, key)
		}
	}
}
