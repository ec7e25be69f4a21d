// Package guest says whether the kernel below is a lab guest's: made for one
// session, used by nobody but the agent, and gone with it. What must not be done
// to a user's machine (memory taken, simulated hardware loaded, writing back put
// off) asks here. A process number is no proof: in a container or a process-id
// namespace any program may be number 1.
package guest

var ours bool

// Enter says that this process has set up the guest. It is called once, before
// there is a second goroutine.
func Enter() { ours = true }

// Ours reports whether the kernel is a guest's.
func Ours() bool { return ours }
