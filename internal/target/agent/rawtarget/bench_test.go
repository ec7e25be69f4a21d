package rawtarget

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
)

// BenchmarkRead is the overhead of a request: ns/op is everything, timed-ns the reported time.
func BenchmarkRead(b *testing.B) {
	needs.Devices(b)
	path, _ := loop(b, filepath.Join(b.TempDir(), "image"), 1<<20, 512, 0)
	d := opened(b, path, Options{})
	var sum time.Duration
	for b.Loop() {
		took, err := d.Read(0, 4096)
		must.Do(b, err)
		sum += took
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N), "timed-ns")
}

// BenchmarkEmpty is the overhead of timing a request: the system call on a device that does
// nothing, and two clock readings.
func BenchmarkEmpty(b *testing.B) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must.Do(b, err)
	defer unix.Close(fd) //nolint:errcheck // for reading
	var page [4096]byte
	r := request{op: opRead, fd: fd, buffer: page[:]}
	var sum time.Duration
	for b.Loop() {
		a := r.carryOut()
		sum += a.ended.Sub(a.began)
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N), "timed-ns")
}
