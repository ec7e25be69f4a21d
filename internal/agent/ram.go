package agent

import (
	"fmt"
	"path/filepath"

	"whichfs/internal/guest"
	"whichfs/internal/result"
	"whichfs/internal/storage"
	"whichfs/internal/workload"
)

// makeRAM makes the disk in memory of a guest; it stays as long as the guest.
// A kernel that others use is not given one: the memory of a user's machine is
// not ours to take.
func (a *Agent) makeRAM(size int64) error {
	if !guest.Ours() {
		return &workload.Failure{Outcome: result.Refused, Reason: "a disk in memory exists only in the lab", Hint: "use --machine lab"}
	}
	files := a.modules.Order("brd")
	if len(files) == 0 {
		return &workload.Failure{Outcome: result.Unsupported, Reason: "this kernel has no module brd, which makes disks in memory", Hint: "whichfs lab build"}
	}
	for _, f := range files {
		if err := workload.InsertModule(filepath.Join(a.modules.Dir, f), storage.RAMParameters(size)); err != nil {
			return fmt.Errorf("loading %s: %w", f, err)
		}
	}
	return nil
}
