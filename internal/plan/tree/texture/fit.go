package texture

import (
	"whichfs/internal/plan/tree/squeeze"
)

// Ratios are compressed to original length in thousandths, by algorithm,
// before rounding to sectors.
type Ratios [squeeze.Algorithms]int

// Limits of the search.
const (
	sampleBytes = 128 << 10 // compressed per attempt
	resultBytes = 512 << 10 // compressed for the result
	longestRun  = 200 * 16  // sixteenths of a byte
	steps       = 9         // bisection steps
	passes      = 2
	wrong       = 1 << 30 // larger than any real error
	judged      = 8       // blocks passed to Btrfs's heuristic
	margin      = 15      // thousandths from its threshold
)

// lengths of repetitions to try, in bytes.
var lengths = []int{6, 10, 16, 28, 60, 200, 600}

// Fit finds the texture whose blocks of a length (at most 128 KiB) come
// closest to the wanted ratios, and returns its ratios. If possible, Btrfs's
// heuristic also judges it as wanted.
func Fit(m *squeeze.Meter, length int, want Ratios, worth bool) (Texture, Ratios, error) {
	f := fitter{meter: m, block: make([]byte, length), want: want, worth: worth}
	best, ratios, least := Texture{}, Ratios{}, -1
	for _, n := range lengths {
		found := []Texture{f.at(n)}
		if f.unlike(found[0]) > 0 {
			found = append(found, f.willing(found[0]))
		}
		for _, t := range found {
			got := f.try(t)
			miss := missed(got, want) + wrong*f.unlike(t)
			if least < 0 || miss < least {
				best, ratios, least = t, got, miss
			}
		}
	}
	return best, ratios, f.err
}

// missed is the error of ratios: a sum of squares, so that no algorithm has a
// large error for the sake of the others.
func missed(got, want Ratios) int {
	sum := 0
	for a := range got {
		d := got[a] - want[a]
		sum += d * d
	}
	return sum
}

type fitter struct {
	meter *squeeze.Meter
	block []byte
	want  Ratios
	worth bool
	err   error
}

// unlike counts the sample blocks that Btrfs would not treat as wanted.
func (f *fitter) unlike(t Texture) (n int) {
	for i := range judged {
		t.Fill(f.block, uint64(i))
		if squeeze.Promising(f.block) != f.worth {
			n++
		}
	}
	return n
}

// willing adjusts the uniformity of the new bytes until Btrfs treats them as
// wanted.
func (f *fitter) willing(t Texture) Texture {
	odd := search(any, func(x int) bool {
		t.Odd = x
		return (f.unlike(t) == 0) == f.worth
	})
	if f.worth {
		t.Odd = max(0, odd-margin)
	} else {
		t.Odd = min(any, odd+margin)
	}
	return t
}

// try returns the ratios of a texture.
func (f *fitter) try(t Texture) (r Ratios) {
	for a := range r {
		r[a] = f.one(t, squeeze.Algorithm(a), resultBytes)
	}
	return r
}

// one returns a texture's ratio with one algorithm, from a sample of a length
// in bytes.
func (f *fitter) one(t Texture, a squeeze.Algorithm, sample int) int {
	n := min(max(sample/len(f.block), 1), 200)
	var sum int64
	for i := range n {
		t.Fill(f.block, uint64(i))
		size, err := f.meter.One(a, f.block)
		if err != nil {
			f.err = err
		}
		sum += size
	}
	return int(sum * 1000 / int64(n*len(f.block)))
}

// at fits with repetitions of a mean length: LZO, which counts bytes,
// determines how much is new; zlib then determines how uniform the new bytes
// are or, if letters are not enough, how many repetitions LZO misses.
func (f *fitter) at(length int) Texture {
	t := Texture{Copy: length, Odd: 300}
	for range passes {
		t.Run = search(longestRun, func(x int) bool {
			t.Run = x
			return f.one(t, squeeze.LZO, sampleBytes) < f.want[squeeze.LZO]
		})
		even := search(2000, func(x int) bool {
			t.even(x)
			return f.one(t, squeeze.Zlib, sampleBytes) < f.want[squeeze.Zlib]
		})
		t.even(even)
	}
	return t
}

// even ranges from 0, mostly far repetitions, over 1000, letters only, to
// 2000, any bytes.
func (t *Texture) even(x int) {
	t.Far, t.Odd = max(0, 1000-x), max(0, x-1000)
}

// search returns the largest x up to top for which low still holds.
func search(top int, low func(x int) bool) int {
	from, to := 0, top
	for range steps {
		if middle := (from + to) / 2; low(middle) {
			from = middle
		} else {
			to = middle
		}
	}
	return from
}
