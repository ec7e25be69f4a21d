package workload

import (
	"context"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// BadSectors writes Files files (16) of Size bytes together (4 MiB) to a disk in memory as BitRot
// does. Then Ops sectors (8) of 512 bytes go bad: reading one fails with an error until it is
// written. The filesystem is judged, checked and repaired on that device, Count times. Seed and
// Fault say which sectors, as for BitRot.
var BadSectors = Kind{Name: fault.BadSectors, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return absentCase(why), nil
	}
	if step.Ops == 0 {
		step.Ops = rotBits
	}
	if err := checkRot(step); err != nil {
		return Job{}, err
	}
	if err := LoadFor(env.Modules, append(blockdev.Needs(), blockdev.UnreadableNeeds)...); err != nil {
		return absentCase(err.Error()), nil
	}
	b, files, err := newFilledBed(ctx, env, step, true)
	if err != nil {
		return Job{}, err
	}
	s := &badSectors{rot{bed: b, step: step, files: files, sectors: sectorsOf(b.image, files.data, step.Fault)}}
	if len(s.sectors) == 0 {
		b.close()
		return absentCase(noContents), nil
	}
	return b.job(step, s.one), nil
}}

// badSectors is a step of unreadable sectors, drawn from those that could rot.
type badSectors struct{ rot }

func (s *badSectors) one(number int) error {
	if err := s.restore(s.fresh, nil); err != nil {
		return err
	}
	disk := s.stage.Disk()
	r := chance(s.step.Seed, number, drawSectors)
	var bad []int64
	for len(bad) < min(s.step.Ops, len(s.sectors)) {
		if n := s.sectors[r.IntN(len(s.sectors))]; !slices.Contains(bad, n) {
			bad = append(bad, n)
		}
	}
	device, err := blockdev.NewUnreadable(disk, bad)
	if err != nil {
		return err
	}
	s.stage.Through(device.Path())
	err = s.judge(number, func(root string) aftermath.Found {
		return s.files.judge(root, len(s.files.data), len(s.files.data))
	})
	s.stage.Through(disk.Path())
	if end := device.Close(); err == nil && end != nil && !s.stage.Left() {
		err = end
	}
	return err
}

// checkRot refuses a step of stored damage that names no place, or an impossible amount.
func checkRot(step scenario.Step) error {
	if !slices.Contains([]string{fault.InData, fault.InMetadata, fault.InBoth}, step.Fault) || step.Ops < 1 || step.Ops > 1<<20 {
		return result.Refuse("", "step %q: unknown fault %q, or %d places", step.Work, step.Fault, step.Ops)
	}
	return nil
}
