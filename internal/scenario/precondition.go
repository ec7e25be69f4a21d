package scenario

import "slices"

// PreconditionPhase is the phase in which storage is brought to a steady speed.
const PreconditionPhase = "precondition"

// Precondition inserts the step that brings the storage to a steady speed after
// the first mount: making a filesystem discards the storage, so before that it
// would be for nothing. A scenario that writes images (read-only filesystems)
// is returned as it is.
func Precondition(s Scenario) Scenario {
	makes := slices.ContainsFunc(s, func(x Step) bool { return x.Work == "mkfs" })
	at := slices.IndexFunc(s, func(x Step) bool { return x.Work == "mount" })
	if !makes || at < 0 {
		return s
	}
	return slices.Insert(slices.Clone(s), at+1, Step{Work: "precondition", Phase: PreconditionPhase})
}
