package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// afflicted runs a trial of fault cases and returns its figures, by phase, and its notes.
func afflicted(t *testing.T, s machine.Session, candidate string, plan scenario.Scenario) (map[string]map[string]float64, string) {
	t.Helper()
	got := machinetest.CarryOut(t, s, candidate, plan)
	if got.Done.Outcome != result.Done {
		t.Fatalf("%s: %+v", candidate, got.Done)
	}
	figures, notes := map[string]map[string]float64{}, ""
	for phase, of := range got.Figures {
		figures[phase] = map[string]float64{}
		for metric, m := range of {
			if strings.HasPrefix(metric, "fault.") || metric == result.Wall {
				figures[phase][metric] = m.Value
			}
		}
	}
	for _, n := range got.Notes {
		notes += n.Phase + ": " + n.Text + "\n"
	}
	for _, phase := range plan.Phases() {
		f := figures[phase]
		sum := 0.0
		for _, o := range fault.Outcomes {
			sum += f[fault.OutcomePrefix+o.Key()]
		}
		if f[fault.Tried] == 0 || sum != f[fault.Tried] {
			t.Errorf("%s, %s: %v outcomes of %v iterations", candidate, phase, sum, f[fault.Tried])
		}
		t.Logf("%s, %s: %v", candidate, phase, f)
	}
	t.Log(notes)
	return figures, notes
}

// A filesystem that sends no flushes loses data it had promised in a power loss, and nothing in a
// crash of its machine; one that sends them loses nothing, whatever part of the device's cache was
// written out.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	async := scenario.Step{Work: "power-cut", Phase: "cut async", Count: 10, Seed: 1}
	sync, kill := async, async
	sync.Phase, sync.Options = "cut sync", []string{"sync"}
	kill.Phase, kill.Fault = "kill", "kill"
	f, _ := afflicted(t, s, "ext4", scenario.Scenario{async, sync})
	for _, phase := range []string{"cut async", "cut sync"} {
		if c := f[phase]; c[fault.Broken] != 0 || c[fault.Promises] < 50 || c[fault.Mounted] != 10 || c[fault.Replayed] == 0 ||
			c[fault.OutcomePrefix+"whole"]+c[fault.OutcomePrefix+"recovered"] != 10 || c[fault.CheckClean] != 10 || c[fault.CheckDirty] != 0 {
			t.Errorf("%s: %v", phase, c)
		}
	}
	f, notes := afflicted(t, s, "ext4 -o nobarrier", scenario.Scenario{async, kill})
	if c := f["cut async"]; c[fault.Broken] < 10 || c[fault.OutcomePrefix+"lost"] == 0 {
		t.Errorf("without flushes: %v", c)
	}
	if c := f["kill"]; c[fault.Broken] != 0 || c[fault.Promises] < 50 || c[fault.Mounted] != 10 || c[fault.CheckClean] != 10 {
		t.Errorf("killed: %v", c)
	}
	if !strings.Contains(notes, "cut async: iteration ") || !strings.Contains(notes, "(seed 1)") {
		t.Errorf("no loss is reported: %s", notes)
	}
}

// A filesystem with checksums reports data that has changed on the device, the others return it.
func TestBitRotIsReportedOnlyWithChecksums(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	step := scenario.Step{Work: "bit-rot", Phase: "rot in data", Fault: "data", Count: 2, Seed: 1, Size: 512 << 10, Files: 4}
	for candidate, want := range map[string]fault.Outcome{
		"btrfs": fault.IOError, "ext4": fault.Wrong, "xfs": fault.Wrong, "f2fs": fault.Wrong, "nilfs2": fault.Wrong,
	} {
		f, _ := afflicted(t, s, candidate, scenario.Scenario{step})
		if c := f[step.Phase]; c[fault.OutcomePrefix+want.Key()] != 2 || c[fault.Broken] < 2 || c[fault.Mounted] != 2 {
			t.Errorf("%s: %v", candidate, c)
		}
	}
}

// The effect of a device on writes shows in the files.
func TestFlakyWrites(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	var plan scenario.Scenario
	for _, name := range []string{"corrupt-after", "corrupt-in-turn", "drop", "fail"} {
		plan = append(plan, scenario.Step{Work: "flaky-writes", Phase: name, Fault: name, Count: 2, Seed: 1, Size: 1 << 20, Files: 8})
	}
	f, notes := afflicted(t, s, "ext4", plan)
	// The driver's promises cannot be kept: no outcome is better than these.
	for phase, least := range map[string]fault.Outcome{"corrupt-after": fault.Wrong, "corrupt-in-turn": fault.Wrong, "drop": fault.Truncated, "fail": fault.IOError} {
		for _, o := range fault.Outcomes {
			if n := f[phase][fault.OutcomePrefix+o.Key()]; n > 0 && o < least {
				t.Errorf("%s: %v times %s", phase, n, o.Key())
			}
		}
		if broken := f[phase][fault.Broken]; (broken == 0) != (phase == "fail") {
			t.Errorf("%s: %v promises broken", phase, broken)
		}
	}
	if !strings.Contains(notes, "fail: iteration 1 (seed 1), io-error: ") || !strings.Contains(notes, "an error had been reported") {
		t.Error("write errors are not reported")
	}
}

