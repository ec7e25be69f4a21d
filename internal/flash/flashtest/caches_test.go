package flashtest_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/flash/flashtest"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/probe"
)

// expectCaches derives from a model what the parts of the probe that ignore
// the mapping must find. A cache may stay undetermined if time is too short or
// it shows no difference in speed; a wrong figure never passes.
func expectCaches(m flash.Model) []want {
	// If the bus is slower than the medium, no cache ever fills.
	bus := 1 / (m.Bus.Command.Seconds()/(128<<10) + 1/m.Bus.Write)
	program := m.Media.Program
	if m.Fast.Size > 0 {
		program += m.Fast.Program + m.Media.Read
	}
	slow := float64(m.Media.Page) * float64(m.Media.Planes) / program.Seconds()
	// Then the probe reports "none", with the remark that a cache may stay
	// invisible.
	hidden := m.Fast.Size > 0 && bus < 1.2*slow
	// Such a small buffer, or one that empties faster than it fills, may
	// hide its size.
	round := m.Media.Page * int64(m.Media.Planes)
	small := m.Buffer.Size > 0 && (m.Buffer.Size <= 2*round || bus < 1.2*slow)
	out := []want{
		{key: probe.WriteCache, value: float64(m.Buffer.Size), tolerance: 0.25, may: small},
		// The probe reports none only if it wrote enough to exclude
		// one.
		{key: probe.FastCache, value: float64(m.Fast.Size), tolerance: 0.25, may: m.Fast.Size == 0, none: hidden},
		{key: probe.RealSize, value: float64(m.Size)},
	}
	return out
}

// wrongDepth: a device can serve no more requests than its queue holds.
func wrongDepth(m flash.Model, f probe.Finding) bool {
	return !f.Known() || f.Value > float64(m.Bus.Queue) || m.Media.Planes > 1 && m.Bus.Queue > 1 && f.Value < 2
}

func TestProbeRecoversCaches(t *testing.T) {
	first, count := seeds(t)
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			m := flashtest.Random(seed)
			d, err := flash.New(m)
			if err != nil {
				t.Fatal(err)
			}
			r, err := probe.Run(context.Background(), virtual.Open(d, m.Trim.Supported, virtual.Noise{}),
				probe.Options{Effort: "normal", Seed: seed, Only: []string{"rotation", "cache", "flush", "size", "queue"}})
			if err != nil {
				t.Fatal(err)
			}
			s := fmt.Sprintf("seed %d: %s buffer %d KiB fast %d MiB queue %d planes %d; %.0f s, %d MiB;", seed, m.Map.Scheme, m.Buffer.Size>>10, m.Fast.Size>>20, m.Bus.Queue, m.Media.Planes, r.Seconds, r.Written>>20)
			for _, k := range []string{probe.WriteCache, probe.FastCache, probe.QueueDepth, probe.Rotation, probe.FlushCost, probe.RealSize} {
				f := r.Find(k)
				if f.Known() {
					s += fmt.Sprintf(" %s %.4g %s (%.2f)", k, f.Value, f.Text, f.Confidence)
				} else {
					s += fmt.Sprintf(" %s ? %s", k, f.Undetermined)
				}
			}
			t.Log(s)
			for _, w := range expectCaches(m) {
				if s := w.check(r.Find(w.key)); s != "" {
					t.Error(s)
				}
			}
			if f := r.Find(probe.QueueDepth); wrongDepth(m, f) {
				t.Errorf("queue depth: %+v", f)
			}
			if f := r.Find(probe.Rotation); f.Text != "solid state" {
				t.Errorf("rotation: %+v", f)
			}
		})
	}
}
