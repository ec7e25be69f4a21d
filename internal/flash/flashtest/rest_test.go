package flashtest_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/flashtest"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/probe"
)

// spoilt is a target with a defect.
type spoilt struct {
	*virtual.Target
	readOnly bool
	real     int64 // addresses wrap around here; 0: never
	lost     int64 // writes from here on are lost; 0: none
	slowFrom int64 // reads and writes take five times as long …
	slowTo   int64
	failFrom int64 // writes from here on fail; 0: none
	calls    int
	stop     func() // after 1000 calls
}

func (s *spoilt) Writable() bool { return !s.readOnly }

func (s *spoilt) slow(offset int64, d time.Duration) time.Duration {
	if s.calls++; s.calls == 1000 && s.stop != nil {
		s.stop()
	}
	if offset >= s.slowFrom && offset < s.slowTo {
		s.Pause(4 * d)
		return 5 * d
	}
	return d
}

func (s *spoilt) Read(offset, length int64) (time.Duration, error) {
	d, err := s.Target.Read(offset, length)
	return s.slow(offset, d), err
}

func (s *spoilt) Write(offset, length int64) (time.Duration, error) {
	if s.readOnly {
		panic("a write to a target for reading")
	}
	if s.failFrom > 0 && offset+length > s.failFrom {
		return 0, syscall.EIO
	}
	d, err := s.Target.Write(offset, length)
	return s.slow(offset, d), err
}

func (s *spoilt) Load(offset int64, into []byte) error {
	if s.lost > 0 && offset >= s.lost {
		clear(into)
		return nil
	}
	if s.real > 0 {
		offset %= s.real
	}
	return s.Target.Load(offset, into)
}

func (s *spoilt) Store(offset int64, from []byte) error {
	if s.readOnly {
		panic("a store to a target for reading")
	}
	if s.real > 0 {
		offset %= s.real
	}
	return s.Target.Store(offset, from)
}

// device makes a target of a model without noise.
func device(t *testing.T, m flash.Model) *virtual.Target {
	t.Helper()
	d, err := flash.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return virtual.Open(d, m.Trim.Supported, virtual.Noise{})
}

