package workload

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// kernelBefore reports whether the running kernel is older than a version of Linux.
func kernelBefore(major, minor int) bool {
	var uname unix.Utsname
	return unix.Uname(&uname) == nil && before(unix.ByteSliceToString(uname.Release[:]), major, minor)
}

// before reports whether a release is older than a version; one that has no version is not.
func before(release string, major, minor int) bool {
	var a, b int
	_, err := fmt.Sscanf(release, "%d.%d", &a, &b)
	return err == nil && (a < major || a == major && b < minor)
}
