//go:build !arm

package workload

import "golang.org/x/sys/unix"

// seekBack goes back in a file from where it is. Raw: see syscalls.go.
func seekBack(fd int, by int64) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_LSEEK, uintptr(fd), uintptr(-by), unix.SEEK_CUR)
	return errno
}
