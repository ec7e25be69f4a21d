//go:build arm || mips || mipsle

package workload

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const sysFstatat = unix.SYS_FSTATAT64

// seekBack moves back in a file from the current offset. Raw: see syscalls.go.
func seekBack(fd int, by int64) unix.Errno {
	var at int64
	_, _, errno := unix.RawSyscall6(unix.SYS__LLSEEK, uintptr(fd), uintptr(-by>>32), uintptr(-by), uintptr(unsafe.Pointer(&at)), unix.SEEK_CUR, 0)
	return errno
}
