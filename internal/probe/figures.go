package probe

import (
	"math"
	"slices"
	"time"

	"whichfs/internal/sys/units"
)

// middle is the median; NaN if there are no values.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// quantile is the value below which a share of all values lie, without
// interpolation.
func quantile(x []float64, share float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

// scatter is the median distance from the median, scaled so that it is the
// standard deviation of a normal distribution (factor 1.4826).
func scatter(x []float64) float64 {
	m := middle(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return 1.4826 * middle(d)
}

// point is the median of repetitions with their minimum and maximum.
func point(x float64, y []float64) Point {
	return Point{X: x, Y: middle(y), Low: slices.Min(y), High: slices.Max(y), N: len(y)}
}

// trust is the confidence in the median of repetitions: the less they vary the
// higher, and at most 0.7 for a single one.
func trust(x []float64) float64 {
	if len(x) < 2 {
		return 0.7
	}
	m := middle(x)
	if !(m > 0) {
		return 0.3
	}
	return max(0.3, min(0.99, 1-2*scatter(x)/m/math.Sqrt(float64(len(x)))))
}

func sec(d time.Duration) float64 { return d.Seconds() }

func bytesText(n float64) string { return units.Value(n, "B") }
func speedText(v float64) string { return units.Value(v, "B/s") }
func timeText(s float64) string  { return units.Value(s, "s") }

// down rounds down to a multiple.
func down(n, unit int64) int64 { return n - n%max(unit, 1) }

// base is a multiple of up to 64 MiB near a share of the device: larger than
// any segment if the device is large enough.
func (p *prober) base(share float64) int64 {
	unit := int64(64 << 20)
	for unit > 1<<20 && unit > p.t.Size()/32 {
		unit /= 2
	}
	return down(int64(float64(p.t.Size())*share), max(unit, p.block))
}

// unit is the size of requests that should be 4 KiB: larger if the device
// requires it.
func (p *prober) unit() int64 { return max(4096, p.block) }

// places returns where to read at random: what this probe wrote, because a
// device may answer reads of unwritten places without accessing the medium; or
// else the whole device.
func (p *prober) places() []extent {
	if len(p.written) > 0 {
		return p.written
	}
	return []extent{{0, p.t.Size()}}
}

// pick returns a random place for a request of a length: all bytes of the
// places are equally likely.
func (p *prober) pick(from []extent, length int64) int64 {
	all := int64(0)
	for _, e := range from {
		all += max(0, e.length-length+1)
	}
	if all <= 0 {
		return 0
	}
	n := p.random.Int64N(all)
	for _, e := range from {
		room := max(0, e.length-length+1)
		if n < room {
			return e.offset + down(n, length)
		}
		n -= room
	}
	return 0
}
