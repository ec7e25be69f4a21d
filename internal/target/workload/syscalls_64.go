//go:build !(arm || mips || mipsle)

package workload

import "golang.org/x/sys/unix"

const sysFstatat = unix.SYS_NEWFSTATAT

// seekBack moves back in a file from the current offset. Raw: see syscalls.go.
func seekBack(fd int, by int64) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_LSEEK, uintptr(fd), uintptr(-by), unix.SEEK_CUR)
	return errno
}
