package fault

// Times of a case of faults, in seconds: of the mount after the fault, before
// any repair, of the iterations in which it succeeded.
const (
	MountMean    = "fault.mount.mean"
	MountLongest = "fault.mount.longest"
)
