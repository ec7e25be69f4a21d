package pid1

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// VectorsMark is what a guest started with whichfs.vectors prints before it powers off: the processor's
// vector registers of a thread survive that it waits for a page while others use theirs.
const VectorsMark = "vector registers survive"

// checkVectors copies from a disk that is mapped into memory, on several threads at once. The runtime
// copies through vector registers. Each copy begins on a page that is there and goes on, in the same
// instruction sequence, on one that is not: the thread waits with data in its registers while the
// others copy.
func checkVectors() error {
	const (
		threads = 4
		most    = 16 << 20
		page    = 4096
		length  = 1024
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
	runtime.GOMAXPROCS(threads + 1)
	errs := make([]error, threads)
	var all sync.WaitGroup
	for n := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			got, want := make([]byte, length), make([]byte, length)
			for p := n + 1; p < most/page; p += threads {
				// Wherever the end of the page falls among the loads.
				at := p*page - length/2 - p%128
				got[0] = mapped[at] // the page before
				copy(got, mapped[at:at+length])
				if _, err := f.ReadAt(want, int64(at)); err != nil {
					errs[n] = err
					return
				}
				if !bytes.Equal(got, want) {
					errs[n] = fmt.Errorf("a copy across the end of page %d differs from what the disk has there", p-1)
					return
				}
			}
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}
