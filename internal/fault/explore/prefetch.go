package explore

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
)

// prefetcher has the kernel read what a disk holds before it is mounted: in few
// large requests, all under way at once. A mount asks for one block after the
// other, and each costs two changes of thread, which is most of its time.
type prefetcher struct {
	fd   int // of the device; -1: nothing is read ahead
	base []int64
	all  []int64
}

// gap is how many blocks of zeros are read along rather than asked around.
const gap = 8

func newPrefetcher(device string, base fault.Image) *prefetcher {
	p := &prefetcher{base: slices.Sorted(maps.Keys(base.Blocks))}
	var err error
	if p.fd, err = unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		p.fd = -1
	}
	return p
}

// read asks for what the base and the changed blocks hold. It is advice: what
// comes of it changes nothing but time.
func (p *prefetcher) read(changed []states.Block) {
	if p.fd < 0 {
		return
	}
	p.all = append(p.all[:0], p.base...)
	for _, b := range changed {
		p.all = append(p.all, b.Number)
	}
	slices.Sort(p.all)
	for i := 0; i < len(p.all); {
		first, last := p.all[i], p.all[i]
		for i++; i < len(p.all) && p.all[i] <= last+gap; i++ {
			last = p.all[i]
		}
		_ = unix.Fadvise(p.fd, first*fault.BlockSize, (last-first+1)*fault.BlockSize, unix.FADV_WILLNEED)
	}
}

func (p *prefetcher) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}
