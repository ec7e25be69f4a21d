package workload

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"os"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/target/aftermath"
)

// BitRot writes Files files (16) of Size bytes together (4 MiB) to a disk in memory, then a small
// file, and unmounts the disk. Then it flips Ops bits (8) on the disk and judges the remains, Count
// times. Seed determines contents and bits. Fault says where the bits are:
//
//   - data: in sectors of 512 bytes that hold file contents
//   - metadata: in sectors that hold anything else; nothing is spared, neither the superblock nor
//     obsolete data such as an old log
//   - both: in any sector that is not all zeros
//
// Each of these bits is equally likely. The contents of the files are searched for in the sectors
// of the disk; a filesystem that compresses or encrypts has none, and then the figures are absent.
var BitRot = Kind{Name: fault.BitRot, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return absentCase(why), nil
	}
	if step.Ops == 0 {
		step.Ops = rotBits
	}
	if err := checkRot(step); err != nil {
		return Job{}, err
	}
	b, files, err := newFilledBed(ctx, env, step, false)
	if err != nil {
		return Job{}, err
	}
	r := &rot{bed: b, step: step, files: files, sectors: sectorsOf(b.image, files.data, step.Fault)}
	if len(r.sectors) == 0 {
		b.close()
		return absentCase(noContents), nil
	}
	return b.job(step, r.one), nil
}}

// noContents is why nothing can happen to stored data.
const noContents = "the contents of the files are not on the disk as they were written"

const (
	rotSize  = 4 << 20
	rotFiles = 16
	rotBits  = 8
)

// rot is a step of bit rot.
type rot struct {
	*bed
	step    scenario.Step
	files   *faultFiles
	sectors []int64 // whose bits are flipped
}

// newFilledBed makes a disk with files on it: the start of each iteration.
func newFilledBed(ctx context.Context, env *Env, step scenario.Step, mapped bool) (*bed, *faultFiles, error) {
	files, err := newFaultFiles(step, rotSize, rotFiles)
	if err != nil {
		return nil, nil, err
	}
	b, err := newBed(ctx, env, step, int64(len(files.data)), mapped)
	if err != nil {
		return nil, nil, err
	}
	if err := b.fill(files); err != nil {
		b.close()
		return nil, nil, err
	}
	return b, files, nil
}

// fill writes the files; the resulting disk is the start of each iteration.
func (b *bed) fill(files *faultFiles) error {
	err := b.stage.Use(b.ctx, b.stage.Disk().Path(), func(root string) error {
		dir, err := os.Open(root)
		if err != nil {
			return Subject("open the root: %v", cause(err))
		}
		defer dir.Close() //nolint:errcheck // read only
		w := faultWriter{faultFiles: files, dir: dir}
		if err := w.upTo(len(files.data)); err != nil {
			return Subject("failed before any fault: %v", err)
		}
		// The last log that a filesystem wrote is read in full at mount, and data at rest is in an
		// earlier one.
		if why := writable(root); why != "" {
			return Subject("failed before any fault: %s", why)
		}
		return nil
	})
	if errors.As(err, new(*aftermath.Hung)) {
		return Subject("failed before any fault: %v", err)
	}
	if err != nil {
		return err
	}
	b.image, b.fresh, err = b.stage.Contents()
	return err
}

// sectorsOf returns the numbers of an image's sectors of one kind that are not all zeros,
// ascending.
func sectorsOf(im fault.Image, data []byte, kind string) []int64 {
	seed := maphash.MakeSeed()
	known := map[uint64]bool{}
	for at := 0; at+piece <= len(data); at += piece {
		known[maphash.Bytes(seed, data[at:at+piece])] = true
	}
	var zeros [piece]byte
	var out []int64
	for _, n := range slices.Sorted(maps.Keys(im.Blocks)) {
		block := im.Blocks[n]
		for at := 0; at < len(block); at += piece {
			sector := block[at : at+piece]
			if [piece]byte(sector) == zeros {
				continue
			}
			if kind == fault.InBoth || known[maphash.Bytes(seed, sector)] == (kind == fault.InData) {
				out = append(out, (n*fault.BlockSize+int64(at))/piece)
			}
		}
	}
	return out
}

func (r *rot) one(number int) error {
	flipped := states.Flipped(chance(r.step.Seed, number, 3), r.image, r.sectors, r.step.Ops)
	if err := r.restore(r.fresh, flipped); err != nil {
		return err
	}
	return r.judge(number, func(root string) aftermath.Found { return r.files.judge(root, len(r.files.data), len(r.files.data)) })
}
