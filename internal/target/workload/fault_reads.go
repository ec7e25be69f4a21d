package workload

import (
	"context"
	"fmt"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// FlakyReads writes Files files (16) of Size bytes together (4 MiB) to a disk in memory and unmounts
// it. Then, Count times, it mounts it, and from then on a byte of whatever is read is replaced, as
// spotOf says: of each request's data, or with Block of each block of 4 KiB. Meanwhile all files are
// read and a small one is written, synced and removed; then the filesystem is unmounted, and judged
// once more without the fault, by its own tool as well: what it read wrongly and wrote back stays.
//
// The worst counts, during the fault and after it. Blocks are corrupted at rest, for as long as the
// fault lasts, except those that are all zeros; a block written meanwhile is read back as it was
// written. Requests need a kernel that can corrupt them (blockdev.CorruptsReads).
var FlakyReads = Kind{Name: fault.FlakyReads, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return absentCase(why), nil
	}
	if err := checkSpot(step); err != nil {
		return Job{}, err
	}
	b, files, err := newFilledBed(ctx, env, step, true)
	if err != nil {
		return Job{}, err
	}
	if step.Block == 0 {
		if err := blockdev.CorruptsReads(); err != nil {
			b.close()
			return absentCase(err.Error()), nil
		}
	}
	r := &flakyReads{bed: b, step: step, files: files}
	return b.job(step, r.one), nil
}}

// flakyReads is a step of flaky reads.
type flakyReads struct {
	*bed
	step  scenario.Step
	files *faultFiles
}

func (r *flakyReads) one(number int) error {
	if err := r.restore(r.fresh, nil); err != nil {
		return err
	}
	spot := spotOf(r.step, number)
	read := r.blocks
	if r.step.Block == 0 {
		read = r.requests
	}
	during, err := read(spot)
	if err != nil {
		return err
	}
	return r.judge(number, func(root string) aftermath.Found {
		found := r.files.judge(root, len(r.files.data), len(r.files.data))
		found.Promises += during.Promises
		for _, b := range during.Breaches {
			b.What = "while reads were corrupted, " + b.What
			found.Breaches = append(found.Breaches, b)
		}
		found.Stopped = during.ReadOnly != ""
		return found
	})
}

// use mounts a device and judges its files after fail, which begins the fault.
func (r *flakyReads) use(device string, fail func() error) (during aftermath.Found, err error) {
	err = r.stage.Use(r.ctx, device, func(root string) error {
		if err := fail(); err != nil {
			return err
		}
		during = r.files.judge(root, len(r.files.data), len(r.files.data))
		return nil
	})
	return during, err
}

// blocks corrupts each block of the disk.
func (r *flakyReads) blocks(spot blockdev.Spot) (aftermath.Found, error) {
	disk := r.stage.Disk()
	var heal func() error
	during, err := r.use(disk.Path(), func() (err error) {
		heal, err = disk.Spoil(r.step.Block, spot)
		return err
	})
	if err != nil {
		return during, err
	}
	return during, heal()
}

// requests corrupts the data of each request.
func (r *flakyReads) requests(spot blockdev.Spot) (aftermath.Found, error) {
	device, err := blockdev.NewFaulty(r.stage.Disk(), spot)
	if err != nil {
		return aftermath.Found{}, err
	}
	during, err := r.use(device.Path(), func() error { return device.Set(blockdev.CorruptReads) })
	if end := device.Close(); err == nil && end != nil {
		err = fmt.Errorf("a device that corrupts reads: %w", end)
	}
	return during, err
}
