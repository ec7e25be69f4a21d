package workload

import (
	"slices"

	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// Damages reports whether a step of a scenario mounts filesystems that it has
// broken.
func Damages(s scenario.Scenario) bool {
	return slices.ContainsFunc(s, func(step scenario.Step) bool {
		kind, _ := ByName(step.Work)
		return kind.Damages
	})
}

// AtRisk refuses to mount broken filesystems on a kernel that is not a guest's,
// where nobody has said that it may be risked.
func AtRisk() *result.Failure {
	return result.Refuse("use --machine lab, which does the same in guests; or add --risk-this-kernel on a machine that may be lost",
		"this mounts broken filesystems, thousands of them, on this machine's own kernel: one that meets a bug there can crash this machine, or corrupt its memory and with it any data, and unsaved work is lost")
}
