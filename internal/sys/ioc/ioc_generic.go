//go:build !(mips || mipsle || mips64 || mips64le || ppc64 || ppc64le || sparc64)

package ioc

// Of include/uapi/asm-generic/ioctl.h.
const none, write, read, shift = 0, 1, 2, 30
