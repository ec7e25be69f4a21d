package flash

import (
	"math"
	"time"
)

// geometry is where data is on a rotating disk and how long the arm and the
// platter take to bring it to the head.
//
// The surface is one spiral: a place is a number of tracks, whose fraction is
// the angle. Bytes per track decrease with the address so that the rate of the
// medium falls linearly from the outer to the inner track; continuing on the
// next track costs nothing extra, because the stated rates of real disks
// include it. The angle under the head depends on the instant alone.
//
// The seek curve is that of Ruemmler and Wilkes, An introduction to disk drive
// modeling, IEEE Computer 27(3), 1994: a + b·√distance while the arm
// accelerates, c + e·distance when it coasts. The curve goes through the
// track-to-track seek, the mean seek at a third of the stroke (the mean
// distance of random places), where its two parts meet, and the full seek.
type geometry struct {
	size         float64 // B
	turn         float64 // ns
	outer, inner float64 // B/s
	tracks       float64
	a, b, c, e   float64 // ns, for distances in tracks
	third        float64 // tracks
	least        float64 // ns: the shortest seek
	// slack is the part of a track that counts as none: instants are whole
	// nanoseconds, and a rounding error must not cost a revolution.
	slack float64
}

func newGeometry(size int64, m Disk) geometry {
	g := geometry{size: float64(size), turn: 60e9 / m.RPM, outer: m.Outer, inner: m.Inner}
	g.slack = 20 / g.turn
	g.tracks = g.track(size)
	near, mean, full := float64(m.TrackSeek), float64(m.MeanSeek), float64(m.FullSeek)
	g.third = max(2, g.tracks/3)
	g.b = (mean - near) / (math.Sqrt(g.third) - 1)
	g.a = near - g.b
	if far := max(g.tracks, g.third+1); full > mean {
		g.e = (full - mean) / (far - g.third)
	}
	g.c = mean - g.e*g.third
	g.least = near
	return g
}

// track returns the place of a byte, in tracks from the outermost: the
// integral of 1 / (bytes per track) up to there.
func (g *geometry) track(off int64) float64 {
	x, perTurn := float64(off), g.turn/1e9
	if g.outer-g.inner < 1e-9*g.outer {
		return x / (g.outer * perTurn)
	}
	slope := (g.outer - g.inner) / g.size
	return -math.Log1p(-slope*x/g.outer) / (slope * perTurn)
}

// offset returns the byte at a place, the inverse of track.
func (g *geometry) offset(track float64) int64 {
	perTurn := g.turn / 1e9
	if g.outer-g.inner < 1e-9*g.outer {
		return int64(track * g.outer * perTurn)
	}
	slope := (g.outer - g.inner) / g.size
	return int64(-math.Expm1(-track*slope*perTurn) * g.outer / slope)
}

// seek is how long the arm takes over a distance in tracks. Within a track, or
// on to the start of the next, it takes no time.
func (g *geometry) seek(distance float64) time.Duration {
	d := math.Abs(distance)
	switch {
	case d < 1:
		return 0
	case d <= g.third:
		return time.Duration(max(g.least, g.a+g.b*math.Sqrt(d)))
	}
	return time.Duration(g.c + g.e*d)
}

// wait is how long it takes from an instant until a place is under the head.
func (g *geometry) wait(at time.Duration, track float64) time.Duration {
	angle := math.Mod(float64(at), g.turn) / g.turn
	w := track - math.Floor(track) - angle
	if w < 0 {
		w++
	}
	if w > 1-g.slack {
		w = 0
	}
	return g.turns(w)
}

// turns is the duration of n revolutions.
func (g *geometry) turns(n float64) time.Duration { return time.Duration(n*g.turn + 0.5) }
