package usermode

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// The smallest storage of each filesystem is compared with the tools and the kernel: at that size a
// file can be written, and with one block of 4 KiB less something really refuses, or the candidate
// becomes a different one.
func TestSmallestStorage(t *testing.T) {
	t.Parallel()
	const block = 4 << 10
	file := []scenario.Data{dataset.Stream("file", 1<<10, 1)}
	plan := scenario.Scenario{
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "module-load"},
		{Work: "mount", Phase: "mount"},
		{Work: "space", Phase: "space"},
		{Work: "stream-write", Phase: "write", Data: "file"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "check", Phase: "check"},
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:free,1M", Data: file}).(*Session)
	try := func(t *testing.T, candidate string, size int64) (machinetest.Trial, result.Support) {
		t.Helper()
		if err := s.Prepare(t.Context(), wire.Prepare{Storage: fmt.Sprintf("loop:%d", size), Data: file}); err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		support, err := s.Support(t.Context(), parsed.Candidates(candidate))
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		return machinetest.CarryOut(t, s, candidate, plan), support.Candidates[0]
	}
	for _, x := range triedWith(t, "below") {
		t.Run(strings.ReplaceAll(x.Line, " ", "_"), func(t *testing.T) {
			c := x.c
			below, _ := x.Get("below")
			phase, refusal, _ := strings.Cut(below, ": ")
			least := (c.Filesystem().MinSize(c) + block - 1) &^ (block - 1)
			got, support := try(t, x.Line, least)
			if got.Done.Outcome != result.Done || support.Reason != "" {
				t.Errorf("with %d bytes: %+v, support %+v", least, got.Done, support)
			}
			machinetest.CheckOptions(t, c, got.Options)
			t.Logf("%d bytes, of which %.0f are free", least, got.Figures["space"][result.SpaceFree].Value)

			got, support = try(t, x.Line, least-block)
			reason, hint := c.Misfit(least - block)
			if support.Outcome != result.Refused || support.Reason != reason || support.Hint != hint || reason == "" {
				t.Errorf("with %d bytes it is said to be %+v, want %q", least-block, support, reason)
			}
			if below == "nothing" { // but what the options ask for is not there
				if got.Done.Outcome != result.Done || len(c.Make()) > 0 && (len(got.Options) != 1 || got.Options[0].State != result.Ignored) {
					t.Errorf("with %d bytes: %+v with options %v", least-block, got.Done, got.Options)
				}
			} else if d := got.Done; d.Outcome == result.Done || d.Phase != phase || !strings.Contains(d.Reason, refusal) {
				t.Errorf("with %d bytes: %+v", least-block, d)
			}
		})
	}
}
