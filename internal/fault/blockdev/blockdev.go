// Package blockdev makes block devices in memory, and devices above them that
// record, corrupt, drop or fail what they are sent (the kernel's device mapper).
// Everything that it makes it removes.
package blockdev
