package rawtarget

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/metrics"

	"golang.org/x/sys/unix"
)

// memory is the buffer of requests. It is mapped, so that it is aligned for direct I/O and
// invisible to the garbage collector.
type memory struct{ bytes []byte }

// grow makes it at least that long, with every page allocated.
func (m *memory) grow(length int64) error {
	if length <= int64(len(m.bytes)) {
		return nil
	}
	size := max(length, min(2*int64(len(m.bytes)), MaxRequest))
	fresh, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("memory for requests of %d bytes: %w", length, err)
	}
	err = m.free()
	m.bytes = fresh
	return err
}

func (m *memory) free() error {
	if m.bytes == nil {
		return nil
	}
	err := unix.Munmap(m.bytes)
	m.bytes = nil
	return err
}

// fill writes incompressible contents: pseudo-random words (SplitMix64, Steele, Lea and Flood 2014)
// that depend on their place and on the number of the request, and are never all zeros.
func fill(b []byte, offset int64, number uint64) {
	x := uint64(offset)/8*0x9e3779b97f4a7c15 + number*0xd1342543de82ef95 //nolint:gosec // a seed, not a quantity
	for i := 0; i+8 <= len(b); i += 8 {
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(b[i:], z^z>>31|1<<63)
	}
}

const (
	// collectEvery is the number of requests between two checks of the heap.
	collectEvery = 1024
	// collectAbove is the heap, in bytes, above which the collector runs.
	collectAbove = 32 << 20
)

// collectGarbage runs the garbage collector when due: it is off during requests.
func (t *Target) collectGarbage() {
	if t.requests%collectEvery != 0 {
		return
	}
	if metrics.Read(t.heap[:]); t.heap[0].Value.Kind() == metrics.KindUint64 && t.heap[0].Value.Uint64() > collectAbove {
		runtime.GC()
	}
}
