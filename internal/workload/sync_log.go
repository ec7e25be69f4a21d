package workload

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// syncWords are in what a driver says of damage, and of what it did about it.
var syncWords = []string{"recover", "error", "fail", "corrupt", "replay", "orphan", "not clean", "not properly", "uncorrect", "empty flash", "crc"}

// syncIdle are in lines that say the like of a kernel, or of nothing, or that are
// part of a trace.
var syncIdle = []string{"module verification", "xattr subsystem", "corrupted pebs: 0", "+0x"}

// recoveries are the lines of the kernel's log in which the filesystem, or what
// lies below it, says something of the kind.
func recoveries(log []string, fs string) []string {
	var out []string
	for _, line := range log {
		low := strings.ToLower(line)
		from := strings.Contains(low, fs) || strings.Contains(low, "ubi") || strings.Contains(low, "nand")
		has := func(word string) bool { return strings.Contains(low, word) }
		if from && slices.ContainsFunc(syncWords, has) && !slices.ContainsFunc(syncIdle, has) {
			out = append(out, line)
		}
	}
	return out
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
