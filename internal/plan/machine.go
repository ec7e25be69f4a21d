package plan

import "strings"

// SSH is how the names of machines begin that are reached over ssh.
const SSH = "ssh:"

// OnBoard reports whether a machine is neither this host nor made by it.
func OnBoard(machine string) bool { return strings.HasPrefix(machine, SSH) }

// OwnKernel reports whether a machine has a kernel that whichfs did not start: this host or a board.
// Its processor, memory and kernel are what they are, and it outlives every session.
func OwnKernel(machine string) bool { return machine == "local" || OnBoard(machine) }

// OwnKernel reports it of the plan's machine.
func (p Plan) OwnKernel() bool { return OwnKernel(p.Machine) }

// setMachine reads a plan file's machine.
func setMachine(f *File, v any) error {
	if name, ok := v.(string); ok && OnBoard(name) {
		f.Machine = &name
		return nil
	}
	return text(func(f *File) **string { return &f.Machine }, "lab", "local", "fake")(f, v)
}
