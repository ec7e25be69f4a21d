package workload

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programs are the executable files and libraries of a guest whose pages have been read: mapped
// pages survive the dropping of caches.
var programs struct {
	sync.Mutex
	list [][]byte     // files, mapped whole; a page takes memory once it is touched
	held atomic.Int64 // B, when caches were dropped last
}

// KeepPrograms keeps the programs and libraries below dirs in memory from here on, once they have
// been read, whatever drops caches. Reading our own tools or those of the filesystem is not part of
// the storage's figures. Besides, an emulator that translates programs does so again for each page
// into which a program is read again, and every later store to the old page is slow: hundreds of
// pages after every drop, 512 stores of 5 µs each. Files that cannot be mapped are left as they
// are.
func KeepPrograms(dirs ...string) {
	programs.Lock()
	defer programs.Unlock()
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if p, ok := mapProgram(path, e); ok {
					programs.list = append(programs.list, p)
				}
			}
			return nil
		})
	}
}

func mapProgram(path string, e fs.DirEntry) ([]byte, bool) {
	info, err := e.Info()
	if err != nil || info.Size() == 0 || info.Mode()&0o111 == 0 && !strings.Contains(e.Name(), ".so") {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // only read
	// The kernel reclaims executable mappings last.
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED)
	return text, err == nil
}

// holdPrograms touches the pages of programs that are in memory, so that they stay there. It
// returns how many bytes are held.
func holdPrograms() int {
	programs.Lock()
	defer programs.Unlock()
	held, page := 0, os.Getpagesize()
	var sum byte
	for _, text := range programs.list {
		for i, there := range inMemory(text) {
			if there&1 != 0 {
				sum += text[i*page]
				held++
			}
		}
	}
	sink = sum
	programs.held.Store(int64(held) * int64(page))
	return held
}

// inMemory has a byte for every page of a mapped file, odd if the page is in memory; nil if the
// kernel does not say.
func inMemory(text []byte) []byte {
	page := os.Getpagesize()
	pages := make([]byte, (len(text)+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(text)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return nil
	}
	return pages
}

// sink receives bytes that are read only to fault in their pages.
var sink byte
