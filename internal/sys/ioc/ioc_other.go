//go:build mips || mipsle || mips64 || mips64le || ppc64 || ppc64le || sparc64

package ioc

// Of arch/mips/include/uapi/asm/ioctl.h and that of powerpc.
const none, read, write, shift = 1, 2, 4, 29
