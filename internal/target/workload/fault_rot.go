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
	"whichfs/internal/result"
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
		return Job{Absent: why}, nil
	}
	if step.Ops == 0 {
		step.Ops = rotBits
	}
	if !slices.Contains([]string{fault.InData, fault.InMetadata, fault.InBoth}, step.Fault) || step.Ops < 1 || step.Ops > 1<<20 {
		return Job{}, result.Refuse("", "step %q: unknown fault %q, or %d bits", step.Work, step.Fault, step.Ops)
	}
	files, err := newFaultFiles(step, rotSize, rotFiles)
	if err != nil {
		return Job{}, err
	}
	b, err := newBed(ctx, env, step, int64(len(files.data)), false)
	if err != nil {
		return Job{}, err
	}
	r := &rot{bed: b, step: step, files: files}
	if err := r.fill(); err != nil {
		b.close()
		return Job{}, err
	}
	if len(r.sectors) == 0 {
		b.close()
		return Job{Absent: "the contents of the files are not on the disk as they were written"}, nil
	}
	return b.job(step, r.one), nil
}}

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

// fill writes the files; the resulting disk is the start of each iteration.
func (r *rot) fill() error {
	err := r.stage.Use(r.ctx, r.stage.Disk().Path(), func(root string) error {
		dir, err := os.Open(root)
		if err != nil {
			return Subject("open the root: %v", cause(err))
		}
		defer dir.Close() //nolint:errcheck // read only
		w := faultWriter{faultFiles: r.files, dir: dir}
		if err := w.upTo(len(r.files.data)); err != nil {
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
	if r.image, r.fresh, err = r.stage.Contents(); err != nil {
		return err
	}
	r.sectors = sectorsOf(r.image, r.files.data, r.step.Fault)
	return nil
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
