package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// One chip after another, in one guest: no trial sees what another one did to its chip.
func TestNAND(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M", Data: machinetest.Data(t)})
	for _, name := range []string{"lab storage", "chip size", "page program", "error correction", "chip driver", "chip in a trial", "flushes"} {
		if !machinetest.HasCondition(s.Ready().Conditions, name) {
			t.Errorf("no condition %q: %v", name, s.Ready().Conditions)
		}
	}
	whole := func(got machinetest.Trial) {
		t.Helper()
		if got.Done.Outcome != result.Done {
			t.Fatalf("%+v", got.Done)
		}
		f := got.Figures["compare"]
		if f[result.FilesWhole].Value == 0 || f[result.FilesWrong].Value+f[result.FilesUnreadable].Value+f[result.FilesMissing].Value != 0 {
			t.Errorf("after the power was lost: %v", f)
		}
	}
	whole(machinetest.CarryOutOn(t, s, "jffs2", scenario.Variant{}, machinetest.OnJffs2))
	whole(machinetest.CarryOutOn(t, s, "ubifs", scenario.Variant{Name: "16M", Size: 16 << 20}, machinetest.OnUBI))
	// Blocks that are bad from the factory are skipped, and are bad again on
	// the chip that takes the other one's place.
	whole(machinetest.CarryOutOn(t, s, "ubifs", scenario.Variant{Name: "bad", Size: 16 << 20, Chip: "bad=3:40"}, machinetest.OnUBI))

	for name, c := range map[string]struct {
		candidate string
		v         scenario.Variant
		steps     scenario.Scenario
		outcome   result.Outcome
		says      string
	}{
		"odd":          {"jffs2", scenario.Variant{Size: 1<<20 + 1}, machinetest.OnJffs2, result.Refused, "is not a multiple of the chip's erase blocks"},
		"large":        {"jffs2", scenario.Variant{Size: 128 << 20}, machinetest.OnJffs2, result.Refused, "does not fit on a chip of 64M"},
		"misspelt":     {"jffs2", scenario.Variant{Chip: "bed=1"}, machinetest.OnJffs2, result.Refused, "unknown option"},
		"part":         {"jffs2", scenario.Variant{Part: &scenario.Part{Length: 0.5}}, machinetest.OnJffs2, result.Refused, "parts of a block device"},
		"block":        {"ext4", scenario.Variant{}, short, result.Refused, "raw flash"},
		"all bad":      {"jffs2", scenario.Variant{Size: 8 << 20, Chip: "bad=0-63"}, machinetest.OnJffs2, result.Refused, "0 are available"},
		"all bad, UBI": {"ubifs", scenario.Variant{Size: 8 << 20, Chip: "bad=0-63"}, machinetest.OnUBI, result.SubjectFailed, "all 64 eraseblocks are bad"},
		"small":        {"ubifs", scenario.Variant{Size: 8 * 128 << 10}, machinetest.OnUBI, result.SubjectFailed, "UBI has no free block"},
	} {
		c.v.Name = name
		got := machinetest.CarryOutOn(t, s, c.candidate, c.v, c.steps)
		if got.Done.Outcome != c.outcome || !strings.Contains(got.Done.Reason, c.says) {
			t.Errorf("%s: %+v", name, got.Done)
		}
	}
	// None of them has left anything behind.
	whole(machinetest.CarryOutOn(t, s, "jffs2", scenario.Variant{}, machinetest.OnJffs2))
}
