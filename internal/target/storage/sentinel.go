package storage

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// SentinelBytes is how much the sentinel writes and reads.
const SentinelBytes = 2 << 20

// Timing is one timed raw transfer, or the reason why there is none.
type Timing struct {
	Seconds float64
	Absent  string
}

// Sentinel writes the first SentinelBytes of the storage, or of a part of it, bypassing the page
// cache, syncs, and reads them back. On raw flash it uses good erase blocks and leaves them erased.
func (c *Claim) Sentinel(part *Part) (write, read Timing) {
	fail := func(what string, err error) (Timing, Timing) {
		t := Timing{Absent: fmt.Sprintf("%s %s: %v", what, c.named, err)}
		if write.Seconds > 0 {
			return write, t
		}
		return t, t
	}
	if c.flash != nil && c.flash.Simulated() {
		// It would use up weak blocks and pages, and its erases would be counted as the
		// filesystem's.
		t := Timing{Absent: "the timing of a simulated chip is configured, and writing to it would use up its weak blocks"}
		return t, t
	}
	right, err := c.Right(part, unix.O_DIRECT|unix.O_EXCL)
	if err != nil {
		return fail("open", err)
	}
	defer right.Close() //nolint:errcheck // synced below
	if right.flash != nil {
		return sentinelFlash(c.named, right.flash)
	}
	fd := int(right.Fd())
	buf, err := unix.Mmap(-1, 0, SentinelBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fail("memory for", err)
	}
	defer unix.Munmap(buf) //nolint:errcheck // nothing to do about it
	pattern(buf)
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

// pattern fills memory with the data to write: not zeros, which storage may detect, and not random,
// so that the work is always the same.
func pattern(buf []byte) {
	x := uint64(0x9e3779b97f4a7c15)
	for i := 0; i+8 <= len(buf); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.NativeEndian.PutUint64(buf[i:], x)
	}
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
