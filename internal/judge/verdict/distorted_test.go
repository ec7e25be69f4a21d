package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// Under emulation, and where the processor takes no time, claims about the speed of compressors stay undecided; those
// about the space they save, and those about filesystems that do not compress,
// are decided.
func TestDistorted(t *testing.T) {
	for _, x := range []struct {
		claim       study.Check
		compressors bool
	}{
		{study.BestCheck{Column: "large-ratio", Times: "large-write", Candidate: "ext4"}, true},
		{study.BestCheck{Column: "large-ratio", Candidate: "ext4"}, false},
		{study.BestCheck{Column: "large-write", Candidate: "ext4"}, true}, // of the published rows
		{study.BestCheck{Column: "large-write", Candidate: "ext4", Among: []string{"btrfs"}}, false},
		{study.OrderCheck{Column: "large-write"}, true},
		{study.ColumnsCheck{Column: "large-write", Over: "large-fetch", Candidates: []string{"btrfs", "btrfs -o compress=lzo"}}, true},
		{study.ColumnsCheck{Column: "large-write", Over: "large-fetch", Candidates: []string{"btrfs"}}, false},
		{study.EffectCheck{Column: "large-write", Variant: "second"}, false},
		{study.EffectCheck{Column: "large-write", Variant: "packed"}, true},
		{study.EffectCheck{Column: "large-write", Variant: "packed", Candidates: []string{"ext4"}}, false},
		{study.RatioCheck{Column: "large-write", A: "btrfs -o compress=lzo", B: []string{"ext4"}}, true},
		{study.RatioCheck{Column: "large-write", A: "btrfs", B: []string{"ext4", "xfs"}}, false},
		{study.RatioCheck{Column: "large-ratio", A: "btrfs -o compress=lzo", B: []string{"btrfs"}}, false},
		{study.BestCheck{Column: "large-write", Candidate: "btrfs -o compress=zlib", Among: []string{"btrfs -o compress=lzo"}}, true},
		{study.TrendCheck{Column: "large-write", A: "btrfs -o compress=zstd:1", B: "btrfs"}, true},
		{study.TrendCheck{Column: "large-write", A: "xfs", B: "btrfs"}, false},
	} {
		for _, emulated := range []bool{true, false} {
			for _, clock := range []string{"", result.ClockInstructions, result.ClockVirtual, "bbb"} {
				f := packers()
				f.run = result.Run{Emulated: emulated, Clock: clock}
				if clock == "bbb" {
					f.run = result.Run{Clock: result.ClockVirtual, Processor: clock}
				}
				want := ""
				switch {
				case x.compressors && clock == result.ClockVirtual:
					want = freeDistortion
				case x.compressors && emulated && clock == "":
					want = emulatedDistortion
				}
				if got := f.distortion(study.Claim{Check: x.claim}); got != want {
					t.Errorf("emulated %t, clock %q: %+v: %q, want %q", emulated, clock, x.claim, got, want)
				}
			}
		}
	}
	f := packers()
	f.run.Emulated = true
	if got := f.distortion(study.Claim{Check: study.ValueCheck{Column: "large-write", Candidate: "ext4", High: 1}}); got != emulatedTime {
		t.Errorf("a time in seconds on an emulated processor: %q", got)
	}
	orders := 0
	for _, c := range f.study.Claims {
		if _, published := c.Check.(study.NumbersCheck); published && f.distortion(c) != "" {
			orders++
		}
	}
	if orders == 0 {
		t.Error("no published table of the study, all of which have compressors, is distorted")
	}
}

// packers is a run of candidates with and without compression, with a figure
// each, whose study publishes a table of grades of them and whose plan has a
// level that compresses.
func packers() *figures {
	st := study.DevbuildGist()
	table := study.Table{Columns: []string{"large-write"}, Scale: []string{"bad", "good"}}
	f := &figures{study: st, byName: map[string]*subject{}, columns: map[string]*column{}}
	for _, key := range []string{"large-write", "large-ratio"} {
		c := &column{absent: map[string]string{}}
		c.def, _ = st.Column(key)
		f.columns[key] = c
	}
	for _, name := range []string{"ext4", "xfs", "btrfs", "btrfs -o compress=lzo", "btrfs -o compress=zlib"} {
		f.subject(name)
		for _, c := range f.columns {
			c.add(name, stats.Sample{1: 1})
		}
		table.Rows = append(table.Rows, study.Row{Candidate: name, Grades: []string{"good"}})
	}
	f.study.Tables = []study.Table{table}
	f.plan.Factors = []scenario.Factor{
		{Name: "place", Levels: []scenario.Variant{{Name: "second", Part: &scenario.Part{Start: 0.5}}}},
		{Name: "compression", Candidates: []string{"btrfs"}, Levels: []scenario.Variant{{Name: "packed", Mount: []string{"compress=zstd"}}}},
	}
	return f
}

// A claim about times of compressors says so if they had fewer processors than in the study.
func TestFewerProcessors(t *testing.T) {
	compressors := study.Claim{Check: study.RatioCheck{Column: "large-write", A: "btrfs -o compress=lzo", B: []string{"ext4"}, High: 100}}
	plain := study.Claim{Check: study.RatioCheck{Column: "large-write", A: "btrfs", B: []string{"ext4"}, High: 100}}
	const says = "; compressing had 2 processors here and 6 in the study"
	for _, x := range []struct {
		claim      study.Claim
		processors string
		clock      string
		want       bool
	}{
		{compressors, "2", "", true}, {plain, "2", "", false}, {compressors, "6", "", false}, {compressors, "8", "", false},
		{compressors, "", "", false}, {compressors, "2", result.ClockInstructions, false},
	} {
		f := packers()
		f.study.Processors, f.run.Clock = 6, x.clock
		if x.processors != "" {
			f.run.Conditions = []result.Condition{{Group: "machine", Name: "processors", Value: x.processors}}
		}
		got, err := f.claim(x.claim)
		must.Do(t, err)
		if got.Result == NotTested || strings.HasSuffix(got.Figures, says) != x.want {
			t.Errorf("%+v: %s, %q", x, got.Result, got.Figures)
		}
	}
}
