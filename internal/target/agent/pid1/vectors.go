package pid1

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// VectorsMark is what a guest started with whichfs.vectors prints before it powers off: the processor's
// vector registers of a thread survive that it waits for a page while others use theirs.
const VectorsMark = "vector registers survive"

// checkVectors copies from a disk that is mapped into memory, on several threads at once. The runtime
// copies through vector registers, the last bytes first: it loads them, moves all before them, and
// stores them at the end. Of three pages the first and the last are there, so that the thread waits
// for the second with the last bytes in its registers while the others copy. One more thread copies
// and sleeps, so that the next to go on does so after a system call as well as after a page fault.
func checkVectors() error {
	const (
		threads = 4
		most    = 16 << 20
		page    = 4096
		length  = page + 1024
	)
	disk, err := diskBySerial(RootSerial)
	if err != nil {
		return err
	}
	f, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	mapped, err := unix.Mmap(int(f.Fd()), 0, most, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", disk, err)
	}
	defer unix.Munmap(mapped) //nolint:errcheck // the process ends
	// No page is read before it is touched.
	if err := unix.Madvise(mapped, unix.MADV_RANDOM); err != nil {
		return fmt.Errorf("madvise: %w", err)
	}
	runtime.GOMAXPROCS(threads + 2)
	var over atomic.Bool
	var sleeper sync.WaitGroup
	sleeper.Go(func() {
		for from, to := bytes.Repeat([]byte{0xa5}, length), make([]byte, length); !over.Load(); {
			copy(to, from)
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
		}
	})
	errs := make([]error, threads)
	var all sync.WaitGroup
	for n := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			got, want := make([]byte, length), make([]byte, length)
			for p := 3 * n; p+2 < most/page; p += 3 * threads {
				at := p*page + page - 512 - p%128
				got[0], got[1] = mapped[at], mapped[at+length-1]
				copy(got, mapped[at:at+length])
				if _, err := f.ReadAt(want, int64(at)); err != nil {
					errs[n] = err
					return
				}
				if !bytes.Equal(got, want) {
					errs[n] = fmt.Errorf("a copy across page %d differs from what the disk has there", p+1)
					return
				}
			}
		}()
	}
	all.Wait()
	over.Store(true)
	sleeper.Wait()
	return errors.Join(errs...)
}
