package speed

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	page   = 4096
	region = 16 << 20 // bytes, more than the caches of boards
	chunk  = 256      // pages copied or faulted in by a run
	calls  = 1000     // by a run
)

// newCopying copies pages between two regions, and clears every fourth of those that it copied to.
func newCopying() func(seed uint32) uint32 {
	from, to := make([]byte, region), make([]byte, region)
	for i := range from {
		from[i], to[i] = byte(i), 1
	}
	return func(seed uint32) uint32 {
		at := int(seed%(region/page/chunk)) * chunk * page
		for i := range chunk {
			copy(to[at+i*page:][:page], from[at+i*page:][:page])
		}
		for i := 0; i < chunk; i += 4 {
			clear(to[at+i*page:][:page])
		}
		return uint32(to[at+page])
	}
}

// copied is the number of bytes that a run copies or clears.
const copied = (chunk + chunk/4) * page

// newCalls makes system calls that do next to nothing, and as many that do little: fstat. They are raw,
// like the one in newFaults: the runtime's monitor thread checks on other calls every 20 µs, which takes a
// slow processor as long as the calls themselves.
func newCalls() (run func(seed uint32) uint32, end func(), err error) {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /: %w", err)
	}
	var stat unix.Stat_t
	run = func(uint32) uint32 {
		for range calls / 2 {
			_, _ = unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
			_, _, _ = unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&stat)), 0)
		}
		return uint32(stat.Mode)
	}
	return run, func() { _ = unix.Close(fd) }, nil
}

// newFaults writes to pages of a shared mapping that are in memory, but not mapped. A fresh page of a
// private one would have to be cleared, which a guest is charged for in bytes.
func newFaults() (run func(seed uint32) uint32, end func(), err error) {
	memory, err := unix.Mmap(-1, 0, chunk*unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap: %w", err)
	}
	size := unix.Getpagesize()
	run = func(seed uint32) uint32 {
		for i := range chunk {
			memory[i*size] = byte(seed)
		}
		_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), unix.MADV_DONTNEED)
		return uint32(memory[0])
	}
	return run, func() { _ = unix.Munmap(memory) }, nil
}
