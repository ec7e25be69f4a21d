package twin

import (
	"fmt"
	"math"
	"strings"

	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// Row is one property that a device and its twin have in common.
type Row struct {
	Name string
	// Measured and Twin are the two values, for people.
	Measured, Twin string
	// Ratio of the twin to the measured value; 0: they have no ratio, and
	// Same says whether they agree.
	Ratio float64
	Same  bool
	// Curve: Ratio is the geometric mean over its points, and Worst the
	// ratio furthest from 1, at At.
	Curve bool
	Worst float64
	At    string
	// Key of the finding or curve.
	Key string
}

// Off is the twin's deviation from the measured value, as a share: 0.1 for a
// ratio of 1.1 or 1/1.1.
func (r Row) Off() float64 {
	if r.Ratio <= 0 {
		return 0
	}
	return math.Max(r.Ratio, 1/r.Ratio) - 1
}

// Compare compares the probe of a twin with the probe of the original: finding
// by finding, then curve by curve, in the order of the measured one. It omits
// what the device does not reveal; what only the twin does not reveal is a
// difference.
func Compare(measured, twin probe.Report) []Row {
	var rows []Row
	for _, g := range measured.Findings {
		h := twin.Find(g.Key)
		if !g.Known() || skipped(g.Key) {
			continue
		}
		row := Row{Key: g.Key, Name: nameOfFinding(g), Measured: Value(g), Twin: Value(h)}
		row.Same = row.Measured == row.Twin
		if g.Known() && h.Known() && g.Value > 0 && h.Value > 0 && g.Unit != "" {
			row.Ratio = h.Value / g.Value
		}
		rows = append(rows, row)
	}
	for _, c := range measured.Curves {
		for _, line := range c.Lines {
			if row, ok := compareLine(c, line, twin); ok {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// skipped reports findings about a single specimen rather than its design.
func skipped(key string) bool { return key == probe.SlowZones || key == probe.RealSize }

// compareLine compares the points at the same positions of a line of a curve.
// It skips maps, which depend on where the specimen is slow.
func compareLine(c probe.Curve, line probe.Line, twin probe.Report) (Row, bool) {
	if strings.HasPrefix(c.Key, "map-") {
		return Row{}, false
	}
	var sum float64
	var n int
	row := Row{Key: c.Key, Name: c.Title, Curve: true}
	if len(c.Lines) > 1 && line.Name != "" {
		row.Name += ", " + line.Name
	}
	for _, p := range line.Points {
		y, ok := valueAt(twin, c.Key, line.Name, p.X)
		if !ok || p.Y <= 0 || y <= 0 {
			continue
		}
		ratio := y / p.Y
		sum += math.Log(ratio)
		n++
		if row.Worst == 0 || math.Abs(math.Log(ratio)) > math.Abs(math.Log(row.Worst)) {
			row.Worst, row.At = ratio, units.Value(p.X, c.XUnit)
		}
	}
	if n == 0 {
		return Row{}, false
	}
	row.Ratio = math.Exp(sum / float64(n))
	row.Measured = fmt.Sprintf("%d points", len(line.Points))
	row.Twin = fmt.Sprintf("%d of them", n)
	return row, true
}

func valueAt(r probe.Report, key, line string, x float64) (float64, bool) {
	for _, c := range r.Curves {
		if c.Key != key {
			continue
		}
		for _, l := range c.Lines {
			if l.Name != line {
				continue
			}
			for _, p := range l.Points {
				if p.X == x {
					return p.Y, true
				}
			}
		}
	}
	return 0, false
}
