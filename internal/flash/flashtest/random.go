// Package flashtest draws models of storage at random, for tests that must
// hold for every device rather than for hand-picked ones.
package flashtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whichfs/internal/flash"
)

// Random draws a model from the ranges of real cards, sticks and small SSDs.
// The same seed always returns the same model. Sizes are those of small cards,
// to keep tests short.
func Random(seed uint64) flash.Model {
	r := rand.New(rand.NewPCG(seed, 0x666c617368))
	m := flash.Model{
		Name: fmt.Sprintf("random-%d", seed), Title: "drawn at random", Kind: flash.KindFlash,
		Size: 512 << 20 << r.IntN(3),
		Bus: flash.Bus{
			Command: span(r, 50*time.Microsecond, 500*time.Microsecond),
			Read:    10e6 + 140e6*r.Float64(), Write: 10e6 + 140e6*r.Float64(),
			Queue: 1 << r.IntN(6), Flush: span(r, 0, 2*time.Millisecond),
		},
		Wear: flash.Wear{Dynamic: r.IntN(2) == 0},
	}
	media(r, &m)
	scheme(r, &m)
	if r.IntN(2) == 0 && m.Map.Scheme != flash.SchemePage {
		m.FAT = 1 << 20 << r.IntN(5)
	}
	if r.IntN(3) == 0 {
		m.Buffer.Size = 16 << 10 << r.IntN(9)
		m.Buffer.Size = max(m.Buffer.Size, m.Media.Page)
	}
	if r.IntN(5) == 0 {
		m.Fast.Size = max(16<<20<<r.IntN(5), 4*m.Media.Block)
		m.Fast.Program = m.Media.Program / 4
		if r.IntN(2) == 0 {
			m.Fast.Idle = span(r, 100*time.Millisecond, 2*time.Second)
		}
	}
	if r.IntN(2) == 0 {
		m.Trim = flash.TrimModel{Supported: true, Command: span(r, 100*time.Microsecond, time.Millisecond), Zeroes: r.IntN(2) == 0}
	}
	return m
}

func span(r *rand.Rand, lo, hi time.Duration) time.Duration {
	return lo + time.Duration(r.Int64N(int64(hi-lo)))
}

// media draws the flash, and redraws if all planes together would program
// faster or slower than any card on the market.
func media(r *rand.Rand, m *flash.Model) {
	for {
		m.Media = flash.Media{
			Page: 2 << 10 << r.IntN(5), Block: 128 << 10 << r.IntN(6), Planes: 1 << r.IntN(3),
			Read:    span(r, 25*time.Microsecond, 100*time.Microsecond),
			Program: span(r, 200*time.Microsecond, 2*time.Millisecond),
			Erase:   span(r, time.Millisecond, 5*time.Millisecond), Cycles: 3000,
		}
		rate := float64(m.Media.Page) * float64(m.Media.Planes) / m.Media.Program.Seconds()
		if rate > 4e6 && rate < 120e6 {
			return
		}
	}
}

// scheme draws the mapping.
func scheme(r *rand.Rand, m *flash.Model) {
	switch x := r.IntN(100); {
	case x < 60:
		m.Map.Scheme, m.Map.Random = flash.SchemeSegment, r.IntN(2) == 0
	case x < 75:
		m.Map.Scheme = flash.SchemeHybrid
	default:
		m.Map.Scheme, m.Map.Spare = flash.SchemePage, 0.03+0.25*r.Float64()
		return
	}
	m.Map.Open = 1 + r.IntN(10)
	m.Map.Segment = 512 << 10 << r.IntN(6)
	if r.IntN(4) == 0 && m.Map.Segment < 16<<20 {
		m.Map.Segment += m.Map.Segment / 2
	}
	for m.Map.Segment%m.Media.Block != 0 {
		m.Media.Block /= 2
	}
}
