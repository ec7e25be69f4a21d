package workload

import (
	"context"
	"math"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Dates dates two files as far in the past and in the future as a system call can, mounts the
// filesystem again, and reads the years that it has kept: the kernel moves a date that the
// filesystem cannot hold to the nearest that it can (timestamp_truncate, since Linux 5.4).
var Dates = Kind{Name: "dates", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if uint64(^uintptr(0)) == math.MaxUint32 {
		return Job{Absent: "the system calls of a 32-bit processor date files until 2038 only", AbsentMetrics: datesMetrics}, nil
	}
	if kernelBefore(5, 4) {
		return Job{Absent: "before Linux 5.4 the kernel does not limit dates to those that a filesystem holds", AbsentMetrics: datesMetrics}, nil
	}
	call, err := env.mountCall()
	if err != nil {
		return Job{}, err
	}
	var years [2]float64
	return Job{
		Run: func(*Tally) error {
			for i, seconds := range []int64{math.MinInt64, math.MaxInt64} {
				if err := dateFile(filepath.Join(env.Mount, datedFiles[i]), seconds); err != nil {
					return err
				}
			}
			if err := env.unmount(call); err != nil {
				return err
			}
			if err := env.dropCaches(); err != nil {
				return err
			}
			if err := env.mount(call); err != nil {
				return err
			}
			for i, name := range datedFiles {
				path := filepath.Join(env.Mount, name)
				var st unix.Statx_t
				if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MTIME, &st); err != nil {
					return Subject("stat of a dated file: %v", err)
				}
				years[i] = yearOf(st.Mtime.Sec)
				if err := unix.Unlink(path); err != nil {
					return Subject("unlink of a dated file: %v", err)
				}
			}
			return nil
		},
		After: func() (Extra, error) {
			return Extra{Measurements: []result.Measurement{result.Figure(result.DatesFrom, years[0]), result.Figure(result.DatesUntil, years[1])}}, nil
		},
	}, nil
}}

var datesMetrics = []string{result.DatesFrom, result.DatesUntil}

var datedFiles = []string{"from", "until"}

// dateFile makes a file that was changed so many seconds after 1970.
func dateFile(path string, seconds int64) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return Subject("create a file to date: %v", err)
	}
	// As the call takes it on a 64-bit processor: unix.Timespec is the same there only.
	when := [2][2]int64{{seconds, 0}, {seconds, 0}}
	errno := utimesat(fd, nil, (*[2]unix.Timespec)(unsafe.Pointer(&when)))
	err = unix.Close(fd)
	if errno != 0 {
		err = errno
	}
	if err != nil {
		return Subject("date a file: %v", err)
	}
	return nil
}

// yearOf is the year of a number of seconds after 1970, in the Gregorian calendar's mean years,
// because package time ends long before what 64 bits hold.
func yearOf(seconds int64) float64 {
	const year = 31_556_952
	whole := seconds / year
	if seconds%year < 0 {
		whole--
	}
	return float64(1970 + whole)
}
