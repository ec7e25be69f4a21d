package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const workPrefix = "whichfs-bench-"

// workspace makes a directory below dir, and release removes it. What an
// earlier benchmark left that was killed is removed too: it holds a lock as
// long as it lives.
func workspace(dir string) (work string, release func() error, err error) {
	old, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range old {
		sweep(path)
	}
	if work, err = os.MkdirTemp(dir, workPrefix); err != nil {
		return "", nil, err
	}
	lock, err := os.Open(work)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(work))
	}
	return work, func() error { return errors.Join(os.RemoveAll(work), lock.Close()) }, nil
}

// sweep removes a dead benchmark's directory, as well as that goes.
func sweep(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // read only
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // alive
	}
	// The loop devices go with the mounts.
	inside, _ := os.ReadDir(path)
	for _, e := range inside {
		_ = unix.Unmount(filepath.Join(path, e.Name()), unix.MNT_DETACH)
	}
	_ = os.RemoveAll(path)
}

// favoured gives this process the most of the processor that it can get, and
// what it starts inherits that; the function returned takes it back. The
// kernel counts threads, not processes.
func favoured() func() {
	set := func(nice int) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, t := range tasks {
			if id, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
			}
		}
	}
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return func() {}
	}
	set(-20)
	return func() { set(20 - before) } // so the kernel answers
}
