// Package ioc has the numbers of ioctl requests as the macros of asm/ioctl.h make them, which differ between
// architectures. golang.org/x/sys/unix has the most common ones.
package ioc

import "runtime"

// Directions of include/uapi/asm-generic/ioctl.h.
const none, write, read = 0, 1, 2

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
	shift := 30
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le", "ppc64", "ppc64le": // asm/ioctl.h of their own: none is 1, write is 4
		shift = 29
		if direction == none {
			direction = 1
		} else {
			direction = direction&read | direction&write<<2
		}
	}
	return direction<<shift | size<<16 | letter<<8 | number
}
