package usermode

import (
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Bit flips are corrected, and pages that lose their contents damage files: both are found, and
// neither ends the trial.
func TestFlashDamageIsFound(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M", Data: machinetest.Data(t)})
	tree := machinetest.Data(t)[0].Name
	const size = 8 << 20
	for _, chip := range []string{"bitflips=1", "grave=3100/1:3300/1:3500/1:3700/1:3900/1"} {
		got := machinetest.CarryOutOn(t, s, "jffs2 -o compr=none", scenario.Variant{Size: size, Chip: chip}, scenario.Scenario{
			{Work: "discard"},
			{Work: "layer-load"},
			{Work: "module-load", Phase: "module-load"},
			{Work: "mount", Phase: "first-mount"},
			{Work: "fill-size", Phase: "fill", Data: tree, Dir: "root", Share: 0.25},
			{Work: "power-loss"},
			{Work: "layer-load"},
			{Work: "mount", Phase: "mount"},
			{Work: "tree-compare", Phase: "compare", Data: tree, Dir: "root"},
			{Work: "unmount", Phase: "unmount"},
		})
		if got.Done.Outcome != result.Done {
			t.Fatalf("%q: %+v", chip, got.Done)
		}
		f := got.Figures["compare"]
		value := func(metric string) float64 { return f[metric].Value }
		damaged := value(result.FilesWrong) + value(result.FilesUnreadable) + value(result.FilesMissing)
		t.Logf("%s: bits corrected %v, reads not %v; files whole %v, damaged %v", chip,
			value(result.ECCCorrected), value(result.ECCFailed), value(result.FilesWhole), damaged)
		if m := got.Figures["fill"][result.DataBytes]; m.Value > size/4 || m.Value < size/5 {
			t.Errorf("%+v of a quarter of %d", m, size)
		}
		if value(result.FilesWhole) == 0 || f[result.MountReadOnly].Absent != "" {
			t.Errorf("%s: %+v", chip, f)
		}
		beyond := chip != "bitflips=1"
		if (damaged > 0) != beyond || (value(result.ECCFailed) > 0) != beyond {
			t.Errorf("%s: %v reads could not be corrected, %v files are damaged: %v", chip, value(result.ECCFailed), damaged, got.Notes)
		}
	}
}
