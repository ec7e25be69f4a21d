package usermode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// rawCandidates must work on a raw chip, each by its way.
var rawCandidates = []string{
	"jffs2", "jffs2 -o compr=lzo", "jffs2@image", "jffs2@image+summary -x zlib",
	"ubifs", "ubifs -x zstd", "ubifs -o compr=zlib",
	"squashfs", "squashfs@ubiblock -comp lzo", "erofs@ubiblock -zlz4hc,12", "squashfs@gluebi -comp lzo",
}

// layers are the steps down to the chip and up again, as at a boot.
var layers = scenario.Scenario{
	{Work: "layer-down"},
	{Work: "layer-load", Phase: "layer"},
	{Work: "attach", Phase: "attach", Only: "ubi"},
	{Work: "module-load", Phase: "module-load"},
}

var rawInPlace = slices.Concat(scenario.Scenario{
	{Work: "discard"},
	{Work: "layer-load", Phase: "first-layer"},
	{Work: "layer-format", Phase: "format", Only: "ubi"},
	{Work: "attach", Phase: "first-attach", Only: "ubi"},
	{Work: "volume", Phase: "volume", Only: "ubi"},
	{Work: "module-load", Phase: "first-module"},
	{Work: "mkfs", Phase: "mkfs"},
	{Work: "mount", Phase: "first-mount"},
	{Work: "space", Phase: "space-empty"},
	{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
	{Work: "space", Phase: "space-filled"},
	{Work: "unmount", Phase: "settle-unmount"},
}, layers, scenario.Scenario{
	{Work: "mount", Phase: "mount"},
	{Work: "tree-read", Phase: "read", Data: "tree", Dir: "root"},
	{Work: "power-loss", Only: "chip"},
	{Work: "layer-load"},
	{Work: "attach", Phase: "attach-unclean", Only: "ubi"},
	{Work: "module-load"},
	{Work: "mount", Phase: "mount-unclean"},
	{Work: "tree-read", Phase: "read-again", Data: "tree", Dir: "root"},
	{Work: "tree-remove", Phase: "remove", Dir: "root"},
	{Work: "stream-write", Phase: "video", Data: "stream"},
	{Work: "unmount", Phase: "unmount"},
})

var rawAsImage = slices.Concat(scenario.Scenario{
	{Work: "discard"},
	{Work: "image", Phase: "image", Data: "tree"},
	{Work: "layer-load", Phase: "first-layer"},
	{Work: "layer-format", Phase: "format", Only: "ubi"},
	{Work: "attach", Phase: "first-attach", Only: "ubi"},
	{Work: "volume", Phase: "volume", Only: "ubi"},
	{Work: "flash", Phase: "flash"},
}, layers, scenario.Scenario{
	{Work: "layer-block", Phase: "block"},
	{Work: "mount", Phase: "mount"},
	{Work: "space", Phase: "space"},
	{Work: "tree-read", Phase: "read", Data: "tree"},
	{Work: "unmount", Phase: "unmount"},
	{Work: "layer-down", Phase: "down"},
})

// theRawLab is a session on a simulated chip of 64 MiB.
func theRawLab(t *testing.T, options string) machine.Session {
	t.Helper()
	data := machinetest.Data(t)
	return begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M" + options, Data: data})
}

// Everything for raw flash is tried in one guest, in every way, and every layer is set up from
// scratch each time.
func TestEveryRawCandidate(t *testing.T) {
	t.Parallel()
	s := theRawLab(t, "")
	support, err := s.Support(t.Context(), parsed.Candidates(append([]string{"ext4"}, rawCandidates...)...))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	if c := support.Candidates[0]; c.Outcome != result.Refused || !strings.Contains(c.Hint, "jffs2 and ubifs") {
		t.Errorf("ext4 on raw flash: %+v", c)
	}
	for i, line := range rawCandidates {
		t.Run(strings.ReplaceAll(line, " ", "_"), func(t *testing.T) {
			if c := support.Candidates[i+1]; c.Reason != "" {
				t.Errorf("not supported: %s: %s", c.Outcome, c.Reason)
			}
			c, err := filesystem.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			plan := rawInPlace
			if c.Imaged() {
				plan = rawAsImage
			}
			checkRaw(t, c, machinetest.CarryOut(t, s, line, plan))
		})
	}
}

// What has no driver in this kernel is reported with the module that it needs.
func TestDriversOutsideTheKernel(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:16M"})
	support, err := s.Support(t.Context(), parsed.Candidates("yaffs2", "logfs", "ext4"))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	for i, want := range []struct{ reason, hint string }{
		{"this kernel has no driver for YAFFS2 (it was never part of the mainline kernel)", "--module yaffs2.ko, built for kernel 6.1."},
		{"this kernel has no driver for LogFS (it came with Linux 2.6.34 and was removed in 4.10)", "--module logfs.ko, built for kernel 6.1."},
		{"ext4 needs a block device", "jffs2"},
	} {
		if c := support.Candidates[i]; !strings.Contains(c.Reason, want.reason) || !strings.Contains(c.Hint, want.hint) ||
			(c.Outcome == result.Unsupported) != (i < 2) {
			t.Errorf("%+v", c)
		}
	}
}

// rawAbsent are the impossible phases of a candidate, with the reason.
func rawAbsent(c filesystem.Candidate) map[string]string {
	way, _ := c.OnFlash()
	title := c.Filesystem().Title
	absent := map[string]string{"image": machinetest.OwnWork}
	if !way.UBI() {
		for _, phase := range []string{"format", "first-attach", "volume", "attach", "attach-unclean"} {
			absent[phase] = "there is no UBI below it"
		}
	}
	if !way.UBI() && !way.Block() {
		for _, phase := range []string{"first-layer", "layer"} {
			absent[phase] = title + " works on the chip itself"
		}
	}
	switch {
	case way.MTDBlock():
		absent["block"] = "the block device of an MTD device comes with its module"
	case !way.Block():
		absent["block"] = title + " needs no block device"
	}
	return absent
}

func checkRaw(t *testing.T, c filesystem.Candidate, got machinetest.Trial) {
	t.Helper()
	if d := got.Done; d.Outcome != result.Done {
		t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
	}
	absent := rawAbsent(c)
	for _, phase := range got.Scenario.Phases() {
		m, ok := got.Figures[phase][result.Wall]
		switch {
		case !ok:
			t.Errorf("phase %s has no wall time and no reason why not", phase)
		case m.Absent != absent[phase]:
			t.Errorf("phase %s is absent with the reason %q, want %q", phase, m.Absent, absent[phase])
		case m.Absent == "" && m.Value <= 0:
			t.Errorf("phase %s took %v s", phase, m.Value)
		}
		t.Logf("%-14s %8.3f s %s", phase, m.Value, m.Absent)
	}
	for _, phase := range []string{"layer", "module-load"} {
		if absent[phase] == "" {
			machinetest.CheckModule(t, got.Figures[phase])
		}
	}
	// Its driver requests zstd by itself, which would start programs while it is
	// timed: it is loaded before it, and counted.
	if n := got.Figures["module-load"][result.ModuleCount].Value; c.FS == "ubifs" && n < 3 {
		t.Errorf("%v modules were loaded for ubifs", n)
	}
	machinetest.CheckOptions(t, c, got.Options)
	way, _ := c.OnFlash()
	if scanned := slices.ContainsFunc(got.Notes, func(n result.Note) bool {
		return n.Phase == "attach" && n.Text == "UBI attached the chip by reading the headers of all blocks"
	}); scanned != way.UBI() {
		t.Errorf("of how UBI attached: %v", got.Notes)
	}
	for _, n := range got.Notes {
		// The simulated chip itself logs messages when it is made.
		if n.Level == result.Warning && n.Phase != "discard" && n.Phase != "power-loss" && !slices.ContainsFunc(warnedRaw, func(known string) bool { return strings.Contains(n.Text, known) }) {
			t.Errorf("warning in phase %q: %s", n.Phase, n.Text)
		}
	}
	if space := got.Figures["space-filled"]; space != nil && space[result.SpaceUsed].Value <= got.Figures["space-empty"][result.SpaceUsed].Value {
		t.Errorf("used space is %v filled and %v empty", space[result.SpaceUsed], got.Figures["space-empty"][result.SpaceUsed])
	}
}

// warnedRaw are the warnings that drivers log each time.
var warnedRaw = []string{
	"please consider using UBI block devices instead", // mtdblock, of NAND
}

// Impossible candidates are reported, and leave the chip usable for the next trial.
func TestRawRefusals(t *testing.T) {
	t.Parallel()
	s := theRawLab(t, "")
	ubi := scenario.Scenario{
		{Work: "discard"}, {Work: "layer-load"}, {Work: "layer-format"}, {Work: "attach", Phase: "attach"},
	}
	for _, x := range []struct {
		name, candidate string
		variant         scenario.Variant
		plan            scenario.Scenario
		outcome         result.Outcome
		phase, reason   string
	}{
		{"attached twice", "ubifs", scenario.Variant{}, append(slices.Clone(ubi), scenario.Step{Work: "attach", Phase: "again"}),
			result.Refused, "again", "mtd0 is attached to ubi0 already"},
		{"fastmap", "ubifs@ubi+fastmap", scenario.Variant{}, ubi, result.Unsupported, "layer-load", "keeps no fastmap"},
		{"fastmap for an image", "squashfs@ubiblock+fastmap", scenario.Variant{}, ubi, result.Unsupported, "layer-load", "keeps no fastmap"},
		{"too small for UBI", "squashfs@ubiblock", scenario.Variant{Size: 384 << 10}, ubi,
			result.SubjectFailed, "attach", "no enough physical eraseblocks"},
		{"far too small for ubifs", "ubifs", scenario.Variant{Size: 384 << 10}, ubi, result.Refused, "storage", "ubifs needs at least 416 KiB"},
		{"all blocks bad, below UBI", "ubifs", scenario.Variant{Size: 1 << 20, Chip: "bad=0:1:2:3:4:5:6:7"}, ubi, result.SubjectFailed, "layer-format", ""},
		{"all blocks bad, below jffs2", "jffs2", scenario.Variant{Size: 1 << 20, Chip: "bad=0:1:2:3:4:5:6:7"},
			scenario.Scenario{{Work: "discard"}, {Work: "module-load"}, {Work: "mount", Phase: "mount"}, {Work: "space"}, {Work: "tree-copy", Data: "tree", Phase: "fill"}},
			result.Refused, "fill", "0 are available"},
		{"all blocks bad, below squashfs", "squashfs", scenario.Variant{Size: 1 << 20, Chip: "bad=0:1:2:3:4:5:6:7"}, rawAsImage,
			result.Refused, "flash", "does not fit into the good blocks"},
		{"too small for a volume", "ubifs", scenario.Variant{Size: 1 << 20}, append(slices.Clone(ubi), scenario.Step{Work: "volume", Phase: "volume"}),
			result.SubjectFailed, "volume", "UBI has no free block for a volume: of 8 blocks it reserves 4 for bad ones"},
		{"too small for ubifs", "ubifs", scenario.Variant{Size: 4 << 20},
			append(slices.Clone(ubi), scenario.Step{Work: "volume"}, scenario.Step{Work: "module-load"}, scenario.Step{Work: "mkfs", Phase: "mkfs"}),
			result.SubjectFailed, "mkfs", "too many log LEBs"},
		{"too small for jffs2", "jffs2", scenario.Variant{Size: 512 << 10},
			scenario.Scenario{{Work: "discard"}, {Work: "module-load"}, {Work: "mount", Phase: "mount"}},
			result.SubjectFailed, "mount", "Too few erase blocks (4)"},
		{"no volume", "ubifs", scenario.Variant{}, append(slices.Clone(ubi), scenario.Step{Work: "module-load"}, scenario.Step{Work: "mount", Phase: "mount"}),
			result.Refused, "mount", "there is no UBI volume to mount"},
		{"taken down while mounted", "jffs2", scenario.Variant{},
			scenario.Scenario{{Work: "discard"}, {Work: "module-load"}, {Work: "mount"}, {Work: "layer-down", Phase: "down"}},
			result.Refused, "down", "below a mounted filesystem"},
		{"an image that is too large", "squashfs", scenario.Variant{Size: 128 << 10},
			scenario.Scenario{{Work: "discard"}, {Work: "image", Data: "tree"}, {Work: "layer-load"}, {Work: "flash", Phase: "flash"}},
			result.Refused, "flash", "the image has"},
		{"not on raw flash", "ext4", scenario.Variant{}, ubi, result.Refused, "", "needs a block device"},
		// mtdblock does not handle bad blocks, and nandwrite skips them:
		// data after one is not where squashfs expects it.
		{"a bad block below squashfs", "squashfs -noD -noI -noF", scenario.Variant{Chip: "bad=1"}, rawAsImage, result.SubjectFailed, "mount", ""},
		// UBI does not use it, and jffs2 skips it.
		{"a bad block below UBI", "squashfs@ubiblock -noD -noI -noF", scenario.Variant{Chip: "bad=1"}, rawAsImage, result.Done, "", ""},
		{"a bad block below jffs2", "jffs2@image -m none", scenario.Variant{Chip: "bad=1"}, rawAsImage, result.Done, "", ""},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "_"), func(t *testing.T) {
			d, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate(x.candidate), Variant: x.variant, Scenario: x.plan, StepLimit: wait.Patience.Seconds()}, machine.Events{})
			if err != nil {
				t.Fatal(machinetest.Explain(err))
			}
			t.Logf("%s in %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
			if d.Outcome != x.outcome || d.Phase != x.phase && x.phase != "mount" || !strings.Contains(d.Reason, x.reason) {
				t.Errorf("%s in phase %q: %s, want %s in %q: %s", d.Outcome, d.Phase, d.Reason, x.outcome, x.phase, x.reason)
			}
		})
	}
}