func shipped(t *testing.T, name string) flash.Model {
	t.Helper()
	m, err := models.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every shipped model, every part that does not concern the mapping: rotation
// is right, the findings are consistent, and the probe ends in time.
func TestProbeOfShippedModels(t *testing.T) {
	for _, name := range []string{"sd-basic", "sd-a2", "usb-stick", "emmc", "hdd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := shipped(t, name)
			r, err := probe.Run(context.Background(), device(t, m), probe.Options{Effort: "quick", Seed: 1,
				Only: []string{"rotation", "cache", "flush", "size", "sweep", "map", "queue", "random", "discard"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.0f s, %d MiB written", r.Seconds, r.Written>>20)
			for _, f := range r.Findings {
				t.Logf("%s: %.4g %s %s (%.2f) %s", f.Key, f.Value, f.Unit, f.Text, f.Confidence, f.Undetermined)
				if f.Known() && (f.Evidence == "" || f.Meaning == "" || !(f.Confidence > 0)) || math.IsNaN(f.Value) {
					t.Errorf("%+v", f)
				}
			}
			if r.Seconds > 150 {
				t.Errorf("a quick probe took %.0f s", r.Seconds)
			}
			// In such a short time, finding no cache is
			// acceptable; a wrong size, or "none" where there is
			// one, is not.
			room := m.Buffer.Size
			if m.Kind == flash.KindDisk && m.Disk.WriteCache {
				room = m.Disk.Buffer
			}
			for _, w := range []want{{key: probe.WriteCache, value: float64(room), tolerance: 0.25, may: true},
				{key: probe.FastCache, value: float64(m.Fast.Size), tolerance: 0.25, may: true}} {
				if s := w.check(r.Find(w.key)); s != "" {
					t.Error(s)
				}
			}
			f := r.Find(probe.Rotation)
			if m.Kind == flash.KindDisk {
				if f.Text != "rotating" || math.Abs(f.Value/m.Disk.RPM-1) > 0.02 {
					t.Errorf("a disk of %g r/min: %+v", m.Disk.RPM, f)
				}
			} else if f.Text != "solid state" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestProbeFindsFalseCapacity(t *testing.T) {
	m := flashtest.Random(1)
	for name, s := range map[string]spoilt{"wraps": {real: 96 << 20}, "forgets": {lost: 96 << 20}} {
		t.Run(name, func(t *testing.T) {
			s.Target = device(t, m)
			r, err := probe.Run(context.Background(), &s, probe.Options{Seed: 3, Only: []string{"size"}})
			if err != nil {
				t.Fatal(err)
			}
			f := r.Find(probe.RealSize)
			if f.Value != 96<<20 || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "96") {
				t.Errorf("%+v %q", f, r.Warnings)
			}
		})
	}
}

func TestProbeFindsSlowZone(t *testing.T) {
	m := flashtest.Random(1)
	for _, readOnly := range []bool{false, true} {
		s := &spoilt{Target: device(t, m), readOnly: readOnly, slowFrom: 100 << 20, slowTo: 140 << 20}
		r, err := probe.Run(context.Background(), s, probe.Options{Seed: 3, Only: []string{"map"}})
		if err != nil {
			t.Fatal(err)
		}
		if f := r.Find(probe.SlowZones); !strings.Contains(f.Text, " places, between 1") {
			t.Errorf("read only %v: %+v", readOnly, f)
		}
		r, err = probe.Run(context.Background(), device(t, m), probe.Options{Seed: 3, Only: []string{"map"}})
		if f := r.Find(probe.SlowZones); err != nil || f.Text != "none" {
			t.Errorf("without one: %+v %v", f, err)
		}
	}
}

// A read-only probe finds everything that reads can reveal, and gives the
// reasons for the rest.
func TestProbeThatOnlyReads(t *testing.T) {
	m := flashtest.Random(1)
	r, err := probe.Run(context.Background(), &spoilt{Target: device(t, m), readOnly: true}, probe.Options{Effort: "quick", Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{probe.ReadSpeed, probe.RandomRead, probe.QueueDepth, probe.Rotation, probe.SlowZones, probe.BestReadBlock} {
		if f := r.Find(key); !f.Known() {
			t.Errorf("%+v", f)
		}
	}
	for _, key := range []string{probe.WriteSpeed, probe.WriteCache, probe.FastCache, probe.FlushCost, probe.RealSize, probe.RandomWrite, probe.DiscardCost} {
		if f := r.Find(key); f.Known() || f.Key == "" {
			t.Errorf("%+v", f)
		}
	}
	if r.Wrote || r.Written != 0 {
		t.Errorf("it wrote %d bytes", r.Written)
	}
}

func TestProbeOfFailingDevice(t *testing.T) {
	m := flashtest.Random(1)
	s := &spoilt{Target: device(t, m), failFrom: 200 << 20}
	r, err := probe.Run(context.Background(), s, probe.Options{Effort: "quick", Only: []string{"rotation", "cache", "flush"}})
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "writing 128 KiB at 200 MiB in part cache") {
		t.Errorf("%v", err)
	}
	if !r.Find(probe.Rotation).Known() || !strings.Contains(r.Find(probe.FlushCost).Undetermined, "input/output") {
		t.Errorf("%+v", r.Findings)
	}
}

func TestProbeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &spoilt{Target: device(t, flashtest.Random(1)), stop: cancel}
	r, err := probe.Run(ctx, s, probe.Options{})
	if !errors.Is(err, context.Canceled) || s.calls > 1001 || !r.Find(probe.Rotation).Known() || r.Find(probe.RandomRead).Undetermined == "" {
		t.Errorf("%v after %d calls: %+v", err, s.calls, r.Findings)
	}
	r, err = probe.Run(context.Background(), device(t, flashtest.Random(2)), probe.Options{Limit: 5 * time.Second})
	if err != nil || r.Seconds > 6.5 {
		t.Errorf("limit of 5 s: %.1f s, %v", r.Seconds, err)
	}
	if _, err = probe.Run(context.Background(), device(t, flashtest.Random(2)), probe.Options{Only: []string{"nothing"}}); err == nil {
		t.Error("a part that does not exist")
	}
}
