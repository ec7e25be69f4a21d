package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// FlakyWrites writes Files files (1) of Size bytes together (4 MiB) to a disk in memory with a
// Fault, unmounts, and judges the remains without the fault, Count times. Seed determines the
// contents and every random draw. Fault is one of
//
//   - corrupt-after: from some point on, a byte of each request's data is replaced
//   - corrupt-in-turn: the same, alternating with good writes
//   - corrupt-either: the first of these in odd iterations, the second in even ones, and not by the
//     device: every request is recorded, and corrupted before it is written to the disk again
//   - drop: from some point on, writes are acknowledged but not done
//   - fail: from some point on, writes fail with an error
//
// What a byte is replaced by, and which one: see spotOf. The kernel's device (dm-flakey), which the
// source used, replaces the bytes in the filesystem's own memory as well (blockdev.Faulty). Kernels
// seldom survive that if the byte is in the middle of something, so that only corrupt-either takes
// others than the first of each request, and zero.
//
// The source of these cases (elc-2015) counted seconds: ten good ones, or one good and one bad in
// turn. Only a slow device takes longer than that for a file of 30 MB; memory does not. So the
// points are shares of the data: about the first third is good; or about each tenth in turn,
// starting with a good one. Where exactly a change comes is drawn for each iteration, or all of them
// would be the same. The data is written through the page cache, and before each change and at the
// end the filesystem is synced (syncfs): there are good and damaged parts however fast the device
// is. The filesystem is unmounted in the last state: a good one where they alternate, otherwise the
// bad one.
//
// The worst file counts. A part for which syncfs returned without an error is promised; if write,
// close or syncfs returned an error, the writer stops, as programs do, and data missing from that
// part breaks no promise: the loss was reported, and the outcome is fault.IOError at best.
var FlakyWrites = Kind{Name: fault.FlakyWrites, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return absentCase(why), nil
	}
	if stretchesOf(step.Fault, 1, chance(0, 1, drawStretches)) == nil {
		return Job{}, result.Refuse("", "step %q: unknown fault %q", step.Work, step.Fault)
	}
	if err := checkSpot(step); err != nil {
		return Job{}, err
	}
	if step.Fault != fault.CorruptEither && (step.Byte != "" || step.Order != "" || step.Block != 0) {
		return Job{}, result.Refuse("", "step %q: only the fault %q takes a byte, an order or a block", step.Work, fault.CorruptEither)
	}
	files, err := newFaultFiles(step, flakySize, 1)
	if err != nil {
		return Job{}, err
	}
	b, err := newBed(ctx, env, step, int64(len(files.data)), true)
	if err != nil {
		return Job{}, err
	}
	f := &flaky{bed: b, step: step, files: files}
	if step.Fault == fault.CorruptEither {
		return b.job(step, f.recorded), nil
	}
	return b.job(step, f.one), nil
}}

const (
	flakySize = 4 << 20
	// flakyLogMost is the largest size of a record, in bytes.
	flakyLogMost = 256 << 20
)

// Purposes of the random draws of an iteration (chance).
const (
	drawStretches = 4
	drawSpot      = 5
	drawSectors   = 6
)

// spotLimit bounds the place of a corrupted byte, in bytes: few requests are shorter.
const spotLimit = 512

// checkSpot refuses a step that names no byte, place or unit.
func checkSpot(step scenario.Step) error {
	known := slices.Contains([]string{"", fault.ByteZero, fault.ByteOnes, fault.ByteRandom}, step.Byte) &&
		slices.Contains([]string{"", scenario.OrderRandom}, step.Order) && (step.Block == 0 || step.Block == fault.BlockSize)
	if !known {
		return result.Refuse("", "step %q: byte %q, order %q, blocks of %d bytes", step.Work, step.Byte, step.Order, step.Block)
	}
	return nil
}

// spotOf is which byte of each request is corrupted, or with Block of each block of 4 KiB, and what
// it becomes: the first one, or with the order "random" one of the next 511, drawn for each iteration;
// and Byte, by default zero.
func spotOf(step scenario.Step, number int) blockdev.Spot {
	r := chance(step.Seed, number, drawSpot)
	var spot blockdev.Spot
	switch step.Byte {
	case fault.ByteOnes:
		spot.Value = 0xff
	case fault.ByteRandom:
		spot.Value = byte(1 + r.IntN(0xfe))
	}
	if step.Order == scenario.OrderRandom {
		spot.Offset = 1 + r.IntN(spotLimit-1)
	}
	return spot
}

// stretch is a part of the data and its fate.
type stretch struct {
	end  float64 // share of the data
	mode blockdev.Mode
}

// stretchesOf are those of a fault in an iteration; nil for an unknown one.
func stretchesOf(name string, number int, r *rand.Rand) []stretch {
	if name == fault.CorruptEither {
		name = fault.CorruptInTurn
		if number%2 == 1 {
			name = fault.CorruptAfter
		}
	}
	// about moves a change by up to half of its distance from the next.
	about := func(at, distance float64) float64 { return at + distance*(r.Float64()-0.5) }
	then := map[string]blockdev.Mode{fault.CorruptAfter: blockdev.Corrupt, fault.DropWrites: blockdev.Drop, fault.FailWrites: blockdev.Fail}
	if mode, ok := then[name]; ok {
		return []stretch{{about(1.0/3, 1.0/3), blockdev.Good}, {1, mode}}
	}
	if name != fault.CorruptInTurn {
		return nil
	}
	var turns []stretch
	for i := 1; i < 10; i++ {
		mode := blockdev.Good
		if i%2 == 0 {
			mode = blockdev.Corrupt
		}
		turns = append(turns, stretch{about(float64(i)/10, 0.1), mode})
	}
	return append(turns, stretch{1, blockdev.Corrupt}, stretch{1, blockdev.Good})
}