// A summary of each erase block reduces what a mount has to read: all of an image without, the ends
// of its blocks with one.
func TestJffs2Summary(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:64M", Data: machinetest.Data(t)})
	plan := scenario.Scenario{
		{Work: "discard"},
		{Work: "image", Phase: "image", Data: "tree", Share: 0.25},
		{Work: "flash"},
		{Work: "module-load"},
		{Work: "mount", Phase: "mount"},
		{Work: "unmount"},
	}
	mount := map[string]float64{}
	for _, line := range []string{"jffs2@image -m none", "jffs2@image+summary -m none"} {
		got := machinetest.CarryOut(t, s, line, plan)
		if got.Done.Outcome != result.Done {
			t.Fatalf("%s: %+v", line, got.Done)
		}
		mount[line] = got.Figures["mount"][result.Wall].Value
		t.Logf("%s: image of %.1f MiB, mounted in %.3f s", line, got.Figures["image"][result.ImageSize].Value/(1<<20), mount[line])
	}
	if plain, summary := mount["jffs2@image -m none"], mount["jffs2@image+summary -m none"]; plain < 1.5*summary {
		t.Errorf("%.3f s without and %.3f s with summary", plain, summary)
	}
}

// rawDatesScript dates a file on a filesystem for raw flash, and reads the date back after
// unmounting and mounting.
// Half of a small chip stays while the other half is rewritten: what levels the wear moves it. The
// erases that the chip shows are those that UBI counts itself.
func TestWear(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "nand:8M", Data: []scenario.Data{dataset.Stream("stream", 256<<10, 1)}})
	plan := scenario.Scenario{
		{Work: "discard"},
		{Work: "layer-load"},
		{Work: "layer-format", Only: "ubi"},
		{Work: "attach", Only: "ubi"},
		{Work: "volume", Only: "ubi"},
		{Work: "module-load"},
		{Work: "mkfs"},
		{Work: "mount"},
		{Work: "stream-write", Data: "stream", Dir: "stays", Count: 16},
		{Work: "wear", Phase: "wear", Data: "stream", Dir: "again", Count: 2000},
		{Work: "unmount"},
	}
	for _, line := range []string{"jffs2 -o compr=none", "ubifs"} {
		got := machinetest.CarryOut(t, s, line, plan)
		if d := got.Done; d.Outcome != result.Done {
			t.Fatalf("%s: %s in phase %s: %s (%s)", line, d.Outcome, d.Phase, d.Reason, d.Hint)
		}
		figure := func(metric string) float64 {
			m, ok := got.Figures["wear"][metric]
			if !ok || m.Absent != "" {
				t.Errorf("%s: %s: %+v", line, metric, m)
			}
			return m.Value
		}
		most, mean, untouched, erased := figure(result.FlashMost), figure(result.FlashMean), figure(result.FlashUntouched), figure(result.FlashErased)
		t.Logf("%s: %v erases, %.1f of a block, %v at most, %v blocks untouched", line, erased, mean, most, untouched)
		// 500 MiB were written to 64 blocks of 128 KiB, 32 of which stay without levelling.
		if mean < 60 || erased != 64*mean || untouched > 8 || most < mean || most > 2*mean {
			t.Errorf("%s: %v erases, %v of a block, %v at most, %v blocks untouched", line, erased, mean, most, untouched)
		}
		if line != "ubifs" {
			continue
		}
		counted := 0.0
		for _, n := range got.Notes {
			_, _ = fmt.Sscanf(n.Text, "by UBI's own counters, its most worn block was erased %f times", &counted)
		}
		if counted < most || counted > most+3 { // it was also formatted, and written to before
			t.Errorf("UBI counts %v erases of its most worn block, and the chip %v", counted, most)
		}
	}
}

