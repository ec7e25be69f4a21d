// Package guest reports whether this kernel belongs to a lab guest: made for
// one session, used only by the agent and discarded afterwards. Code that
// would harm a user's machine (filling memory, loading simulated hardware,
// postponing writeback) asks here first. A process number is no proof: in a
// container or a process-id namespace any program may be number 1.
package guest

var ours bool

// Enter records that this process has set up the guest. Call it once, before
// starting a second goroutine.
func Enter() { ours = true }

// Ours reports whether the kernel is a lab guest's.
func Ours() bool { return ours }
