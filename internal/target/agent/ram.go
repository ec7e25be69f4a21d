package agent

import (
	"fmt"
	"path/filepath"

	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
)

// makeRAM makes the disk in memory of a guest; it exists as long as the guest. It refuses on a
// kernel that others use: the memory of a user's machine is not ours to take.
func (a *Agent) makeRAM(size int64) error {
	if !guest.Ours() {
		return result.Refuse("use --machine lab", "a disk in memory exists only in the lab")
	}
	files := a.modules.Order("brd")
	if len(files) == 0 {
		return result.Fail(result.Unsupported, "whichfs lab build", "this kernel has no module brd, which makes disks in memory")
	}
	for _, f := range files {
		if err := workload.InsertModule(filepath.Join(a.modules.Dir, f), storage.RAMParameters(size)); err != nil {
			return fmt.Errorf("loading %s: %w", f, err)
		}
	}
	return nil
}
