package qemu

import (
	"math"
	"slices"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Two guests, one after the other, take the same time for the same work on a chip whose delays are
// executed and not waited for.
func TestNANDRepeats(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	work := map[string]scenario.Scenario{"jffs2": machinetest.OnJffs2, "ubifs": machinetest.OnUBI}
	for candidate, steps := range work {
		at := slices.IndexFunc(steps, func(s scenario.Step) bool { return s.Work == "power-loss" })
		steps = slices.Insert(slices.Clone(steps), at,
			scenario.Step{Work: "settle", Phase: "settled", Count: 2},
			scenario.Step{Work: "stream-write", Phase: "video", Data: data[1].Name, Dir: "streams", Count: 2})
		steps[at+2].Phase = "loss"
		work[candidate] = steps
	}
	var runs [2]map[string]machinetest.Trial
	for i := range runs {
		start := time.Now()
		s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:128M", Data: data, Instructions: true})
		t.Logf("up after %.1f s", time.Since(start).Seconds())
		if !machinetest.HasCondition(s.Facts().Conditions, "busy waiting") {
			t.Error("the kernel pauses while it waits, which takes forty times as long")
		}
		runs[i] = map[string]machinetest.Trial{}
		for _, candidate := range []string{"jffs2", "ubifs"} { // always in this order
			runs[i][candidate] = machinetest.CarryOutOn(t, s, candidate, scenario.Variant{Name: "16M", Size: 16 << 20}, work[candidate])
			if got := runs[i][candidate]; got.Done.Outcome != result.Done {
				t.Fatalf("%+v", got.Done)
			}
		}
		_ = s.Close()
	}
	background := map[string][]string{"jffs2": {"fill", "settled", "loss", "compare", "unmount"}, "ubifs": {"mkfs", "loss", "unmount"}}
	for candidate, steps := range work {
		var sums [2]float64
		for _, phase := range steps.Phases() {
			a, b := runs[0][candidate].Figures[phase][result.Wall], runs[1][candidate].Figures[phase][result.Wall]
			if a.Absent != "" || b.Absent != "" {
				t.Errorf("%s, phase %s: %+v, %+v", candidate, phase, a, b)
				continue
			}
			t.Logf("%s, %s: %.6f s, %+.3f %%", candidate, phase, a.Value, 100*(b.Value-a.Value)/a.Value)
			// UBI and jffs2 erase, check and clean in threads of their own, as far as
			// the guest's processor lets them between phases, and that is the host's
			// mood: these phases wait for them, or find their work done. What is
			// written after the settling meets no more of it.
			if slices.Contains(background[candidate], phase) {
				continue
			}
			sums[0] += a.Value
			sums[1] += b.Value
			// A page that is written back early, more or less, is a millisecond.
			if apart := math.Abs(a.Value - b.Value); apart > 0.005*a.Value && apart > 4e-3 {
				t.Errorf("%s, phase %s: %.6f and %.6f s", candidate, phase, a.Value, b.Value)
			}
		}
		apart := math.Abs(sums[0]-sums[1]) / sums[0]
		if !(apart <= 0.005) {
			t.Errorf("%s, all phases: %.6f s, %.3f %% apart", candidate, sums, 100*apart)
		}
		t.Logf("%s, all phases: %.6f s, %.4f %% apart", candidate, sums[0], 100*apart)
		// The chip's contents are read, twice at least, and programmed without its delays: those
		// alone would take longer than it took.
		loss := runs[0][candidate].Figures["loss"]
		const bus, pages = 2112 * media.NANDCycle / 1000, 16 << 20 / 2048
		delays := 1e-6 * (loss[result.FlashPages].Value*(media.NANDProgramDelay+bus) + 2*pages*(media.NANDReadDelay+bus))
		if moved := loss[result.FlashPages]; moved.Absent != "" || moved.Value < 500 || loss[result.Wall].Value > delays {
			t.Errorf("%s: %+v in %.3f s, and with delays %.3f s", candidate, moved, loss[result.Wall].Value, delays)
		}
	}
}
