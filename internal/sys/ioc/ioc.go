// Package ioc has the numbers of requests as the macros of asm/ioctl.h make them, which differ between processors.
// golang.org/x/sys/unix has the most usual ones.
package ioc

// None is _IO(letter, number).
func None(letter, number uintptr) uintptr { return request(none, letter, number, 0) }

// Read is _IOR: the kernel fills in a structure of size bytes.
func Read(letter, number, size uintptr) uintptr { return request(read, letter, number, size) }

// Write is _IOW: the kernel reads it.
func Write(letter, number, size uintptr) uintptr { return request(write, letter, number, size) }

// ReadWrite is _IOWR.
func ReadWrite(letter, number, size uintptr) uintptr {
	return request(read|write, letter, number, size)
}

func request(direction, letter, number, size uintptr) uintptr {
	return direction<<shift | size<<16 | letter<<8 | number
}
