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
// for whatever reason, the kernel kills everything else in there before
// reporting its end. Its mounts are in a mount namespace that disappears with
// the last process. /proc remains the host's, with all processes and the
// host's numbers.

// In the environment of a contained program, these describe the mount
// namespace that it left: its name, and a descriptor that reads the mounts
// there and can be polled for changes (proc_pid_mountinfo(5), proc_mounts(5)).
const (
	OutsideVariable       = "WHICHFS_OUTSIDE"
	OutsideMountsVariable = "WHICHFS_OUTSIDE_MOUNTS"
)

// ownProcesses requests a process-id namespace; tests request what no kernel
// provides.
var ownProcesses uintptr = unix.CLONE_NEWPID

// startContained starts the program in its own namespaces. If the kernel has
// no process-id namespaces, it uses a control group where possible.
func (p *Process) startContained(o Options, argv []string) (*controlGroup, error) {
	outside, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("separate mounts: %w", err)
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("separate mounts: %w", err)
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
	// Errors of a kernel that lacks them or has reached its limit.
	if !errors.Is(why, unix.EINVAL) && !errors.Is(why, unix.ENOSPC) {
		return nil, permission(why)
	}
	if err := start(0); err != nil {
		return nil, permission(err)
	}
	group, err := newControlGroup(p.cmd.Process.Pid)
	p.loose = fmt.Sprintf("this kernel has no process-id namespaces (%v)", errnoOf(why))
	if err != nil {
		p.loose += fmt.Sprintf(" and no control group (%v): processes that a trial starts may continue writing after the agent is killed", err)
	} else {
		p.loose += ": processes that a trial starts may continue writing after whichfs itself is killed with SIGKILL"
	}
	return group, nil
}

// Loose says why processes that a contained program starts may outlive it; ""
// if they cannot.
func (p *Process) Loose() string { return p.loose }

func permission(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("namespaces need root, and in a container the right to create them: %w", err)
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
