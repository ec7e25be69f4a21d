package probe

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// border is storage whose reads take longer across multiples of a size and are
// otherwise alike. Every request has some noise.
type border struct {
	size, segment int64
	step          time.Duration
	noise         float64
	now           time.Duration
	random        *rand.Rand
}

func (b *border) Size() int64            { return b.size }
func (b *border) Writable() bool         { return false }
func (b *border) Elapsed() time.Duration { return b.now }
func (b *border) Pause(d time.Duration)  { b.now += d }

func (b *border) Read(offset, length int64) (time.Duration, error) {
	d := time.Millisecond
	if b.segment > 0 && offset/b.segment != (offset+length-1)/b.segment {
		d += b.step
	}
	d += time.Duration(float64(d) * b.noise * b.random.NormFloat64())
	b.now += d
	return d, nil
}

func (b *border) Write(int64, int64) (time.Duration, error)   { panic("written to") }
func (b *border) Flush() (time.Duration, error)               { panic("flushed") }
func (b *border) Discard(int64, int64) (time.Duration, error) { panic("discarded") }
func (b *border) Store(int64, []byte) error                   { panic("written to") }
func (b *border) Load(int64, []byte) error                    { return nil }
func (b *border) Together(bool, []int64, int64, int) (time.Duration, error) {
	return 0, ErrUnsupported
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name    string
		segment int64
		step    time.Duration
		noise   float64
		want    float64 // 0: cannot be determined
	}{
		// The card of bootlin-2023: 1.2 ms, and 0.14 ms more across 4 MiB.
		{"4 MiB", 4 << 20, 140 * time.Microsecond, 0.02, 4 << 20},
		{"512 KiB, quiet", 512 << 10, 50 * time.Microsecond, 0.005, 512 << 10},
		{"16 MiB", 16 << 20, 200 * time.Microsecond, 0.03, 16 << 20},
		{"no step", 0, 0, 0.02, 0},
		{"nothing varies", 0, 0, 0, 0},
		{"lost in noise", 4 << 20, 10 * time.Microsecond, 0.2, 0},
	} {
		missed := 0 // lost in the noise; a wrong size would be worse
		for seed := range uint64(10) {
			target := &border{size: 4 << 30, segment: c.segment, step: c.step, noise: c.noise, random: rand.New(rand.NewPCG(seed, 1))}
			r, err := Run(context.Background(), target, Options{Seed: seed, Only: []string{"align", "segment", "open"}})
			if err != nil {
				t.Fatal(err)
			}
			f := r.Find(SegmentSize)
			switch {
			case c.want > 0 && !f.Known():
				missed++
			case c.want == 0 && (f.Known() || f.Undetermined == "") || c.want > 0 && f.Value != c.want:
				t.Errorf("%s, seed %d: %+v", c.name, seed, f)
			}
			if c.want > 0 && f.Sureness() == "sure" {
				t.Errorf("%s, seed %d: reads alone are never sure: %v", c.name, seed, f.Confidence)
			}
			if r.Wrote || !strings.Contains(r.Find(OpenLinear).Undetermined, "writing is not allowed") {
				t.Errorf("%s: wrote %v, %+v", c.name, r.Wrote, r.Find(OpenLinear))
			}
		}
		if missed > 2 {
			t.Errorf("%s: not found with %d of 10 seeds", c.name, missed)
		}
	}
}
