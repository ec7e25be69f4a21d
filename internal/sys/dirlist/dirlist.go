// Package dirlist lists directories in the order in which the filesystem gives their names. It
// allocates nothing, and comes to an end however damaged a directory is, unless the filesystem
// gives ever more names.
package dirlist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Buffer is how much the C library lists with one system call, in bytes.
const Buffer = 32 << 10

// What a damaged directory does, besides errors of the system call.
var (
	ErrEndless = errors.New("the list has no end")
	ErrBroken  = errors.New("the list has a broken entry")
)

// mostIdle is how many system calls in a row can give no name: "." and ".." may come alone. JFS
// gives ".." at each call, without end, where it cannot read the first page of a directory.
const mostIdle = 2

// Getdents is getdents64(2); a variable, for tests.
var Getdents = func(fd int, buf []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// List is the list of an open directory, from where it is open.
type List struct {
	fd   int
	buf  []byte
	rest []byte // of buf: the entries to come
	idle int    // system calls in a row that gave no name
}

// Of begins the list of an open directory, with a buffer that it shares with no other list.
func Of(fd int, buf []byte) List { return List{fd: fd, buf: buf} }

// Next returns the next name, with a NUL after it, and its type (unix.DT_REG and so on), or nil at
// the end; "." and ".." are left out. The name is valid until the next call. Errors are ErrEndless,
// ErrBroken or a unix.Errno.
func (l *List) Next() (name []byte, kind uint8, err error) {
	for {
		if len(l.rest) == 0 {
			n, errno := Getdents(l.fd, l.buf)
			if errno != 0 {
				return nil, 0, errno
			}
			if n <= 0 {
				l.idle = 0
				return nil, 0, nil
			}
			if l.idle++; l.idle > mostIdle {
				return nil, 0, ErrEndless
			}
			l.rest = l.buf[:n]
		}
		name, kind, length := entry(l.rest)
		if length == 0 {
			return nil, 0, ErrBroken
		}
		l.rest = l.rest[length:]
		if name[0] == '.' && (name[1] == 0 || name[1] == '.' && name[2] == 0) {
			continue
		}
		l.idle = 0
		return name, kind, nil
	}
}

// entry takes the first struct linux_dirent64 from buf: its name with the NUL, its type and its
// length; a length of 0 means that it is broken. The layout is the same on every architecture.
func entry(buf []byte) (name []byte, kind uint8, length int) {
	const head = 19 // d_ino, d_off, d_reclen, d_type
	if len(buf) < head+2 {
		return nil, 0, 0
	}
	length = int(binary.NativeEndian.Uint16(buf[16:]))
	if length < head+2 || length > len(buf) {
		return nil, 0, 0
	}
	end := bytes.IndexByte(buf[head:length], 0)
	if end < 1 || bytes.IndexByte(buf[head:head+end], '/') >= 0 {
		return nil, 0, 0
	}
	return buf[head : head+end+1], buf[18], length
}
