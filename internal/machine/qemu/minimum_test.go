package qemu

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/dataset"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/wire"
)

// The smallest storage of each filesystem is held against the tools and the
// kernel: at that size a file can be written, and one block of 4 KiB below it
// something really refuses, or the candidate becomes another one.
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
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:1M", Data: file}).(*Session)
	try := func(t *testing.T, candidate string, size int64) (trialOf, result.Support) {
		t.Helper()
		if err := s.Prepare(t.Context(), wire.Prepare{Storage: fmt.Sprintf("loop:%d", size), Data: file}); err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		support, err := s.Support(t.Context(), []string{candidate})
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		return carryOut(t, s, candidate, plan), support.Candidates[0]
	}
	for _, x := range []struct{ candidate, phase, reason string }{
		{"ext2", "mkfs", "Could not allocate inode"},
		{"ext3", "mount", "feature incompatibilities"}, // mke2fs made it without a journal
		{"ext4 -O has_journal", "", ""},                // and nobody minds here
		{"ext4 -O ^has_journal", "mkfs", "Illegal inode number"},
		{"xfs", "mkfs", "must be larger than 300MB"},
		{"btrfs", "mkfs", "minimum size for each btrfs device is 114294784"},
		{"btrfs -m single", "mkfs", "minimum size for each btrfs device is 47185920"},
		{"btrfs -d dup", "mkfs", "minimum size for each btrfs device is 240123904"},
		{"btrfs --mixed", "mkfs", "minimum size for each btrfs device is 16777216"},
		{"f2fs", "mkfs", "Device size is not sufficient"},
		{"nilfs2", "mkfs", "required size=134221824 bytes"},
		{"nilfs2 -B 16", "mkfs", "required size=1052672 bytes"},
		{"jfs", "mkfs", "at least 16 megabytes"},
		{"reiserfs", "mkfs", "cannot create a journal"},
		{"reiserfs -s 1024", "mkfs", "cannot create a journal"},
		{"vfat", "mkfs", "Too few blocks for viable filesystem"},
		{"vfat -F 16", "mkfs", "too small or a too large filesystem"},
		{"exfat", "write", "0 are available"}, // it mounts, and is full
		{"exfat -b 64K", "write", "0 are available"},
	} {
		t.Run(strings.ReplaceAll(x.candidate, " ", "_"), func(t *testing.T) {
			c, err := filesystem.Parse(x.candidate)
			if err != nil {
				t.Fatal(err)
			}
			least := (c.Filesystem().MinSize(c) + block - 1) &^ (block - 1)
			got, support := try(t, x.candidate, least)
			if got.done.Outcome != result.Done || support.Reason != "" {
				t.Errorf("with %d bytes: %+v, support %+v", least, got.done, support)
			}
			checkOptions(t, c, got.options)
			t.Logf("%d bytes, of which %.0f are free", least, got.figures["space"][result.SpaceFree].Value)

			got, support = try(t, x.candidate, least-block)
			reason, hint := filesystem.TooSmall(c, least-block)
			if support.Outcome != result.Refused || support.Reason != reason || support.Hint != hint || reason == "" {
				t.Errorf("with %d bytes it is said to be %+v, want %q", least-block, support, reason)
			}
			if x.phase == "" {
				if len(got.options) != 1 || got.options[0].State != result.Ignored {
					t.Errorf("with %d bytes: %+v with options %v", least-block, got.done, got.options)
				}
			} else if d := got.done; d.Outcome == result.Done || d.Phase != x.phase || !strings.Contains(d.Reason, x.reason) {
				t.Errorf("with %d bytes: %+v", least-block, d)
			}
		})
	}
}
