package flash

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// inMemory is how large a device may be, and how much may have been written to a larger one, in bytes,
// before what is written is kept in a file: a machine that runs a study at its published size has other
// uses for its memory.
const inMemory = 1 << 30

// contents are those of a page or chunk. Nothing may keep data without its contents: once these are
// unreachable, their place in the file is used again.
type contents struct{ data []byte }

// backing is where the contents of a device are kept: in memory, and from a size on in a file in the
// directory for temporary files. The file has no name, so nothing is left of it however the process
// ends. Where it cannot grow, memory is used after all.
type backing struct {
	size   int64 // B of one contents
	memory int64 // B that may still be made in memory; negative: any number
	region int64 // by how much the file grows, in B

	mu   sync.Mutex
	file *backingFile
	free [][]byte // places in the file
	full bool     // it cannot grow
}

// backingFile is mapped in whole regions.
type backingFile struct {
	*os.File
	regions [][]byte
}

// newBacking keeps contents of a size for a device of a size, in bytes.
func newBacking(size, device int64) *backing {
	k := &backing{size: size, memory: inMemory, region: 256 << 20}
	if device <= inMemory {
		k.memory = -1
	}
	return k
}

// make returns contents of zeros.
func (k *backing) make() *contents {
	if k.memory >= k.size {
		k.memory -= k.size
		return &contents{make([]byte, k.size)}
	}
	var place []byte
	if k.memory >= 0 {
		place = k.place()
	}
	if place == nil {
		return &contents{make([]byte, k.size)}
	}
	c := &contents{place}
	runtime.AddCleanup(c, k.release, place)
	return c
}

// place returns a place in the file, nil if there is none.
func (k *backing) place() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.free) == 0 && !k.full {
		if k.file != nil {
			k.mu.Unlock()
			collect()
			k.mu.Lock()
		}
		// A collection is worth a quarter of a region.
		if int64(len(k.free)) < max(1, k.region/k.size/4) {
			k.full = !k.grow()
		}
	}
	if len(k.free) == 0 {
		return nil
	}
	last := len(k.free) - 1
	p := k.free[last]
	k.free = k.free[:last]
	clear(p)
	return p
}

// collect returns once contents that were unreachable have been released. What is in the file is no
// memory that makes the collector run by itself.
func collect() {
	done := make(chan struct{})
	runtime.AddCleanup(new(contents), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	<-done
}

func (k *backing) release(place []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = append(k.free, place)
}

// grow makes room in the file. It reserves the room on storage, since a write to a mapped file on a full
// filesystem ends the process.
func (k *backing) grow() bool {
	if k.file == nil {
		f, err := os.CreateTemp("", "whichfs-contents-*")
		if err != nil {
			return false
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return false
		}
		k.file = &backingFile{File: f}
		runtime.AddCleanup(k, (*backingFile).close, k.file)
	}
	n := k.region / k.size * k.size
	at := int64(len(k.file.regions)) * n
	fd := int(k.file.Fd())
	if unix.Fallocate(fd, 0, at, n) != nil {
		return false
	}
	m, err := unix.Mmap(fd, at, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	k.file.regions = append(k.file.regions, m)
	for from := int64(0); from < n; from += k.size {
		k.free = append(k.free, m[from:][:k.size:k.size])
	}
	return true
}

func (f *backingFile) close() {
	for _, m := range f.regions {
		_ = unix.Munmap(m)
	}
	_ = f.Close()
}
