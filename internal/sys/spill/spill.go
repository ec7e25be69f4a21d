// Package spill keeps bytes in a file that would take too much memory. Its point of view: a place in
// the file is used again once nothing refers to the piece that had it, as with memory.
package spill

import (
	"cmp"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Region is by how much a file grows, in bytes, unless its user says otherwise.
const Region = 256 << 20

// Piece is a number of bytes. Nothing may keep Data without its piece.
type Piece struct{ Data []byte }

// dir is where files are made: $TMPDIR, or else the directory for large temporary files, since /tmp is
// in memory on many systems.
func dir() string { return cmp.Or(os.Getenv("TMPDIR"), "/var/tmp") }

// Room is how much files can take on storage, in bytes, and where. A directory in memory has none.
func Room() (room int64, where string) {
	where = dir()
	var fs unix.Statfs_t
	if unix.Statfs(where, &fs) != nil || fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
		return 0, where
	}
	return int64(fs.Bavail) * fs.Bsize, where
}

// File is a mapped file of pieces of one size. It has no name, so nothing is left of it however the
// process ends.
type File struct {
	size, region int64 // B

	mu   sync.Mutex
	on   *mapped
	free [][]byte
	full bool // it cannot grow
}

// mapped is the file, in whole regions.
type mapped struct {
	*os.File
	regions [][]byte
}

// New makes a file for pieces of a size, which grows by a region, in bytes. It is made with the first
// piece.
func New(size, region int64) *File { return &File{size: size, region: region} }

// Piece returns a piece of zeros; nil if the file has no room for it and cannot grow.
func (f *File) Piece() *Piece {
	place := f.place()
	if place == nil {
		return nil
	}
	p := &Piece{place}
	runtime.AddCleanup(p, f.release, place)
	return p
}

// Regions is how many regions the file has.
func (f *File) Regions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on == nil {
		return 0
	}
	return len(f.on.regions)
}

func (f *File) place() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.free) == 0 && !f.full {
		if f.on != nil {
			f.mu.Unlock()
			collect()
			f.mu.Lock()
		}
		// A collection is worth a quarter of a region.
		if int64(len(f.free)) < max(1, f.region/f.size/4) {
			f.full = !f.grow()
		}
	}
	if len(f.free) == 0 {
		return nil
	}
	last := len(f.free) - 1
	p := f.free[last]
	f.free = f.free[:last]
	clear(p)
	return p
}

// collect returns once pieces that nothing referred to have been released. What is in the file is no
// memory that makes the collector run by itself.
func collect() {
	done := make(chan struct{})
	runtime.AddCleanup(new(Piece), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	<-done
}

func (f *File) release(place []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, place)
}

// grow makes room in the file. It reserves the room on storage, since a write to a mapped file on a full
// filesystem ends the process.
func (f *File) grow() bool {
	if f.on == nil {
		on, err := os.CreateTemp(dir(), "whichfs-spill-*")
		if err != nil {
			return false
		}
		if err := os.Remove(on.Name()); err != nil {
			_ = on.Close()
			return false
		}
		f.on = &mapped{File: on}
		runtime.AddCleanup(f, (*mapped).close, f.on)
	}
	n := f.region / f.size * f.size
	at := int64(len(f.on.regions)) * n
	fd := int(f.on.Fd())
	if unix.Fallocate(fd, 0, at, n) != nil {
		return false
	}
	m, err := unix.Mmap(fd, at, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	f.on.regions = append(f.on.regions, m)
	for from := int64(0); from < n; from += f.size {
		f.free = append(f.free, m[from:][:f.size:f.size])
	}
	return true
}

func (m *mapped) close() {
	for _, r := range m.regions {
		_ = unix.Munmap(r)
	}
	_ = m.Close()
}
