package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// worn gives every phase of a trial the figures of simulated flash: the same
// work, with the bytes programmed multiplied.
func worn(times map[string]float64) func(*result.Trial) {
	return func(t *result.Trial) {
		var more []result.Measurement
		add := func(phase, metric string, v float64, unit string) {
			more = append(more, result.Measurement{Phase: phase, Metric: metric, Value: v, Unit: unit})
		}
		k, simulated := times[t.Candidate]
		if !simulated {
			return
		}
		for _, m := range t.Measurements {
			if m.Metric != result.Wall || m.Absent != "" {
				continue
			}
			add(m.Phase, result.FlashWritten, 10e6, "B")
			add(m.Phase, result.FlashProgrammed, 10e6*k, "B")
			add(m.Phase, result.FlashErased, 200, "1")
			add(m.Phase, result.FlashMerges, 1, "1")
		}
		for metric, v := range map[string]float64{result.FlashSpread: 2, result.FlashBlocks: 1000, result.FlashBlock: 4 << 20, result.FlashCycles: 3000} {
			unit := "1"
			if metric == result.FlashBlock {
				unit = "B"
			}
			add("trial", metric, v, unit)
		}
		add("precondition", result.FlashProgrammed, 1e12, "B")
		t.Measurements = append(t.Measurements, more...)
	}
}

func TestWear(t *testing.T) {
	f := fake{candidates: []string{"ext4", "f2fs", "erofs"}, rounds: 3, noise: 0.01, seed: 1,
		factor: map[string]map[string]float64{"ext4": everywhere(2)},
		change: worn(map[string]float64{"ext4": 1.5, "f2fs": 4.5, "erofs": 1})}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Wear == nil || len(v.Wear.Rows) != 3 || v.Wear.Daily != DefaultDaily {
		t.Fatalf("%+v", v.Wear)
	}
	if last := v.Wear.Rows[2].Candidate; last != "erofs" { // it is written once
		t.Errorf("%s is last", last)
	}
	e := v.Wear.Rows[0]
	// 17 phases of a read-write trial are timed; clone is absent and mkfs is not
	// part of the work, which writes 90 MB in four of them, fill included.
	phases := 0.0
	for _, m := range trials[0].Measurements {
		if trials[0].Candidate == "ext4" && m.Metric == result.FlashWritten && m.Phase != "mkfs" {
			phases++
		}
	}
	if e.Candidate != "ext4" || e.Sent.Estimate.Value != phases*10e6 || e.Programmed.Estimate.Value != phases*15e6 || e.Erased.Estimate.Value != phases*200 {
		t.Errorf("over %v phases: %+v", phases, e)
	}
	if e.Data.Estimate.Value != 4*90e6 || e.Device.Estimate.Value != 1.5 || math.Abs(e.Total.Estimate.Value-phases*15e6/360e6) > 1e-9 {
		t.Errorf("%+v", e)
	}
	want := 3000 * 1000 * float64(4<<20) / (2 * e.Total.Estimate.Value * DefaultDaily * 365.25)
	if got := e.Years.Estimate.Value; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%v years, want %v", got, want)
	}
	v.Wear.SetDaily(DefaultDaily / 2)
	if got := v.Wear.Rows[0].Years.Estimate.Value; math.Abs(got/want-2) > 1e-9 {
		t.Errorf("%v years at half the volume, want %v", got, 2*want)
	}
	// Of a slice of a card the years are those of the card, and of a few erases none.
	run.Storage = "sim:sd-basic,1G"
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil || math.Abs(v.Wear.Rows[0].Years.Estimate.Value/want-30436.0/1024) > 1e-9 {
		t.Errorf("%+v, %v, want %v", v.Wear.Rows[0].Years, err, want)
	}
	run.Storage = "sim:./card.toml,1G"
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil || !strings.Contains(v.Wear.Rows[0].Years.Absent, "size of the whole card") {
		t.Errorf("%+v, %v", v.Wear.Rows[0].Years, err)
	}
	few := slices.Clone(trials)
	for i := range few {
		few[i].Measurements = slices.Clone(few[i].Measurements)
		for k := range few[i].Measurements {
			if m := &few[i].Measurements[k]; m.Metric == result.FlashErased {
				m.Value = 2
			}
		}
	}
	run.Storage = "disk:1G"
	short, err := Compute(run, nil, few, st, Beside{})
	if err != nil || !strings.Contains(short.Wear.Rows[0].Years.Absent, "too short") {
		t.Errorf("%+v, %v", short.Wear.Rows[0].Years, err)
	}
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil {
		t.Fatal(err)
	}
	if y := v.Wear.Rows[2].Years; !strings.Contains(y.Absent, "read-only") {
		t.Errorf("a read-only filesystem lives %+v", y)
	}
	// f2fs is recommended here, and wears the flash three times as much.
	if !hasReason(v, "Wear: f2fs programs 3.0× as much as ext4 for the same work") {
		t.Errorf("reasons %q", v.Uses[0].Reasons)
	}
}

