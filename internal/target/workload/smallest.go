package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
)

// Smallest searches the smallest storage, to 4 KiB, on which the candidate can be made and mounted
// and a file of 1 KiB written and synced, with nothing left out that it has on larger storage. It
// works on disks in memory, beside the storage under test.
//
// The size that its file gives (MinSize) comes first: if it fits, and one block less does not, that
// is the answer, with two filesystems made instead of the eighteen of a bisection.
var Smallest = Kind{Name: "smallest", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.Raw || env.FS.Make == nil {
		return Job{Absent: "only a filesystem that mkfs makes on a block device has one", AbsentMetrics: smallestMetrics}, nil
	}
	if available, _, err := memoryLeft(); err == nil && available < smallestMemory {
		return Job{Absent: fmt.Sprintf("a disk in memory could take more of it than is left, %d MiB", available>>20), AbsentMetrics: smallestMetrics}, nil
	}
	if err := LoadForFaults(env.Modules, env.Candidate); err != nil {
		return Job{Absent: err.Error(), AbsentMetrics: smallestMetrics}, nil
	}
	s := &smallest{ctx: ctx, env: env, room: map[int64]unix.Statfs_t{}}
	env.warm(env.FS.Make(env.Candidate, "")[0])
	var size int64
	var why string
	return Job{
		Simulates: true, // sizes that are too small, on purpose
		Computes:  true, // mkfs
		Run: func(*Tally) (err error) {
			// The meter has turned the collector off, and this code allocates a lot.
			defer debug.SetGCPercent(debug.SetGCPercent(50))
			size, err = leastThat(env.FS.MinSize(env.Candidate), s.fits)
			if ctx.Err() == nil && !env.Hung && err != nil {
				why, err = err.Error(), nil // a fact is missing, and the trial is none the worse
			}
			return err
		},
		After: func() (Extra, error) {
			if why != "" {
				return Extra{Measurements: absentFigures(smallestMetrics, why)}, nil
			}
			st := s.room[size]
			return Extra{Measurements: []result.Measurement{
				result.Figure(result.Smallest, float64(size)),
				result.Figure(result.SpaceAvailable, float64(st.Bsize)*float64(st.Bavail)),
				result.Figure(result.Inodes, float64(st.Files)),
			}}, nil
		},
	}, nil
}}

var smallestMetrics = []string{result.Smallest, result.SpaceAvailable, result.Inodes}

// smallestMemory is the free memory that a search needs, in bytes: XFS writes a log of 64 MiB, and
// the kernel caches it once more.
const smallestMemory = 160 << 20

// smallestLimit ends a search, in bytes.
const smallestLimit = 2 << 30

// leastThat returns the smallest multiple of a block that fits, where everything larger fits as
// well. It begins with a guess, and ends at once if that is right.
func leastThat(guess int64, fits func(size int64) (bool, error)) (int64, error) {
	const unit = fault.BlockSize
	guess = max(1, (guess+unit-1)/unit) // from here on in units
	low, high := int64(0), guess        // low does not fit
	for {
		ok, err := fits(high * unit)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		if low, high = high, 2*high; high*unit > smallestLimit {
			return 0, fmt.Errorf("it cannot be made, mounted and written to on %d bytes", low*unit)
		}
	}
	for high-low > 1 {
		at := (low + high) / 2
		if high == guess {
			at = high - 1
		}
		ok, err := fits(at * unit)
		switch {
		case err != nil:
			return 0, err
		case ok:
			high = at
		default:
			low = at
		}
	}
	return high * unit, nil
}

// smallest is a search.
type smallest struct {
	ctx  context.Context
	env  *Env
	room map[int64]unix.Statfs_t // of the sizes that fit
}

// fits makes the filesystem on a disk of size bytes and uses it.
func (s *smallest) fits(size int64) (ok bool, err error) {
	stage, err := aftermath.NewStage(aftermath.Settings{FS: s.env.FS, Options: s.env.mountOptions(), Size: size,
		Dir: filepath.Join(s.env.Work, "smallest"), Patience: faultPatience, Alone: true})
	if err != nil {
		return false, err
	}
	defer func() {
		s.env.Hung = s.env.Hung || stage.Left()
		err = errors.Join(err, stage.Close())
	}()
	device := stage.Disk().Path()
	argv, err := s.env.makeOn(s.ctx, device, size)
	if err != nil {
		return false, err
	}
	err = runTool(s.ctx, argv)
	if err == nil {
		err = stage.Use(s.ctx, device, func(root string) error { return s.use(root, device, size) })
	}
	var f *result.Failure
	if errors.As(err, &f) && f.Outcome == result.SubjectFailed {
		return false, nil
	}
	return err == nil, err
}

func (s *smallest) use(root, device string, size int64) error {
	if s.env.FS.LeftOut != nil {
		if what := s.env.FS.LeftOut(s.env.Candidate, filesystem.Evidence{Device: filepath.Base(device), Read: readerOf(device), MountPoint: root}); what != "" {
			return Subject("it was made without %s", what)
		}
	}
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return Subject("statfs: %v", err)
	}
	file, err := os.Create(filepath.Join(root, "file"))
	if err != nil {
		return Subject("create: %v", cause(err))
	}
	_, err = file.Write(make([]byte, 1<<10))
	if err == nil {
		err = file.Sync()
	}
	if end := file.Close(); err == nil {
		err = end
	}
	if err != nil {
		return Subject("write: %v", cause(err))
	}
	s.room[size] = st
	return nil
}
