package workload

import "whichfs/internal/result"

// AtRisk refuses to mount broken filesystems on a kernel that is not a guest's,
// where nobody has said that it may be risked.
func AtRisk() *result.Failure {
	return result.Refuse("use --machine lab, which does the same in guests; or add --risk-this-kernel on a machine that may be lost",
		"this mounts broken filesystems, thousands of them, on this machine's own kernel: one that meets a bug there can crash this machine, or corrupt its memory and with it any data, and unsaved work is lost")
}
