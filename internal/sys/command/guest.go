package command

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2).
const addrNoRandomize = 0x0040000

// Nobody is the user, and the group, as whom a guest's kernel runs if this process is root's.
const Nobody = 65534

// asGuest prepares a program that runs a guest's kernel. The child inherits the personality of the
// thread that starts it, which restore restores.
func (p *Process) asGuest() (restore func(), err error) {
	before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_PERSONALITY, before|addrNoRandomize, 0, 0)
	}
	if errno != 0 {
		return nil, fmt.Errorf("personality: %w", errno)
	}
	if os.Geteuid() == 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: Nobody, Gid: Nobody}
	}
	return func() { _, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0) }, nil
}