const rawDatesScript = `modprobe nandsim id_bytes=0x20,0xa2,0x00,0x15; modprobe -a jffs2 ubi ubifs; mkdir -p /tmp/m
try() { n=$1 fs=$2 from=$3 years=$4; mount -t $fs $from /tmp/m; for y in $years; do : >/tmp/m/$y; touch -d "$y-01-15 UTC" /tmp/m/$y; done
umount /tmp/m; echo 3 >/proc/sys/vm/drop_caches; mount -t $fs $from /tmp/m; echo "RESULT $n $(for y in $years; do stat -c %y /tmp/m/$y | cut -d- -f1; done | tr '\n' ' ')"; umount /tmp/m; }
try jffs2 jffs2 mtd0 "2106 2107"
ubiformat -q -y /dev/mtd0; ubiattach -m 0; ubimkvol /dev/ubi0 -N d -m; mkfs.ubifs -y /dev/ubi0_0
try ubifs ubifs ubi0_0 "9999"
`

// The range of dates is compared with the drivers: the last year is kept, and the one after it is
// not.
func TestRawDates(t *testing.T) {
	t.Parallel()
	said := machinetest.Script(t, theLab(t, Options{}), machine.Spec{Storage: "sim:free,64M", Virtual: true}, rawDatesScript)
	for name, want := range map[string]string{"jffs2": "2106 2106", "ubifs": "9999"} {
		c, err := filesystem.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^RESULT ` + name + ` (.*?) *$`).FindStringSubmatch(said)
		if m == nil || m[1] != want {
			t.Errorf("%s: years %q, want %s\n%s", name, m, want, said)
		}
		if until := c.Properties().Dates.Until; name == "jffs2" && until != 2106 || name == "ubifs" && until <= 9999 {
			t.Errorf("%s is said to keep dates until %d", name, until)
		}
	}
}
