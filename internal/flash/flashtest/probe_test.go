package flashtest_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/flash/flashtest"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/probe"
)

// seedsEnv overrides the seeds below: "first,count".
const seedsEnv = "WHICHFS_PROBE_SEEDS"

// want is what a probe must find in a model. With may, finding nothing is
// acceptable, too; finding something else never is.
type want struct {
	key       string
	value     float64
	tolerance float64 // relative; 0: exact
	may       bool
	hidden    bool // nothing must be found
	none      bool // "none" is acceptable, too
}

// expect derives from a model what a probe must find.
func expect(m flash.Model) []want {
	out := []want{{key: probe.PageSize, value: float64(m.Media.Page)}}
	if m.Map.Scheme == flash.SchemePage {
		return append(out, want{key: probe.SegmentSize, hidden: true}, want{key: probe.OpenLinear, hidden: true},
			want{key: probe.OpenRandom, hidden: true}, want{key: probe.FATArea, hidden: true})
	}
	// A fast cache accepts everything that a cycle writes and folds it
	// later.
	late := m.Fast.Size > 0
	random := float64(m.Map.Open)
	if m.Map.Scheme == flash.SchemeSegment && !m.Map.Random {
		random = 0
	}
	return append(out,
		want{key: probe.SegmentSize, value: float64(m.Map.Segment), may: late},
		want{key: probe.OpenLinear, value: float64(m.Map.Open), may: late},
		want{key: probe.OpenRandom, value: random, may: late},
		want{key: probe.FATArea, value: float64(m.FAT), tolerance: 0.25, may: late})
}

// check compares one finding; "" means that it is right.
func (w want) check(f probe.Finding) string {
	switch {
	case !f.Known() && (w.may || w.hidden), f.Known() && w.none && f.Value == 0:
		return ""
	case !f.Known():
		return fmt.Sprintf("%s: %g was not found: %s", w.key, w.value, f.Undetermined)
	case w.hidden:
		return fmt.Sprintf("%s: found %g (%s) where there is nothing to find: %s", w.key, f.Value, f.Sureness(), f.Evidence)
	case f.Value < w.value*(1-w.tolerance) || f.Value > w.value*(1+w.tolerance):
		return fmt.Sprintf("%s: found %g (%s), expected %g: %s", w.key, f.Value, f.Sureness(), w.value, f.Evidence)
	}
	return ""
}

// look probes a model.
func look(t *testing.T, m flash.Model, noise virtual.Noise, seed uint64) probe.Report {
	t.Helper()
	d, err := flash.New(m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := probe.Run(context.Background(), virtual.Open(d, m.Trim.Supported, noise),
		probe.Options{Effort: "thorough", Seed: seed, Only: []string{"cache", "page", "segment", "open", "fat"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// row is a line of the table of expected and found figures.
func row(m flash.Model, r probe.Report) string {
	s := fmt.Sprintf("%s %d MiB, page %d, block %d, %d planes, segment %d, open %d random %v, FAT %d, buffer %d, fast %d/%v; found",
		m.Map.Scheme, m.Size>>20, m.Media.Page, m.Media.Block, m.Media.Planes, m.Map.Segment, m.Map.Open, m.Map.Random, m.FAT, m.Buffer.Size, m.Fast.Size, m.Fast.Idle)
	for _, w := range expect(m) {
		if f := r.Find(w.key); f.Known() {
			s += fmt.Sprintf(" %s %g (%.2f)", w.key, f.Value, f.Confidence)
		} else {
			s += fmt.Sprintf(" %s ? (%s)", w.key, f.Undetermined)
		}
	}
	return s + fmt.Sprintf("; %.0f s, %d MiB written", r.Seconds, r.Written>>20)
}

func wrong(m flash.Model, r probe.Report) (out []string) {
	for _, w := range expect(m) {
		if s := w.check(r.Find(w.key)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// seeds returns 50, always the same, unless the environment overrides them.
func seeds(t *testing.T) (first, count uint64) {
	first, count = 1, 50
	if v := os.Getenv(seedsEnv); v != "" {
		if _, err := fmt.Sscanf(v, "%d,%d", &first, &count); err != nil {
			t.Fatalf("%s=%q is not FIRST,COUNT", seedsEnv, v)
		}
	}
	return first, count
}

func TestProbeRecoversRandomModels(t *testing.T) {
	first, count := seeds(t)
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			m := flashtest.Random(seed)
			r := look(t, m, virtual.Noise{}, seed)
			t.Logf("seed %d: %s", seed, row(m, r))
			for _, s := range wrong(m, r) {
				t.Error(s)
			}
		})
	}
}
