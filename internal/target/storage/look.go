package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// denseEnd is how much is read in full at either end, in places of densePlace: tables,
	// superblocks and most boot loaders are there.
	denseEnd   = 1 << 20
	densePlace = 64 << 10
	// spread is how many places between the ends are sampled, sparsePlace each, a quarter of them
	// in the first 16 MiB, as far as boot loaders of boards reach.
	spread      = 64
	sparsePlace = 4 << 10
	bootArea    = 16 << 20
)

// contents is what was found on a device.
type contents struct {
	words       []string // a description for people
	fingerprint string   // of all that was read
	start       []byte   // the beginning of the device
	places      []place
}

// place is one sample.
type place struct {
	at, length int64 // B
	data       bool  // it is neither all zeros nor all ones, as erased flash is
}

// filled counts the places in a range of bytes that hold data.
func (c contents) filled(from, to int64) (n int) {
	for _, p := range c.places {
		if p.data && p.at >= from && p.at < to {
			n++
		}
	}
	return n
}

// sampled counts all places in a range of bytes.
func (c contents) sampled(from, to int64) (n int) {
	for _, p := range c.places {
		if p.at >= from && p.at < to {
			n++
		}
	}
	return n
}

// samplePlaces are the places where a device of a given size is read, always the same ones: in
// order, without duplicates, each a multiple of 512 bytes.
func samplePlaces(size int64) []place {
	var all []place
	add := func(at, length int64) {
		at = max(at&^(sparsePlace-1), 0)
		if length == sparsePlace && (at < denseEnd || at >= size-denseEnd) {
			return // that part is read in full
		}
		if length = min(length, size-at) &^ 511; length > 0 {
			all = append(all, place{at: at, length: length})
		}
	}
	for at := int64(0); at < min(denseEnd, size); at += densePlace {
		add(at, densePlace)
	}
	between := size - 2*denseEnd
	for i := range int64(spread) {
		if i < spread/4 {
			add(denseEnd+i*min(bootArea-denseEnd, between)/(spread/4), sparsePlace)
		} else if between > 0 {
			add(denseEnd+between/(spread*3/2)*(2*(i-spread/4)+1), sparsePlace)
		}
	}
	for at := max(size-denseEnd, 0) &^ (sparsePlace - 1); at < size; at += densePlace {
		add(at, densePlace)
	}
	slices.SortFunc(all, func(a, b place) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return int(b.length - a.length)
	})
	return slices.CompactFunc(all, func(a, b place) bool { return a.at == b.at })
}

// look samples a device. It bypasses the page cache where it can: cached pages may be those of
// another medium.
func look(f *os.File, size int64) (contents, error) {
	direct, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err == nil {
		defer direct.Close() //nolint:errcheck // read only
	}
	buf, err := unix.Mmap(-1, 0, densePlace, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return contents{}, fmt.Errorf("memory for sampling: %w", err)
	}
	defer unix.Munmap(buf) //nolint:errcheck // nothing to do about it
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n", size)
	c := contents{places: samplePlaces(size)}
	for i, p := range c.places {
		piece := buf[:p.length]
		var err error = unix.EINVAL
		if direct != nil {
			err = readAt(direct, piece, p.at)
		}
		if errors.Is(err, unix.EINVAL) { // its blocks are larger, or its driver does not support direct reads
			err = readAt(f, piece, p.at)
		}
		if err != nil {
			return contents{}, fmt.Errorf("at byte %d: %w", p.at, err)
		}
		sum.Write(piece)
		c.places[i].data = !allOf(piece, 0) && !allOf(piece, 0xff)
		if p.at == int64(len(c.start)) && p.at < denseEnd {
			c.start = append(c.start, piece...)
		}
	}
	c.fingerprint = hex.EncodeToString(sum.Sum(nil))[:12]
	return c, nil
}

func readAt(f *os.File, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func allOf(b []byte, value byte) bool {
	for _, v := range b {
		if v != value {
			return false
		}
	}
	return true
}
