// Package texture generates bytes that compress to given ratios with LZO, zlib and zstd. Its point
// of view: these three exploit only repetitions, near or far, and the distribution of the bytes
// between them; so it generates just these, and finds the amounts by trial.
package texture

import "math/bits"

// Texture describes what data consist of. The zero value is incompressible.
// The same texture and seed give the same bytes on every machine.
type Texture struct {
	// Copy is the mean length of a repetition, in bytes; 0: there is none.
	Copy int `json:"copy,omitempty"`
	// Run is the mean length of new data between two repetitions, in
	// sixteenths of a byte.
	Run int `json:"run,omitempty"`
	// Far is how many of a thousand repetitions refer to data more than 4
	// KiB back, which LZO on Btrfs misses.
	Far int `json:"far,omitempty"`
	// Odd is how many of a thousand new bytes are numbers, smaller ones
	// more often; the others are letters, some of them frequent. From 1000
	// on, all bytes are equally frequent.
	Odd int `json:"odd,omitempty"`
}

// Valid reports whether the texture can be generated.
func (t Texture) Valid() bool {
	if t.Copy == 0 {
		return t == Texture{}
	}
	return t.Copy >= shortest && t.Copy <= 1<<16 && t.Run >= 0 && t.Run <= 1<<20 && t.Far >= 0 && t.Far <= 1000 && t.Odd >= 0 && t.Odd <= 1000
}

const (
	page     = 4 << 10  // LZO's range on Btrfs, in bytes
	window   = 32 << 10 // zlib's range
	shortest = 4        // repetition, in bytes
	any      = 1000     // thousandths
	nearest  = 8        // minimum distance of a repetition from its original, in bytes
	settled  = 64       // bytes of a page before repetitions are taken from it alone
)

// letters holds 256 bytes, frequent ones repeatedly. The order is roughly that
// of program texts; only the frequencies matter (4.6 bits per byte).
var letters = func() (out [256]byte) {
	const order = " e_ti\nnrsao(,)dlc;pum*0hf=g>-bxy/vw1.k2{}E\"TSIRADCN34LOPM8F5U6&G7B9"
	n := 0
	for i := 0; n < len(out); i = (i + 1) % len(order) {
		for range max(1, 30*8/(8+2*i)-4) {
			if n < len(out) {
				out[n] = order[i]
				n++
			}
		}
	}
	return out
}()

// Source is wyrand (Wang Yi's, of the wyhash family): the same numbers on every machine.
type Source uint64

func (s *Source) next() uint64 {
	*s += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(uint64(*s), uint64(*s)^0xe7037ed1a0b428db)
	return hi ^ lo
}

// Below returns a number from 0 to n-1; n is at least 1.
func (s *Source) Below(n int64) int64 {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int64(hi)
}

func (s *Source) below(n int) int { return int(s.Below(int64(n))) }

// Fill fills p; nothing before p is repeated.
func (t Texture) Fill(p []byte, seed uint64) {
	s := Source(seed)
	if t.Copy == 0 {
		s.fresh(p, any)
		return
	}
	for at := 0; at < len(p); {
		// Round sixteenths to whole bytes at random.
		run := min((s.below(2*t.Run+1)+s.below(16))/16, len(p)-at)
		if at == 0 {
			run = min(max(run, nearest), len(p))
		}
		s.fresh(p[at:at+run], t.Odd)
		at += run
		n := min(shortest+s.below(max(1, 2*(t.Copy-shortest)+1)), len(p)-at)
		from := at - s.distance(at, t.Far)
		for i := range n {
			p[at+i] = p[from+i]
		}
		at += n
	}
}

// distance is the distance from a repetition back to its original.
func (s *Source) distance(at, far int) int {
	furthest := at % page
	switch {
	case s.below(1000) < far && at > page+nearest:
		return page + s.below(min(at, window)-page)
	case furthest < settled:
		furthest = min(at, page)
	}
	return nearest + s.below(max(1, furthest-nearest))
}

// fresh generates bytes that are not repetitions.
func (s *Source) fresh(p []byte, odd int) {
	for len(p) > 0 {
		word := s.next()
		for i := 0; i < 2 && len(p) > 0; i++ {
			b := byte(word)
			switch {
			case int(word>>8&0xff)*1000>>8 >= odd:
				b = letters[b]
			case odd < any:
				// Small numbers are frequent in data, too.
				b = byte(uint(b) * uint(byte(word>>16)) >> 8)
			}
			p[0] = b
			p, word = p[1:], word>>32
		}
	}
}
