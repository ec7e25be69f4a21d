package bench

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/owner"
)

// workKind is owner's name for benchmarks' directories.
const workKind = "bench"

// workspace makes a directory below dir, the system's temporary one if empty, and release removes
// it. It also removes what an earlier, killed benchmark left.
func workspace(dir string) (work string, release func() error, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	owner.Sweep(dir, workKind) // the loop devices go with the mounts
	work, lock, err := owner.Dir(dir, workKind)
	if err != nil {
		return "", nil, err
	}
	return work, func() error { return errors.Join(os.RemoveAll(work), lock.Close()) }, nil
}

// favoured gives this process the highest possible priority, which its children inherit; the
// returned function restores the old one. The kernel counts threads, not processes.
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
	return func() { set(20 - before) } // the kernel's encoding of the answer
}
