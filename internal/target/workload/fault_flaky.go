package workload

import (
	"context"
	"fmt"
	"os"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// FlakyWrites writes Files files (1) of Size bytes together (4 MiB) to a disk in memory with a
// Fault, unmounts, and judges the remains without the fault, Count times. Seed determines the
// contents. Fault is one of
//
//   - corrupt-after: from some point on, the first byte of each request's data becomes zero
//   - corrupt-in-turn: the same, alternating with good writes
//   - drop: from some point on, writes are acknowledged but not done
//   - fail: from some point on, writes fail with an error
//
// The source of these cases (elc-2015) counted seconds: ten good ones, or one good and one bad in
// turn. Only a slow device takes longer than that for a file of 30 MB; memory does not. So the
// points are shares of the data: the first third is good; or each tenth in turn, starting with a
// good one. The data is written through the page cache, and before each change and at the end the
// filesystem is synced (syncfs): there are good and damaged parts however fast the device is. The
// filesystem is unmounted in the last state: a good one where they alternate, otherwise the bad
// one.
//
// The worst file counts. A part for which syncfs returned without an error is promised; if write,
// close or syncfs returned an error, the writer stops, as programs do, and data missing from that
// part breaks no promise: the loss was reported, and the outcome is fault.IOError at best.
var FlakyWrites = Kind{Name: fault.FlakyWrites, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return Job{Absent: why}, nil
	}
	stretches := stretchesOf(step.Fault)
	if stretches == nil {
		return Job{}, result.Refuse("", "step %q: unknown fault %q", step.Work, step.Fault)
	}
	files, err := newFaultFiles(step, flakySize, 1)
	if err != nil {
		return Job{}, err
	}
	b, err := newBed(ctx, env, step, int64(len(files.data)), true)
	if err != nil {
		return Job{}, err
	}
	f := &flaky{bed: b, files: files, stretches: stretches}
	return b.job(step, f.one), nil
}}

const flakySize = 4 << 20

// stretch is a part of the data and its fate.
type stretch struct {
	end  float64 // share of the data
	mode blockdev.Mode
}

// stretchesOf are those of a fault; nil for an unknown one.
func stretchesOf(name string) []stretch {
	then := map[string]blockdev.Mode{fault.CorruptAfter: blockdev.Corrupt, fault.DropWrites: blockdev.Drop, fault.FailWrites: blockdev.Fail}
	if mode, ok := then[name]; ok {
		return []stretch{{1.0 / 3, blockdev.Good}, {1, mode}}
	}
	if name != fault.CorruptInTurn {
		return nil
	}
	var turns []stretch
	for i := 1; i <= 10; i++ {
		mode := blockdev.Good
		if i%2 == 0 {
			mode = blockdev.Corrupt
		}
		turns = append(turns, stretch{float64(i) / 10, mode})
	}
	return append(turns, stretch{1, blockdev.Good})
}

// flaky is a step of flaky writes.
type flaky struct {
	*bed
	files     *faultFiles
	stretches []stretch
}

func (f *flaky) one(number int) error {
	if err := f.restore(f.fresh, nil); err != nil {
		return err
	}
	device, err := blockdev.NewFaulty(f.stage.Disk())
	if err != nil {
		return err
	}
	var w wrote
	err = f.stage.Use(f.ctx, device.Path(), func(root string) (err error) {
		w, err = f.stretchByStretch(root, device)
		return err
	})
	if end := device.Close(); err == nil && end != nil {
		err = end
	}
	if err != nil {
		return err
	}
	return f.judge(number, func(root string) aftermath.Found { return f.files.judge(root, w.promised, w.attempted) })
}

// wrote is how far a writer got, in bytes of all the data.
type wrote struct{ promised, attempted int }

// stretchByStretch writes until the data ends or a call returns an error, which after the first
// stretch is part of the case. A returned error is our own, or occurred before any fault.
func (f *flaky) stretchByStretch(root string, device *blockdev.Faulty) (w wrote, err error) {
	dir, err := os.Open(root)
	if err != nil {
		return w, Subject("open the root: %v", cause(err))
	}
	defer dir.Close() //nolint:errcheck // read only
	writer := faultWriter{faultFiles: f.files, dir: dir}
	defer writer.close() //nolint:errcheck // nothing is promised for it any more
	for i, s := range f.stretches {
		if err := device.Set(s.mode); err != nil {
			return w, fmt.Errorf("making the device %s: %w", s.mode, err)
		}
		w.attempted = int(s.end * float64(len(f.files.data)))
		if err := writer.upTo(w.attempted); err != nil {
			if i == 0 {
				return w, Subject("failed before any fault: %v", err)
			}
			return w, nil
		}
		w.promised = w.attempted
	}
	return w, nil
}