func hasReason(v Verdict, text string) bool {
	for _, u := range v.Uses {
		if strings.Contains(strings.Join(u.Reasons, "\n"), text) {
			return true
		}
	}
	return false
}

// Without simulated storage there is no section, and a figure that one
// candidate lacks is absent with its reason, and not zero.
func TestWearAbsent(t *testing.T) {
	f := fake{candidates: []string{"ext4", "f2fs"}, rounds: 2, seed: 1}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil || v.Wear != nil || hasReason(v, "Wear") {
		t.Errorf("%+v, %v", v.Wear, err)
	}
	v.Wear.SetDaily(1) // of nothing
	f.change = worn(map[string]float64{"ext4": 1})
	run, trials, st = f.make()
	for i := range trials {
		for k := range trials[i].Measurements {
			if m := &trials[i].Measurements[k]; m.Metric == result.FlashErased && m.Phase == "write" {
				m.Absent, m.Value = "the counters were lost", 0
			}
			if m := &trials[i].Measurements[k]; m.Metric == result.FlashCycles {
				m.Value = 0
			}
		}
	}
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil || v.Wear == nil {
		t.Fatal(v.Wear, err)
	}
	ext4, f2fs := v.Wear.Rows[0], v.Wear.Rows[1]
	if ext4.Erased.Absent != "the counters were lost" || !strings.Contains(ext4.Years.Absent, "how often a block can be erased") {
		t.Errorf("%+v", ext4)
	}
	for _, x := range []Figure{f2fs.Programmed, f2fs.Sent, f2fs.Device, f2fs.Total, f2fs.Spread, f2fs.Years} {
		if x.Absent == "" {
			t.Errorf("f2fs has %+v", x)
		}
	}
	if hasReason(v, "Wear") {
		t.Error("a reason without a figure to compare with")
	}
}

// Raw flash programs exactly what it is sent; blocks erased with little in them
// count whole for the years.
func TestWearRaw(t *testing.T) {
	f := fake{candidates: []string{"ext4", "f2fs"}, rounds: 2, seed: 1, change: func(t *result.Trial) {
		var more []result.Measurement
		for _, m := range t.Measurements {
			if m.Metric != result.Wall {
				continue
			}
			add := func(metric string, v float64, unit string) {
				more = append(more, result.Measurement{Phase: m.Phase, Metric: metric, Value: v, Unit: unit})
			}
			add(result.FlashPages, 1000, "1")
			add(result.FlashProgrammed, 2_048_000, "B")
			add(result.FlashErased, 100, "1")
			add(result.FlashPagesRead, 7, "1")
		}
		for metric, v := range map[string]float64{result.FlashSpread: 2, result.FlashBlocks: 512, result.FlashBlock: 128 << 10, result.FlashCycles: 100_000} {
			more = append(more, result.Measurement{Phase: "trial", Metric: metric, Value: v})
		}
		t.Measurements = append(t.Measurements, more...)
	}}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil || v.Wear == nil || !v.Wear.Raw || !strings.Contains(v.Wear.About, "NAND core") {
		t.Fatalf("%+v, %v", v.Wear, err)
	}
	r := v.Wear.Rows[0]
	if r.Sent.Absent == "" || r.Device.Absent == "" || r.Merges.Absent == "" || r.PagesRead.Absent != "" || r.PagesRead.Estimate.Value <= 0 {
		t.Errorf("%+v", r)
	}
	erased := r.Erased.Estimate.Value * (128 << 10) / r.Data.Estimate.Value
	if erased <= r.Total.Estimate.Value {
		t.Fatalf("%v bytes erased and %v programmed for each written", erased, r.Total.Estimate.Value)
	}
	want := 100_000 * 512 * float64(128<<10) / (2 * erased * DefaultDaily * 365.25)
	if got := r.Years.Estimate.Value; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%v years, want %v", got, want)
	}
}
