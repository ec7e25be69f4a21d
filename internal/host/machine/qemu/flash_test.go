package qemu

import (
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The erases and programs on a chip are known beforehand, and the counts agree: ubiformat erases
// every good block, programs the first page of each and all pages of the two that hold the volume
// table; and an image takes as many pages as it has.
func TestFlashIsCounted(t *testing.T) {
	t.Parallel()
	const blocks, bad, page = 128, 2, 2048
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M,bad=5:6", Data: machinetest.Data(t)})
	got := machinetest.CarryOutOn(t, s, "ubifs", scenario.Variant{Size: blocks * 128 << 10}, scenario.Scenario{
		{Work: "discard"},
		{Work: "layer-load"},
		{Work: "layer-format", Phase: "format"},
		{Work: "attach", Phase: "attach"},
		{Work: "volume", Phase: "volume"},
		{Work: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "tree-copy", Phase: "write", Data: machinetest.Data(t)[0].Name, Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	})
	if got.Done.Outcome != result.Done {
		t.Fatalf("%+v", got.Done)
	}
	want := func(phase, metric string, value float64) {
		t.Helper()
		if m := got.Figures[phase][metric]; m.Absent != "" || m.Value != value {
			t.Errorf("%s: %+v, want %v", phase, m, value)
		}
	}
	for _, phase := range []string{"format", "attach", "volume", "mkfs", "mount", "write", "unmount"} {
		f := got.Figures[phase]
		t.Logf("%s: %v blocks erased, %v pages programmed, %v read", phase, f[result.FlashErased].Value, f[result.FlashPages].Value, f[result.FlashPagesRead].Value)
		want(phase, result.FlashBad, bad)
		want(phase, result.ECCFailed, 0)
		if f[result.DeviceWritten].Absent == "" {
			t.Errorf("%s: traffic of a device: %+v", phase, f[result.DeviceWritten])
		}
	}
	want("format", result.FlashErased, blocks-bad)
	const tables, pages = 2, 64
	want("format", result.FlashPages, blocks-bad-tables+tables*pages)
	want("format", result.FlashProgrammed, (blocks-bad-tables+tables*pages)*page)
	want("format", result.FlashPagesRead, blocks-bad)
	want("trial", result.FlashBlocks, blocks-bad)
	want("trial", result.FlashBlock, 128<<10)
	want("trial", result.FlashCycles, 100_000)
	if m := got.Figures["trial"][result.FlashSpread]; m.Absent != "" || m.Value < 1 || m.Value > blocks {
		t.Errorf("%+v", m)
	}
	data := got.Figures["write"][result.DataBytes].Value
	if m := got.Figures["write"][result.FlashProgrammed]; m.Absent != "" || m.Value < data/4 || m.Value > 3*data {
		t.Errorf("%v bytes were written, and %+v", data, m)
	}

	// The same chip recreated: the module was unloaded, and the probes still count.
	got = machinetest.CarryOut(t, s, "jffs2@image", scenario.Scenario{
		{Work: "discard"},
		{Work: "image", Phase: "image", Data: machinetest.Data(t)[0].Name},
		{Work: "layer-load"},
		{Work: "flash", Phase: "flash"},
		{Work: "module-load"},
		{Work: "mount", Phase: "mount"},
		{Work: "tree-compare", Phase: "compare", Data: machinetest.Data(t)[0].Name},
		{Work: "power-loss"},
		{Work: "module-load"},
		{Work: "mount", Phase: "mount-unclean"},
		{Work: "unmount", Phase: "unmount"},
	})
	if got.Done.Outcome != result.Done {
		t.Fatalf("%+v", got.Done)
	}
	image := got.Figures["image"][result.ImageSize].Value
	programmed := got.Figures["flash"][result.FlashProgrammed].Value / page
	// A page of only erased bytes is skipped.
	if most := (image + page - 1) / page; programmed > most || programmed < 0.9*most {
		t.Errorf("an image of %v pages, and %v were programmed", most, programmed)
	}
	want("flash", result.FlashErased, 0)
	want("compare", result.FilesWrong, 0)
	want("compare", result.FilesMissing, 0)
	want("compare", result.FilesUnreadable, 0)
	if m := got.Figures["compare"][result.FilesWhole]; m.Value < 1 {
		t.Errorf("%+v; %v", m, got.Notes)
	}
	// The chip was replaced, and operations on it are still counted.
	if m := got.Figures["mount-unclean"][result.FlashPagesRead]; m.Absent != "" || m.Value < 64 {
		t.Errorf("after the loss of power: %+v", m)
	}
}
