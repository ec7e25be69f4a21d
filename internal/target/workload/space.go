package workload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Space reads the filesystem's own account of its space (statfs). Used is blocks less free blocks,
// so it includes the filesystem's own structures wherever the filesystem counts those as used.
// Where compression saves space that statfs does not show, the saving is a separate figure.
//
// Among those for raw flash, jffs2 counts compressed bytes on the chip; obsolete data counts as
// free, and the blocks reserved for its garbage collector as used (jffs2_statfs). ubifs counts as
// free what files could take if none of their data can be compressed, less what its index and its
// journal may need: a conservative estimate, of a total without its own areas
// (ubifs_get_free_space). UBI's reserve is in neither.
var Space = Kind{Name: "space", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	var st unix.Statfs_t
	top, err := unix.Open(env.Mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Job{}, Subject("open the mount point: %v", err)
	}
	return Job{
		Run: func(*Tally) error {
			err := unix.Fstatfs(top, &st)
			_ = unix.Close(top)
			if err != nil {
				return Subject("statfs: %v", err)
			}
			return nil
		},
		After: func() (Extra, error) {
			unit := float64(st.Bsize)
			x := Extra{Measurements: []result.Measurement{
				result.Figure(result.SpaceTotal, unit*float64(st.Blocks)),
				result.Figure(result.SpaceUsed, unit*float64(st.Blocks-st.Bfree)),
				result.Figure(result.SpaceFree, unit*float64(st.Bfree)),
				result.Figure(result.SpaceBlock, unit),
			}}
			if env.FS.Compressed == filesystem.CompressedBlocks {
				x.Measurements = append(x.Measurements, f2fsSaved(env.Name))
			}
			if env.Image != "" && env.FS.ReadOnly {
				info, err := os.Stat(env.Image)
				if err != nil {
					return Extra{}, err
				}
				// A read-only image takes as much storage as its length.
				x.Measurements[1].Value = float64(info.Size())
			}
			x.Measurements = append(x.Measurements, full(x.Measurements[1].Value, x.Measurements[0].Value))
			return x, nil
		},
	}, nil
}}

// full is the share of the filesystem's space that is in use.
func full(used, total float64) result.Measurement {
	if total <= 0 {
		return result.Missing(result.SpaceFull, "the filesystem does not report space")
	}
	return result.Figure(result.SpaceFull, min(used/total, 1))
}

// f2fsSaved reads how much compression saved of the data written since the mount: f2fs keeps the
// space of the uncompressed file reserved, so statfs cannot show it.
func f2fsSaved(device string) result.Measurement {
	path := fmt.Sprintf("/sys/fs/f2fs/%s/compr_saved_block", device)
	text, err := os.ReadFile(path)
	if err != nil {
		return result.Missing(result.SpaceSaved, "no "+path)
	}
	blocks, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return result.Missing(result.SpaceSaved, path+" holds "+strconv.Quote(string(text)))
	}
	return result.Figure(result.SpaceSaved, float64(blocks)*4096)
}
