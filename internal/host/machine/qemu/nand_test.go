package qemu

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// onJffs2 and onUBI are trials with a loss of power in the middle.
var (
	onJffs2 = scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "first-module"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
		{Work: "power-loss"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mount", Phase: "mount-unclean"},
		{Work: "tree-compare", Phase: "compare", Data: "tree", Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	}
	onUBI = scenario.Scenario{
		{Work: "discard"},
		{Work: "layer-load", Phase: "layer-module"},
		{Work: "layer-format", Phase: "format"},
		{Work: "attach", Phase: "first-attach"},
		{Work: "volume", Phase: "volume"},
		{Work: "module-load", Phase: "first-module"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
		{Work: "power-loss"},
		{Work: "layer-load", Phase: "layer-cold"},
		{Work: "attach", Phase: "attach-unclean"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mount", Phase: "mount-unclean"},
		{Work: "tree-compare", Phase: "compare", Data: "tree", Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	}
)

func timed(t *testing.T, s machine.Session, candidate string, v scenario.Variant, steps scenario.Scenario) trialOf {
	t.Helper()
	start := time.Now()
	got := carryOutOn(t, s, candidate, v, steps)
	t.Logf("%s %s: %v, %.1f s", candidate, v.Name, got.done, time.Since(start).Seconds())
	return got
}

// One chip after another, in one guest: no trial sees what another one did to its chip.
func TestNAND(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M", Data: machinetest.Data(t)})
	for _, name := range []string{"lab storage", "chip size", "page program", "error correction", "chip driver", "chip in a trial", "flushes"} {
		if !hasCondition(s.Ready().Conditions, name) {
			t.Errorf("no condition %q: %v", name, s.Ready().Conditions)
		}
	}
	whole := func(got trialOf) {
		t.Helper()
		if got.done.Outcome != result.Done {
			t.Fatalf("%+v", got.done)
		}
		f := got.figures["compare"]
		if f[result.FilesWhole].Value == 0 || f[result.FilesWrong].Value+f[result.FilesUnreadable].Value+f[result.FilesMissing].Value != 0 {
			t.Errorf("after the power was lost: %v", f)
		}
	}
	whole(timed(t, s, "jffs2", scenario.Variant{}, onJffs2))
	whole(timed(t, s, "ubifs", scenario.Variant{Name: "16M", Size: 16 << 20}, onUBI))
	// Blocks that are bad from the factory are skipped, and are bad again on
	// the chip that takes the other one's place.
	whole(timed(t, s, "ubifs", scenario.Variant{Name: "bad", Size: 16 << 20, Chip: "bad=3:40"}, onUBI))

	for name, c := range map[string]struct {
		candidate string
		v         scenario.Variant
		steps     scenario.Scenario
		outcome   result.Outcome
		says      string
	}{
		"odd":          {"jffs2", scenario.Variant{Size: 1<<20 + 1}, onJffs2, result.Refused, "is not a multiple of the chip's erase blocks"},
		"large":        {"jffs2", scenario.Variant{Size: 128 << 20}, onJffs2, result.Refused, "does not fit on a chip of 64M"},
		"misspelt":     {"jffs2", scenario.Variant{Chip: "bed=1"}, onJffs2, result.Refused, "unknown option"},
		"part":         {"jffs2", scenario.Variant{Part: &scenario.Part{Length: 0.5}}, onJffs2, result.Refused, "parts of a block device"},
		"block":        {"ext4", scenario.Variant{}, short, result.Refused, "raw flash"},
		"all bad":      {"jffs2", scenario.Variant{Size: 8 << 20, Chip: "bad=0-63"}, onJffs2, result.Refused, "0 are available"},
		"all bad, UBI": {"ubifs", scenario.Variant{Size: 8 << 20, Chip: "bad=0-63"}, onUBI, result.SubjectFailed, "all 64 eraseblocks are bad"},
		"small":        {"ubifs", scenario.Variant{Size: 8 * 128 << 10}, onUBI, result.SubjectFailed, "UBI has no free block"},
	} {
		c.v.Name = name
		got := timed(t, s, c.candidate, c.v, c.steps)
		if got.done.Outcome != c.outcome || !strings.Contains(got.done.Reason, c.says) {
			t.Errorf("%s: %+v", name, got.done)
		}
	}
	// None of them has left anything behind.
	whole(timed(t, s, "jffs2", scenario.Variant{}, onJffs2))
}

// Two guests, one after the other, take the same time for the same work on a chip whose delays are
// executed and not waited for.
func TestNANDRepeats(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	work := map[string]scenario.Scenario{"jffs2": onJffs2, "ubifs": onUBI}
	for candidate, steps := range work {
		at := slices.IndexFunc(steps, func(s scenario.Step) bool { return s.Work == "power-loss" })
		steps = slices.Insert(slices.Clone(steps), at,
			scenario.Step{Work: "settle", Phase: "settled", Count: 2},
			scenario.Step{Work: "stream-write", Phase: "video", Data: data[1].Name, Dir: "streams", Count: 2})
		steps[at+2].Phase = "loss"
		work[candidate] = steps
	}
	var runs [2]map[string]trialOf
	for i := range runs {
		start := time.Now()
		s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:128M", Data: data, Instructions: true})
		t.Logf("up after %.1f s", time.Since(start).Seconds())
		if !hasCondition(s.Facts().Conditions, "busy waiting") {
			t.Error("the kernel pauses while it waits, which takes forty times as long")
		}
		runs[i] = map[string]trialOf{}
		for _, candidate := range []string{"jffs2", "ubifs"} { // always in this order
			runs[i][candidate] = timed(t, s, candidate, scenario.Variant{Name: "16M", Size: 16 << 20}, work[candidate])
			if got := runs[i][candidate]; got.done.Outcome != result.Done {
				t.Fatalf("%+v", got.done)
			}
		}
		_ = s.Close()
	}
	background := map[string][]string{"jffs2": {"fill", "settled", "loss", "compare", "unmount"}, "ubifs": {"mkfs", "loss", "unmount"}}
	for candidate, steps := range work {
		var sums [2]float64
		for _, phase := range steps.Phases() {
			a, b := runs[0][candidate].figures[phase][result.Wall], runs[1][candidate].figures[phase][result.Wall]
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
		// The chip's contents are read and programmed without its delays: those
		// alone would take longer than it took.
		loss := runs[0][candidate].figures["loss"]
		const bus, pages = 2112 * media.NANDCycle / 1000, 16 << 20 / 2048
		delays := 1e-6 * (loss[result.FlashPages].Value*(media.NANDProgramDelay+bus) + pages*(media.NANDReadDelay+bus))
		if moved := loss[result.FlashPages]; moved.Absent != "" || moved.Value < 500 || loss[result.Wall].Value > delays {
			t.Errorf("%s: %+v in %.3f s, and with delays %.3f s", candidate, moved, loss[result.Wall].Value, delays)
		}
	}
}
