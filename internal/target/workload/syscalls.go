package workload

import (
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that timed sections make. They take NUL-terminated paths that were laid out beforehand:
// package unix would copy every path to add its NUL, an allocation per call. All paths are relative
// to a descriptor, so the calls are the same on every architecture.
//
// Calls that make up a storm of files are raw: announcing a call to Go's scheduler costs 60 ns of a
// stat's microsecond, which a program in C does not pay. A raw call keeps its processor (Go's
// notion of one) while it waits, so the agent has a spare one (SpareProcessor), and no call that
// waits for another goroutine may be raw: above all reading and writing pipes.

// SpareProcessor lets the program's other goroutines run while a worker is in a raw call, even with
// only one processor.
func SpareProcessor() { runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) }

const createFlags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_LARGEFILE
const readFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_LARGEFILE
const listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_LARGEFILE

// maxWrite is the largest piece passed to the kernel at once, so that a fatal signal is handled
// between two pieces.
const maxWrite = 16 << 20

func openat(dir int, path *byte, flags int, mode uint32) (int, unix.Errno) {
	for {
		fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(flags), uintptr(mode), 0, 0)
		if errno != unix.EINTR {
			return int(fd), errno
		}
	}
}

func mkdirat(dir int, path *byte, mode uint32) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_MKDIRAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(mode))
	return errno
}

func chmodat(dir int, path *byte, mode uint32) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_FCHMODAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(mode))
	return errno
}

func fchmod(fd int, mode uint32) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_FCHMOD, uintptr(fd), uintptr(mode), 0)
	return errno
}

// chownat does not follow symbolic links.
func chownat(dir int, path *byte, uid, gid uint32) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_FCHOWNAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(uid), uintptr(gid), unix.AT_SYMLINK_NOFOLLOW, 0)
	return errno
}

// fchown takes 32-bit owners, as chownat does on every processor (the call named fchown takes
// 16-bit ones on some).
func fchown(fd int, uid, gid uint32) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_FCHOWNAT, uintptr(fd), uintptr(unsafe.Pointer(&noName)), uintptr(uid), uintptr(gid), unix.AT_EMPTY_PATH, 0)
	return errno
}

// noName is the empty path.
var noName byte

// utimesat sets access and modification time of path in dir, without following symbolic links, or
// of dir itself if path is nil.
func utimesat(dir int, path *byte, times *[2]unix.Timespec) unix.Errno {
	flags := uintptr(unix.AT_SYMLINK_NOFOLLOW)
	if path == nil {
		flags = 0 // futimens takes none
	}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(times)), flags, 0, 0)
	return errno
}

func setxattr(fd int, name *byte, value []byte) unix.Errno {
	var p unsafe.Pointer
	if len(value) > 0 {
		p = unsafe.Pointer(&value[0])
	}
	_, _, errno := unix.Syscall6(unix.SYS_FSETXATTR, uintptr(fd), uintptr(unsafe.Pointer(name)), uintptr(p), uintptr(len(value)), 0, 0)
	return errno
}

// listxattr fills buf with names, each with its NUL.
func listxattr(fd int, buf []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall(unix.SYS_FLISTXATTR, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return int(n), errno
}

func getxattr(fd int, name *byte, buf []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_FGETXATTR, uintptr(fd), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	return int(n), errno
}

func symlinkat(target *byte, dir int, path *byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_SYMLINKAT, uintptr(unsafe.Pointer(target)), uintptr(dir), uintptr(unsafe.Pointer(path)))
	return errno
}

func linkat(fromDir int, from *byte, dir int, path *byte) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_LINKAT, uintptr(fromDir), uintptr(unsafe.Pointer(from)), uintptr(dir), uintptr(unsafe.Pointer(path)), 0, 0)
	return errno
}

func unlinkat(dir int, path *byte, flags int) unix.Errno {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(flags))
		if errno != unix.EINTR { // jffs2 lets signals interrupt it
			return errno
		}
	}
}

func readlinkat(dir int, path *byte, buf []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	return int(n), errno
}

// statat does not follow symbolic links.
func statat(dir int, path *byte, st *unix.Stat_t) unix.Errno {
	_, _, errno := unix.RawSyscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	return errno
}

func closefd(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	if errno == unix.EINTR {
		return 0 // Linux has closed it anyway
	}
	return errno
}

func readfd(fd int, buf []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// writeAll writes all of data, in as few calls as the kernel allows.
func writeAll(fd int, data []byte) unix.Errno {
	for len(data) > 0 {
		piece := data[:min(len(data), maxWrite)]
		n, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&piece[0])), uintptr(len(piece)))
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return errno
		case n == 0:
			return unix.EIO // a write that neither writes nor fails
		default:
			data = data[n:]
		}
	}
	return 0
}

// readRaw and writeRaw are readfd and writeAll for regular files only.
func readRaw(fd int, buf []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func writeRaw(fd int, data []byte) unix.Errno {
	for len(data) > 0 {
		piece := data[:min(len(data), maxWrite)]
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&piece[0])), uintptr(len(piece)))
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return errno
		case n == 0:
			return unix.EIO // a write that neither writes nor fails
		default:
			data = data[n:]
		}
	}
	return 0
}

func syncfs(fd int) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_SYNCFS, uintptr(fd), 0, 0)
		if errno != unix.EINTR {
			return errno
		}
	}
}

// buffer returns memory whose pages have all been touched, so that the timed section takes no page
// faults for it.
func buffer(size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	return b
}

// terminated is text with the NUL that the kernel needs.
func terminated(text string) []byte { return append([]byte(text), 0) }

// numbered is the name of copy i.
func numbered(i int) []byte { return terminated(strconv.Itoa(i)) }

// errOp is what a timed section returns when a call failed: the operation, the path below the mount
// point, and the kernel's answer. The failure is that of the filesystem under test, unless this
// process or machine ran out of a resource of its own.
func errOp(op, path string, errno unix.Errno) error {
	switch errno {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EFAULT, unix.EBADF:
		return &opError{op: op, path: path, errno: errno}
	}
	f := Subject("%s %s", op, strconv.Quote(path))
	f.Err = errno
	switch errno {
	case unix.ENOSPC:
		f.Hint = "the filesystem is full: give a larger --storage, or less data"
	case unix.EROFS:
		f.Hint = "the filesystem became read-only: see the kernel messages"
	}
	return f
}

type opError struct {
	op, path string
	errno    unix.Errno
}

func (e *opError) Error() string { return e.op + " " + strconv.Quote(e.path) + ": " + e.errno.Error() }
func (e *opError) Unwrap() error { return e.errno }
