package command

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Guest says how to start a program that runs a guest's kernel: it has the same addresses every
// time, and none of root's rights.
type Guest struct {
	// Processor is the only one that it may use, by the kernel's number.
	Processor int
}

// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2).
const addrNoRandomize = 0x0040000

// Nobody is the user, and the group, as whom a guest's kernel runs if this process is root's.
const Nobody = 65534

// asGuest prepares a program that runs a guest's kernel. The child inherits personality and processor
// from the thread that starts it; restore restores the thread's own.
func (p *Process) asGuest(g Guest) (restore func(), err error) {
	var own, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("personality: %w", errno)
	}
	restore = func() {
		_, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0)
		_ = unix.SchedSetaffinity(0, &own)
	}
	one.Set(g.Processor)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, fmt.Errorf("sched_setaffinity to processor %d: %w", g.Processor, err)
	}
	if _, _, errno = unix.RawSyscall(unix.SYS_PERSONALITY, before|addrNoRandomize, 0, 0); errno != 0 {
		restore()
		return nil, fmt.Errorf("personality: %w", errno)
	}
	if os.Geteuid() == 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: Nobody, Gid: Nobody}
	}
	return restore, nil
}