// flaky is a step of flaky writes.
type flaky struct {
	*bed
	step  scenario.Step
	files *faultFiles
}

func (f *flaky) one(number int) error {
	if err := f.restore(f.fresh, nil); err != nil {
		return err
	}
	device, err := blockdev.NewFaulty(f.stage.Disk(), blockdev.Spot{})
	if err != nil {
		return err
	}
	var w wrote
	err = f.stage.Use(f.ctx, device.Path(), func(root string) (err error) {
		w, err = f.stretchByStretch(root, device.Set, f.stretches(number))
		return err
	})
	if end := device.Close(); err == nil && end != nil {
		err = end
	}
	if err != nil {
		return err
	}
	return f.judgeWrote(number, w)
}

func (f *flaky) stretches(number int) []stretch {
	return stretchesOf(f.step.Fault, number, chance(f.step.Seed, number, drawStretches))
}

func (f *flaky) judgeWrote(number int, w wrote) error {
	return f.judge(number, func(root string) aftermath.Found {
		found := f.files.judge(root, w.promised, w.attempted)
		found.Stopped = w.stopped
		return found
	})
}

// recorded makes an iteration with requests that are corrupted on their way, and not in the
// filesystem's memory.
func (f *flaky) recorded(number int) error {
	if err := f.restore(f.fresh, nil); err != nil {
		return err
	}
	var w wrote
	log, err := f.stage.Record(f.ctx, flakyLogMost, true, func(root string, mark func(string) error) (err error) {
		w, err = f.stretchByStretch(root, func(m blockdev.Mode) error {
			if err := f.stage.Flush(); err != nil { // some are mounted not to
				return err
			}
			return mark(string(m))
		}, f.stretches(number))
		return err
	})
	if err != nil {
		return err
	}
	log = corrupted(log, spotOf(f.step, number), f.step.Block)
	all := len(log.Entries)
	changed, _ := states.NewMaker(f.image, log).Make(states.State{Point: all, Kept: states.Volatile(log, all)})
	if err := f.restore(f.fresh, changed); err != nil {
		return err
	}
	return f.judgeWrote(number, w)
}

// corrupted is a log in which each write between the marks "corrupt" and "good" has a byte replaced,
// or, with block, one in each block of that size in which it has that byte.
func corrupted(log writelog.Log, spot blockdev.Spot, block int64) writelog.Log {
	log.Entries = slices.Clone(log.Entries)
	bad := false
	for i, e := range log.Entries {
		switch {
		case e.Flags&writelog.Mark != 0 && string(e.Data) == string(blockdev.Corrupt):
			bad = true
		case e.Flags&writelog.Mark != 0 && string(e.Data) == string(blockdev.Good):
			bad = false
		case bad && e.IsWrite():
			data := bytes.Clone(e.Data)
			first, step := int64(spot.Offset), int64(len(data))
			if block > 0 {
				first, step = int64(spot.Offset)-int64(e.Sector*writelog.SectorSize)%block, block
			}
			for at := first; at < int64(len(data)); at += step {
				if at >= 0 {
					data[at] = spot.Value
				}
			}
			log.Entries[i].Data = data
		}
	}
	return log
}

// wrote is how far a writer got, in bytes of all the data.
type wrote struct {
	promised, attempted int
	stopped             bool // the filesystem became read-only
}

// stretchByStretch writes until the data ends or a call returns an error, which after the first
// stretch is part of the case. A returned error is our own, or occurred before any fault.
func (f *flaky) stretchByStretch(root string, set func(blockdev.Mode) error, stretches []stretch) (w wrote, err error) {
	dir, err := os.Open(root)
	if err != nil {
		return w, Subject("open the root: %v", cause(err))
	}
	defer dir.Close() //nolint:errcheck // read only
	writer := faultWriter{faultFiles: f.files, dir: dir}
	defer writer.close() //nolint:errcheck // nothing is promised for it any more
	for i, s := range stretches {
		if err := set(s.mode); err != nil {
			return w, fmt.Errorf("making the device %s: %w", s.mode, err)
		}
		w.attempted = int(s.end * float64(len(f.files.data)))
		if err := writer.upTo(w.attempted); err != nil {
			if i == 0 {
				return w, Subject("failed before any fault: %v", err)
			}
			w.stopped = errors.Is(err, unix.EROFS) || isReadOnly(root)
			return w, nil
		}
		w.promised = w.attempted
	}
	w.stopped = isReadOnly(root)
	return w, nil
}

// isReadOnly reports whether a driver has made its filesystem read-only.
func isReadOnly(root string) bool {
	var st unix.Statfs_t
	return unix.Statfs(root, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
