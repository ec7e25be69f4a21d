package qemu

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/wire"
)

var tiny = scenario.Scenario{
	{Work: "mkfs", Phase: "mkfs"},
	{Work: "mount", Phase: "mount"},
	{Work: "space", Phase: "space"},
	{Work: "stream-write", Phase: "write", Data: "stream"},
	{Work: "unmount", Phase: "unmount"},
	{Work: "check", Phase: "check"},
}

func TestZZ(t *testing.T) {
	data := machinetest.Data(t)[1:]
	data[0].Size = 1 << 10
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:1M", Data: data}).(*Session)
	for _, line := range []string{"ext2", "ext3", "ext3 -O has_journal", "ext4", "ext4 -O has_journal", "ext4 -O ^has_journal", "xfs", "btrfs", "btrfs -m single", "btrfs --mixed", "btrfs -d dup", "f2fs", "f2fs -s 2", "nilfs2", "nilfs2 -B 16", "jfs", "reiserfs", "vfat", "vfat -F 16", "vfat -F 32", "exfat"} {
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		least := c.Filesystem().MinSize(c)
		for _, size := range []int64{least, least / 2, least/4} {
			size = (size + 4095) &^ 4095
			if err := s.Prepare(t.Context(), wire.Prepare{Storage: fmt.Sprintf("loop:%d", size), Data: data}); err != nil {
				t.Fatal(explain(err))
			}
			sup, err := s.Support(t.Context(), []string{line})
			if err != nil {
				t.Fatal(explain(err))
			}
			got := carryOut(t, s, line, tiny)
			var states []string
			for _, o := range got.options {
				states = append(states, o.Text+" "+string(o.State)+" "+o.Evidence)
			}
			fmt.Printf("%s %d: %v %q free %v %v [%s] %v\n", line, size, got.done, sup.Candidates[0].Reason, got.figures["space"][result.SpaceFree].Value, got.took, strings.Join(states, ";"), got.notes)
		}
	}
}
