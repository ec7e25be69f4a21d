package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// A contained program is process 1 of a process-id namespace: when it ends,
// however that is, the kernel kills what else is in there, and its end is not
// reported before. What it mounts is in a mount namespace that goes with the last
// of them. /proc stays the host's, with all processes and the host's numbers.

// In the environment of a contained program, of the mount namespace that it was
// taken out of: its name, and the number of a descriptor that reads what is mounted
// there and can be polled for changes (proc_pid_mountinfo(5), proc_mounts(5)).
const (
	OutsideVariable       = "WHICHFS_OUTSIDE"
	OutsideMountsVariable = "WHICHFS_OUTSIDE_MOUNTS"
)

// ownProcesses asks for a process-id namespace; tests ask for what no kernel has.
var ownProcesses uintptr = unix.CLONE_NEWPID

// startContained starts the program in namespaces of its own; where the kernel
// has none for processes, in a control group, if there is one.
func (p *Process) startContained(o Options, argv []string) (*controlGroup, error) {
	outside, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("mounts of its own: %w", err)
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("mounts of its own: %w", err)
	}
	defer mounts.Close() //nolint:errcheck // read only, and the child has its own
	o.Files = append(slices.Clone(o.Files), mounts)
	o.Env = append(slices.Clone(o.Env), OutsideVariable+"="+outside, fmt.Sprintf("%s=%d", OutsideMountsVariable, 2+len(o.Files)))
	start := func(flags uintptr) error {
		p.make(o, argv)
		p.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | flags
		return p.cmd.Start()
	}
	why := start(ownProcesses)
	// What a kernel says that was built without them, and one that may make no more.
	if !errors.Is(why, unix.EINVAL) && !errors.Is(why, unix.ENOSPC) {
		return nil, permission(why)
	}
	if err := start(0); err != nil {
		return nil, permission(err)
	}
	group, err := newControlGroup(p.cmd.Process.Pid)
	p.loose = fmt.Sprintf("this kernel gives processes no namespace (%v)", errnoOf(why))
	if err != nil {
		p.loose += fmt.Sprintf(" and no control group (%v): what a trial starts may go on writing when the agent is killed", err)
	} else {
		p.loose += ": what a trial starts may go on writing when whichfs itself is killed by force"
	}
	return group, nil
}

// Loose says why what a contained program starts may outlive it; "" where it
// cannot.
func (p *Process) Loose() string { return p.loose }

func permission(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("namespaces need root, and in a container the right to make them: %w", err)
	}
	return err
}

func errnoOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