// Whatever is corrupted on its way from the device is returned by a filesystem without checksums, and
// refused by one with them; nothing of it stays. Requests are left alone by this kernel.
func TestFlakyReads(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	step := scenario.Step{Work: fault.FlakyReads, Phase: "reads", Count: 2, Seed: 1, Size: 1 << 20, Files: 4, Block: fault.BlockSize, Byte: fault.ByteOnes, Order: scenario.OrderRandom}
	for candidate, want := range map[string]fault.Outcome{"btrfs": fault.IOError, "xfs": fault.Wrong} {
		f, notes := afflicted(t, s, candidate, scenario.Scenario{step})
		if c := f[step.Phase]; c[fault.OutcomePrefix+want.Key()] != 2 || c[fault.Promises] != 16 || c[fault.Broken] != 8 || c[fault.Mounted] != 2 || c[fault.CheckClean] != 2 {
			t.Errorf("%s: %v", candidate, c)
		}
		if !strings.Contains(notes, "while reads were corrupted, f0000001: ") {
			t.Errorf("%s: %s", candidate, notes)
		}
	}
	step.Block = 0
	got := machinetest.CarryOut(t, s, "ext4", scenario.Scenario{step})
	if m := got.Figures[step.Phase][fault.Tried]; !strings.Contains(m.Absent, "corrupts no read") {
		t.Errorf("requests: %+v, %+v", m, got.Done)
	}
}

// Sectors that cannot be read are errors of the files that they belong to.
func TestUnreadableSectors(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	step := scenario.Step{Work: fault.BadSectors, Phase: "unreadable", Fault: fault.InData, Count: 2, Seed: 1, Size: 512 << 10, Files: 4, Ops: 2}
	for _, candidate := range []string{"ext4", "btrfs"} {
		f, _ := afflicted(t, s, candidate, scenario.Scenario{step})
		if c := f[step.Phase]; c[fault.OutcomePrefix+"io-error"] != 2 || c[fault.Broken] < 2 || c[fault.Broken] > 4 || c[fault.Mounted] != 2 || c[fault.CheckClean] != 2 {
			t.Errorf("%s: %v", candidate, c)
		}
	}
}

// A byte other than the first, in every block, becomes what the step says.
func TestFlakyWritesOfAnyByte(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	step := scenario.Step{Work: fault.FlakyWrites, Phase: "byte", Fault: fault.CorruptEither, Count: 2, Seed: 1, Size: 1 << 20, Files: 8, Block: fault.BlockSize, Byte: fault.ByteRandom, Order: scenario.OrderRandom}
	f, notes := afflicted(t, s, "xfs", scenario.Scenario{step})
	if c := f["byte"]; c[fault.Broken] < 6 {
		t.Errorf("%v", c)
	}
	if strings.Contains(notes, "(byte 0 of") {
		t.Errorf("a first byte was changed: %s", notes)
	}
	// A filesystem that sends no flushes is no exception.
	step.Order, step.Byte = "", ""
	f, _ = afflicted(t, s, "ext4 -o nobarrier", scenario.Scenario{step})
	if c := f["byte"]; c[fault.OutcomePrefix+"whole"] != 0 || c[fault.Broken] < 6 {
		t.Errorf("without flushes: %v", c)
	}
}

// What statfs says of an empty ext4 fits into one file, and the reserve for root does not count.
func TestRoom(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:128M"})
	plan := scenario.Scenario{{Work: "room", Phase: "one"}, {Work: "room", Phase: "small", Size: 16 << 10}, {Work: "room", Phase: "after", Block: 2 << 10}}
	for _, candidate := range []string{"ext4", "btrfs", "vfat"} {
		got := machinetest.CarryOut(t, s, candidate, plan)
		if got.Done.Outcome != result.Done {
			t.Fatalf("%s: %+v", candidate, got.Done)
		}
		for _, phase := range plan.Phases() {
			f := got.Figures[phase]
			available, fits, off := f[result.SpaceAvailable].Value, f[result.SpaceFits].Value, f[result.SpaceOff].Value
			t.Logf("%s, %s: %v available, %v fit, off by %v", candidate, phase, available, fits, off)
			if available < 1<<20 || fits < 1<<20 || fits > 128<<20 || off > 0.5 || phase != "after" && fits < 40<<20 {
				t.Errorf("%s, %s: %v available, %v fit, off by %v", candidate, phase, available, fits, off)
			}
			if candidate == "ext4" && phase == "one" && off > 0.02 {
				t.Errorf("ext4: %v available, %v fit", available, fits)
			}
		}
	}
}
