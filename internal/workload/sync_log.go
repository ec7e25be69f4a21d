package workload

import (
	"slices"

	"whichfs/internal/filesystem"
)

// recoveries are the lines of the kernel's log in which the filesystem, or what
// lies below it, tells of damage, and of what it did about it.
func recoveries(log []string, fs string) []string {
	known, _ := filesystem.ByName(fs)
	said := known.ReadKernel(log)
	return slices.Concat(said.Errors, said.Replay)
}
