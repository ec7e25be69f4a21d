package explore

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// place is a view of real filesystems: a stage, and the judge of a script.
type place struct {
	stage  *aftermath.Stage
	base   *blockdev.Contents
	script script.Judge
	tree   script.Reader
	ahead  *prefetcher
}

// stageOf makes a stage for the explorer's candidate, with a mount point of the given name.
func stageOf(c filesystem.Candidate, size int64, dir string, p aftermath.Patience) (*aftermath.Stage, error) {
	return aftermath.NewStage(aftermath.Settings{FS: c.Filesystem(), Options: filesystem.MountData(c), Size: size, Dir: dir, Patience: p})
}

// newPlace makes a place for the states of a recording.
func (e *explorer) newPlace(r Recording, base *blockdev.Contents, judge script.Judge) (*place, error) {
	dir := filepath.Join(e.work, fmt.Sprintf("state-%d", e.stages.Add(1)))
	limit := e.patience()
	s, err := stageOf(e.order.Candidate, r.Size, dir, aftermath.Patience{Call: limit, Tool: limit})
	if err != nil {
		return nil, err
	}
	return &place{stage: s, base: base, script: judge, ahead: newPrefetcher(s.Disk().Path(), r.Base)}, nil
}

func (p *place) set(changed []states.Block) error {
	if err := p.stage.Set(p.base, changed); err != nil {
		return err
	}
	p.ahead.read(changed)
	return nil
}

func (p *place) judge(ctx context.Context, r request) (aftermath.Diagnosis, error) {
	return p.stage.Examine(ctx, func(root string) aftermath.Found {
		breaches, promises := p.script.Judge(r.began, r.acked, p.tree.Read(root), root)
		return aftermath.Found{Promises: promises, Breaches: breaches}
	}, aftermath.Tools{Check: r.check})
}

func (p *place) do(f func()) (aftermath.Diagnosis, bool) { return p.stage.Do(f) }

func (p *place) left() bool { return p.stage.Left() }

func (p *place) close() {
	p.ahead.close()
	_ = p.stage.Close()
}

// prefetcher has the kernel read the contents of a disk before it is mounted: in few large
// requests, all in flight at once. A mount reads one block after the other, and each costs two
// context switches, which is most of its time.
type prefetcher struct {
	fd   int // of the device; -1: no read-ahead
	base []int64
	all  []int64
}

// gap is the number of zero blocks that are read along rather than skipped.
const gap = 8

func newPrefetcher(device string, base fault.Image) *prefetcher {
	p := &prefetcher{base: slices.Sorted(maps.Keys(base.Blocks))}
	var err error
	if p.fd, err = unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		p.fd = -1
	}
	return p
}

// read prefetches the blocks of the base and the changed blocks. It is only advice: it changes
// nothing but time.
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
