package verdict

import (
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Under emulation, and where the processor takes no time, claims about the speed of compressors stay undecided; those
// about the space they save, and those about filesystems that do not compress,
// are decided.
func TestDistorted(t *testing.T) {
	for _, x := range []struct {
		claim       study.Check
		compressors bool
	}{
		{study.RatioCheck{Column: "large-write", A: "btrfs -o compress=lzo", B: []string{"ext4"}}, true},
		{study.RatioCheck{Column: "large-write", A: "btrfs", B: []string{"ext4", "xfs"}}, false},
		{study.RatioCheck{Column: "large-ratio", A: "btrfs -o compress=lzo", B: []string{"btrfs"}}, false},
		{study.BestCheck{Column: "large-write", Candidate: "btrfs -o compress=zlib", Among: []string{"btrfs -o compress=lzo"}}, true},
		{study.TrendCheck{Column: "large-write", A: "btrfs -o compress=zstd:1", B: "btrfs"}, false},
	} {
		for _, emulated := range []bool{true, false} {
			for _, clock := range []string{"", result.ClockInstructions, result.ClockVirtual, "bbb"} {
				f := &figures{run: result.Run{Emulated: emulated, Clock: clock}, study: study.DevbuildGist()}
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
	f := &figures{run: result.Run{Emulated: true}, study: study.DevbuildGist()}
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
