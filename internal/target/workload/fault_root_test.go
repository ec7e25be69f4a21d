package workload

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/testing/needs"
)

// faulty runs a step on the kernel of the tests.
func faulty(t *testing.T, candidate string, step scenario.Step) (figures map[string]float64, notes string) {
	t.Helper()
	needs.Devices(t)
	c, err := filesystem.Parse(candidate)
	if err != nil {
		t.Fatal(err)
	}
	kind, ok := ByName(step.Work)
	if !ok {
		t.Fatal(step.Work)
	}
	env := &Env{Candidate: c, FS: c.Filesystem(), Size: 320 << 20, Work: t.TempDir()}
	job, err := kind.Setup(t.Context(), env, step)
	if err != nil || job.Run == nil {
		t.Fatalf("%v, %s", err, job.Absent)
	}
	var tally Tally
	if err := job.Run(&tally); err != nil {
		t.Fatal(err)
	}
	x, err := job.After()
	if err != nil {
		t.Fatal(err)
	}
	figures = map[string]float64{}
	for _, m := range x.Measurements {
		figures[m.Metric] = m.Value
	}
	for _, n := range x.Notes {
		notes += n.Text + "\n"
	}
	if left, err := os.ReadDir(env.Work); err != nil || len(left) > 0 && !env.Hung {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Logf("%s: %s %s: %v\n%s", candidate, step.Work, step.Fault, figures, notes)
	return figures, notes
}

// A filesystem without checksums returns flipped bits in data as they are; one with checksums
// reports them.
func TestBitRotInData(t *testing.T) {
	for candidate, want := range map[string]fault.Outcome{"ext4": fault.Wrong, "btrfs": fault.IOError} {
		step := scenario.Step{Work: "bit-rot", Fault: "data", Count: 3, Seed: 4, Size: 256 << 10, Files: 4, Ops: 2}
		f, notes := faulty(t, candidate, step)
		if f[fault.Tried] != 3 || f[fault.OutcomePrefix+want.Key()] != 3 || f[fault.Promises] != 12 ||
			f[fault.Broken] < 3 || f[fault.Broken] > 6 || f[fault.Mounted] != 3 || f[fault.MountMean] <= 0 {
			t.Errorf("%s: %v", candidate, f)
		}
		if !strings.Contains(notes, "iteration 1 (seed 4), "+want.Key()+": f") {
			t.Errorf("%s: %s", candidate, notes)
		}
		// The same seed gives the same figures, except times and kernel messages.
		again, _ := faulty(t, candidate, step)
		for metric, v := range f {
			// The kernel rate-limits equal messages.
			if again[metric] != v && !strings.HasPrefix(metric, "fault.mount.") && metric != fault.Complained {
				t.Errorf("%s: %s was %v and is %v", candidate, metric, v, again[metric])
			}
		}
	}
}

// Every sector except those of the files is metadata, and the check notices much of the damage
// there.
func TestBitRotInMetadata(t *testing.T) {
	// What an earlier log left depends on when the kernel committed, and so do the sectors that are
	// drawn: without a journal the outcomes are those of the seed.
	f, _ := faulty(t, "ext4 -O ^has_journal", scenario.Step{Work: "bit-rot", Fault: "metadata", Count: 3, Seed: 4, Size: 256 << 10, Files: 4, Ops: 200})
	if f[fault.Tried] != 3 || f[fault.CheckDirty] != 3 || f[fault.OutcomePrefix+"whole"]+f[fault.OutcomePrefix+"wrong"] != 0 {
		t.Errorf("%v", f)
	}
	// If it mounts only after a repair, with everything there, the repair was needed.
	if f[fault.OutcomePrefix+"needs-check"] == 0 || f[fault.AfterPrefix+"unmountable"] == 3 {
		t.Errorf("nothing was repaired: %v", f)
	}
}

// A call that does not return costs its iteration and the disk below it; the next iteration has
// another disk.
func TestHangCostsOneIteration(t *testing.T) {
	needs.Devices(t)
	defer func(before aftermath.Patience) { faultPatience = before }(faultPatience)
	c, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Candidate: c, FS: c.Filesystem(), Size: 320 << 20, Work: t.TempDir()}
	b, err := newBed(t.Context(), env, scenario.Step{}, 1<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	release, hangs := make(chan struct{}), make(chan string, 1)
	var disks []string
	err = b.repeat(3, func(number int) error {
		if number == 2 {
			usual := faultPatience
			faultPatience.Call = 4 * time.Second // a mount takes a few milliseconds
			b.close()
			if err := b.newStage(); err != nil {
				return err
			}
			faultPatience = usual
		}
		if err := b.restore(b.fresh, nil); err != nil {
			return err
		}
		disks = append(disks, b.stage.Disk().Path())
		err := b.judge(number, func(root string) aftermath.Found {
			if number == 2 {
				hangs <- root
				<-release
			}
			return aftermath.Found{Promises: 1}
		})
		if b.stage.Left() != (number == 2) {
			t.Errorf("iteration %d: left %v", number, b.stage.Left())
		}
		return err
	})
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	if !env.Hung || disks[1] == disks[2] {
		t.Errorf("hung %v, disks %v", env.Hung, disks)
	}
	got := map[string]float64{}
	for _, m := range b.tally.Measurements() {
		got[m.Metric] = m.Value
	}
	if got[fault.Tried] != 3 || got[fault.OutcomePrefix+"hang"] != 1 || got[fault.OutcomePrefix+"whole"] != 2 || got[fault.Promises] != 2 {
		t.Errorf("%v", got)
	}
	if notes := b.tally.Notes(); len(notes) != 1 || notes[0].Text != "iteration 2 (seed 0), hang: reading back what was written did not return within 4s" {
		t.Errorf("%+v", notes)
	}
	if err := unix.Unmount(<-hangs, 0); err != nil {
		t.Error(err)
	}
}

// If no further disk is available after a hang, the step ends with that error.
func TestNoDiskAfterAHang(t *testing.T) {
	needs.Devices(t)
	c, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Candidate: c, FS: c.Filesystem(), Size: 320 << 20, Work: t.TempDir()}
	b, err := newBed(t.Context(), env, scenario.Step{}, 1<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	err = b.repeat(2, func(int) error {
		b.close()
		b.size = 1 // of which no disk can be made
		return b.newStage()
	})
	if err == nil || !strings.Contains(err.Error(), "iteration 1 (seed 0): a disk in memory cannot have 1 bytes") {
		t.Errorf("%v", err)
	}
}

func TestFaultsRefuse(t *testing.T) {
	c, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Candidate: c, FS: c.Filesystem(), Size: 320 << 20, Work: t.TempDir()}
	for _, step := range []scenario.Step{
		{Work: "bit-rot"}, {Work: "bit-rot", Fault: "drop"}, {Work: "bit-rot", Fault: "data", Ops: -1}, {Work: "bit-rot", Fault: "data", Files: -1},
		{Work: "bit-rot", Fault: "data", Size: 400 << 20},
		{Work: "power-cut", Fault: "drop"}, {Work: "power-cut", Size: 1000},
		{Work: "bad-sectors"}, {Work: "bad-sectors", Fault: "data", Ops: -1}, {Work: "flaky-reads", Byte: "zero"}, {Work: "room", Size: 1 << 30},
		{Work: "flaky-writes", Fault: "corrupt-either", Block: 100}, {Work: "flaky-writes", Fault: "fail", Byte: "0xff"}, {Work: "flaky-writes"}, {Work: "flaky-writes", Fault: "data"}, {Work: "flaky-writes", Fault: "fail", Files: 1 << 20},
	} {
		kind, _ := ByName(step.Work)
		_, err := kind.Setup(t.Context(), env, step)
		wantFailure(t, err, "refused", "")
	}
	for _, name := range []string{"squashfs", "ubifs"} {
		c, err := filesystem.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{PowerCut, FlakyWrites, FlakyReads, BitRot, BadSectors, Room} {
			env := &Env{Candidate: c, FS: c.Filesystem(), Raw: name == "ubifs"}
			if job, err := kind.Setup(t.Context(), env, scenario.Step{Work: kind.Name, Fault: "data"}); err != nil || job.Absent == "" || job.Run != nil {
				t.Errorf("%s of %s: %v, %q", kind.Name, name, err, job.Absent)
			}
		}
	}
}
