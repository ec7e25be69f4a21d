package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
)

// The benchmarks load the data of a report of one run from a store with a
// million measurements, and print the peak size of the process.

func BenchmarkReportOfOneAmongHundredRuns(b *testing.B) {
	benchmarkReport(b, 100, storetest.Usual(), 0, storetest.Shape{})
}

func BenchmarkReportOfLargeRun(b *testing.B) {
	benchmarkReport(b, 75, storetest.Usual(), 1, storetest.Large())
}

func BenchmarkReportOfRunWithAll(b *testing.B) {
	shape := storetest.Large()
	shape.Rounds = 300
	benchmarkReport(b, 0, storetest.Shape{}, 1, shape)
}

func benchmarkReport(b *testing.B, usual int, small storetest.Shape, large int, big storetest.Shape) {
	path := filepath.Join(b.TempDir(), "results.db")
	if err := storetest.Fill(path, usual, small); err != nil {
		b.Fatal(err)
	}
	if err := storetest.Fill(path, large, big); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	b.ResetTimer()
	figures := 0
	for b.Loop() {
		figures = load(b, path)
	}
	b.ReportMetric(float64(figures), "figures")
	b.ReportMetric(peak(b), "peak-MB")
}

// load uses the store like whichfs report, and counts the figures.
func load(b *testing.B, path string) (figures int) {
	s, err := store.OpenReadOnly(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	run, err := s.Run("last")
	if err != nil {
		b.Fatal(err)
	}
	trials, err := s.Trials(run.ID)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Support(run.ID); err != nil {
		b.Fatal(err)
	}
	for _, t := range trials {
		figures += len(t.Measurements)
	}
	return figures
}

// peak is the largest resident size of this process so far, in MB.
func peak(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb * 1024 / 1e6
		}
	}
	b.Fatal("no VmHWM")
	return 0
}

// BenchmarkFill stores one run of 252,000 figures.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "results.db")
		if err := storetest.Fill(path, 1, storetest.Large()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	path := filepath.Join(b.TempDir(), "results.db")
	if err := storetest.Fill(path, 100, storetest.Usual()); err != nil {
		b.Fatal(err)
	}
	s, err := store.OpenReadOnly(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for b.Loop() {
		if err := s.Check(); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "file-MB")
}
