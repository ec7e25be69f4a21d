package flashtest_test

import (
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/flash/flashtest"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/probe"
)

// Noise may hide a device's properties; it must not make the probe report wrong ones. Here the time
// of every request varies by ten per cent, and one in five hundred takes ten times as long.
func TestProbeUnderNoise(t *testing.T) {
	known, shown := 0, 0
	for seed := uint64(1); seed <= 16; seed++ {
		m := flashtest.Random(seed)
		r := look(t, m, virtual.Noise{Seed: seed, Jitter: 0.1, Outliers: 0.002, Factor: 10}, seed)
		for _, w := range expect(m) {
			f := r.Find(w.key)
			if !w.may && !w.hidden {
				shown++
				if f.Known() {
					known++
				}
			}
			if !w.may && !w.hidden && !f.Known() {
				t.Logf("seed %d: %s: %s", seed, w.key, f.Undetermined)
			}
			if s := w.check(f); f.Known() && s != "" {
				t.Errorf("seed %d: %s", seed, s)
			}
		}
	}
	t.Logf("%d of %d visible figures were found", known, shown)
	if known*10 < shown*6 {
		t.Errorf("only %d of %d figures were found", known, shown)
	}
}

// The checks of these tests reject findings that are twice the true value.
func TestExpectationsCanFail(t *testing.T) {
	m := flashtest.Random(4)
	for m.Map.Scheme == flash.SchemePage || m.Fast.Size > 0 {
		t.Fatal("seed 4 was chosen for a model with visible segments")
	}
	r := look(t, m, virtual.Noise{}, 4)
	if s := wrong(m, r); len(s) > 0 {
		t.Fatal(s)
	}
	for i, f := range r.Findings {
		if !f.Known() || f.Key != probe.SegmentSize && f.Key != probe.OpenLinear && f.Key != probe.PageSize {
			continue
		}
		other := r
		other.Findings = append([]probe.Finding(nil), r.Findings...)
		other.Findings[i].Value *= 2
		if len(wrong(m, other)) == 0 {
			t.Errorf("%s twice as large passes", f.Key)
		}
	}
}
