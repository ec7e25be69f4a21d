package storage

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SentinelBytes is how much the sentinel writes and reads.
const SentinelBytes = 2 << 20

// Timing is one timed raw transfer, or the reason why there is none.
type Timing struct {
	Seconds float64
	Absent  string
}

// Sentinel writes the first SentinelBytes of the storage, past the page cache,
// syncs, and reads them back. The storage must be ours to write.
func Sentinel(device string) (write, read Timing) {
	fail := func(what string, err error) (Timing, Timing) {
		t := Timing{Absent: fmt.Sprintf("%s %s: %v", what, device, err)}
		if write.Seconds > 0 {
			return write, t
		}
		return t, t
	}
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd) //nolint:errcheck // synced below
	buf, err := unix.Mmap(-1, 0, SentinelBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fail("memory for", err)
	}
	defer unix.Munmap(buf) //nolint:errcheck // nothing to do about it
	// Not zeros: storage may know those. Not random: always the same work.
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&buf[0])), SentinelBytes/8)
	x := uint64(0x9e3779b97f4a7c15)
	for i := range words {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		words[i] = x
	}
	start := time.Now()
	if err := transfer(fd, buf, unix.Pwrite); err != nil {
		return fail("writing", err)
	}
	if err := unix.Fdatasync(fd); err != nil {
		return fail("syncing", err)
	}
	write.Seconds = time.Since(start).Seconds()
	start = time.Now()
	if err := transfer(fd, buf, unix.Pread); err != nil {
		return fail("reading", err)
	}
	read.Seconds = time.Since(start).Seconds()
	return write, read
}

func transfer(fd int, buf []byte, op func(int, []byte, int64) (int, error)) error {
	const piece = 256 << 10
	for off := 0; off < len(buf); off += piece {
		n, err := op(fd, buf[off:off+piece], int64(off))
		if err == nil && n != piece {
			err = fmt.Errorf("%d bytes instead of %d", n, piece)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
