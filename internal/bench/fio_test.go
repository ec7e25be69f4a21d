package bench

import (
	"strings"
	"testing"

	"whichfs/internal/plan/fio"
)

// The jobs are valid, and together they fit twice onto the disk.
func TestFioJobs(t *testing.T) {
	for _, job := range fioJobs(fioVolume) {
		if err := fio.Check(job.text); err != nil {
			t.Errorf("%s: %v", job.name, err)
		}
		f, err := fio.Parse(job.text)
		if err != nil {
			t.Fatal(err)
		}
		if volume, known := f.Volume(); volume != fioVolume || !known {
			t.Errorf("%s takes %d bytes, %v", job.name, volume, known)
		}
		if f.Reads() != (job.direction == "read") {
			t.Errorf("%s: reads is %v", job.name, f.Reads())
		}
	}
}

func TestFioLine(t *testing.T) {
	job := fioJobs(fioVolume)[1]
	same := []float64{100, 101, 99, 100, 100, 100, 100, 100}
	for _, c := range []struct {
		ours []float64
		want string
	}{
		{same, "kept"},
		{[]float64{90, 91, 89, 90, 90, 90, 90, 90}, "NOT KEPT"},
		{[]float64{110, 111, 109, 110, 110, 110, 110, 110}, "NOT KEPT"},
		{[]float64{80, 85, 90, 98, 98, 120, 130, 110}, "too noisy to tell"},
	} {
		line := fioLine(job, c.ours, same)
		if !strings.HasSuffix(line, "\t"+c.want) || !strings.Contains(line, "requests/s") || strings.Contains(line, "NaN") {
			t.Errorf("%v: %q, want %s", c.ours, line, c.want)
		}
	}
	if line := fioLine(fioJobs(fioVolume)[0], []float64{2e6}, []float64{1e6}); !strings.Contains(line, "MB/s\t2\t1\t2.000") {
		t.Error(line)
	}
}
