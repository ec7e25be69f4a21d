package workload

import (
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
)

// recoveries are the lines of the kernel's log in which the filesystem, or what
// lies below it, tells of damage, and of what it did about it.
func recoveries(log []string, fs string) []string {
	known, _ := filesystem.ByName(fs)
	said := known.ReadKernel(log)
	return slices.Concat(said.Errors, said.Replay)
}

// kernelLog is the whole log; nothing where it cannot be read.
func kernelLog() []string {
	log := newLines{-1}
	if fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		log.fd = fd
	}
	defer log.close()
	return log.lines()
}
