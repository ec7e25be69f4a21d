package workload

import (
	"context"
	"hash/maphash"
	"maps"
	"os"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// BitRot writes Files files (16) of Size bytes together (4 MiB) to a disk in
// memory, unmounts it, flips Ops bits (8) of it and looks at what is left, Count
// times; the files are written once, and after them something small. Seed draws contents and bits. Fault says
// where the bits are:
//
//   - data: in sectors of 512 bytes that hold contents of the files
//   - metadata: in sectors that hold something else; nothing is spared, neither
//     the superblock nor what no longer counts, as an old log
//   - both: in any sector that is not all zeros
//
// Each bit of these is as likely. What the files hold is looked for in the
// sectors of the disk; a filesystem that compresses or encrypts has none, and no
// figures then.
var BitRot = Kind{Name: "bit-rot", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return Job{Absent: why}, nil
	}
	if step.Ops == 0 {
		step.Ops = rotBits
	}
	if !slices.Contains([]string{rotData, rotMetadata, rotBoth}, step.Fault) || step.Ops < 1 || step.Ops > 1<<20 {
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
		return Job{Absent: "none of what the files hold is found on the disk as it was written"}, nil
	}
	return Job{Simulates: true, Run: func(t *Tally) error {
		err := b.repeat(copies(step), r.one)
		t.Ops = int64(b.tally.tried)
		return err
	}, After: b.tally.extra}, nil
}}

const (
	rotData, rotMetadata, rotBoth = "data", "metadata", "both"

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

// fill writes the files; what the disk then holds is where each iteration
// begins.
func (r *rot) fill() error {
	root, err := r.mountFresh(r.disk.Path())
	if err != nil {
		return err
	}
	err = r.call("writing", func() error {
		dir, err := os.Open(root)
		if err != nil {
			return Subject("open the root: %v", cause(err))
		}
		defer dir.Close() //nolint:errcheck // read only
		w := faultWriter{faultFiles: r.files, dir: dir}
		if err := w.upTo(len(r.files.data)); err != nil {
			return Subject("nothing had happened to it yet: %v", err)
		}
		// The last log that a filesystem wrote is looked at as a whole when it is
		// mounted, and data at rest is in an earlier one.
		if why := writable(root); why != "" {
			return Subject("nothing had happened to it yet: %s", why)
		}
		return nil
	})
	if err == nil {
		err = r.unmount(root)
	}
	if err != nil {
		return result.Fail(result.SubjectFailed, "", "%v", err)
	}
	if r.image, r.fresh, err = r.contents(); err != nil {
		return err
	}
	r.sectors = sectorsOf(r.image, r.files.data, r.step.Fault)
	return nil
}

// sectorsOf are the numbers of an image's sectors of a kind that are not all
// zeros, ascending.
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
			if kind == rotBoth || known[maphash.Bytes(seed, sector)] == (kind == rotData) {
				out = append(out, (n*fault.BlockSize+int64(at))/piece)
			}
		}
	}
	return out
}

func (r *rot) one(number int) error {
	if err := r.restore(r.fresh, r.flipped(number)); err != nil {
		return err
	}
	r.judge(number, func(root string) found { return r.files.judge(root, len(r.files.data), len(r.files.data)) })
	return nil
}

// flipped are the blocks of an iteration with bits flipped, each other than it
// was.
func (r *rot) flipped(number int) []states.Block {
	random := chance(r.step.Seed, number, 3)
	bits := map[int64]bool{}
	most := int64(len(r.sectors)) * piece * 8
	for int64(len(bits)) < min(int64(r.step.Ops), most) {
		bits[r.sectors[random.IntN(len(r.sectors))]*piece*8+int64(random.IntN(piece*8))] = true
	}
	changed := map[int64][]byte{}
	for bit := range bits {
		n := bit / 8 / fault.BlockSize
		if changed[n] == nil {
			changed[n] = slices.Clone(r.image.Blocks[n])
		}
		changed[n][bit/8%fault.BlockSize] ^= 1 << (bit % 8)
	}
	var out []states.Block
	for _, n := range slices.Sorted(maps.Keys(changed)) {
		out = append(out, states.Block{Number: n, Data: changed[n]})
	}
	return out
}
