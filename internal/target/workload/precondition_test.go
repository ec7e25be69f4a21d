package workload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		name   string
		speeds []float64
		want   bool
		mean   float64
	}{
		{"too few", []float64{5, 5, 5, 5}, false, 0},
		{"even", []float64{5, 5, 5, 5, 5}, true, 5},
		{"what came before does not count", []float64{50, 1, 5, 5, 5, 5, 5}, true, 5},
		{"inside the band", []float64{9.1, 10.9, 10, 10.9, 9.1}, true, 10},
		{"one outside the band", []float64{10, 10, 10.5, 11.6, 10.4}, false, 10.5},
		{"a slope of 10 %", []float64{9.5, 9.75, 10, 10.25, 10.5}, true, 10},
		{"a slope beyond", []float64{9.4, 9.7, 10, 10.3, 10.6}, false, 10},
		{"falling beyond", []float64{10.6, 10.3, 10, 9.7, 9.4}, false, 10},
		{"nothing moves", []float64{0, 0, 0, 0, 0}, false, 0},
	} {
		is, mean := steady(c.speeds)
		if is != c.want || math.Abs(mean-c.mean) > 1e-9 {
			t.Errorf("%s: %v at %v", c.name, is, mean)
		}
	}
}

// slowing is a medium with a clock: fast until a certain amount was rewritten, then slow, like a
// device that has used up its spare space.
type slowing struct {
	clock      time.Duration
	fast, slow float64 // B/s
	after      int64   // B
	written    int64
	full       int64 // B at which there is no space left; 0: never
	fail       unix.Errno
	removed    bool
	beyond     bool // something was written outside of the files
	size       int64
}

func (s *slowing) open(int) error { return nil }
func (s *slowing) write(file int, offset, length int64, _ uint64) unix.Errno {
	if s.fail != 0 {
		return s.fail
	}
	if s.full > 0 && s.written+length > s.full {
		return unix.ENOSPC
	}
	at := int64(file)*preconditionFile + offset
	s.beyond = s.beyond || at+length > s.size || length <= 0 || offset+length > preconditionFile
	speed := s.fast
	if s.written > s.after {
		speed = s.slow
	}
	s.written += length
	s.clock += time.Duration(float64(length) / speed * 1e9)
	return 0
}
func (s *slowing) sync(int) unix.Errno { return 0 }
func (s *slowing) remove() error       { s.removed = true; return nil }

func precondition(t *testing.T, s *slowing) (*preconditioner, map[string]result.Measurement, result.Note) {
	t.Helper()
	p := newPreconditioner(s.size, s)
	p.now = func() time.Duration { return s.clock }
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	if !s.removed || s.beyond {
		t.Errorf("removed %v, written outside of the files %v", s.removed, s.beyond)
	}
	x := p.extra()
	all := map[string]result.Measurement{}
	for _, m := range x.Measurements {
		all[m.Metric] = m
	}
	return p, all, x.Notes[0]
}

func TestPreconditionUntilSteady(t *testing.T) {
	size := int64(1200 << 20) // more than one file
	p, m, note := precondition(t, &slowing{size: size, fast: 100e6, slow: 10e6, after: size + size/5})
	if m[result.PreconditionSteady].Value != 1 || math.Abs(m[result.PreconditionSpeed].Value-10e6) > 1e3 {
		t.Errorf("%+v", m)
	}
	// The fast time lasts 12 of 64 windows; only then can five slow ones follow.
	if n := len(p.speeds); n < leastWindows || n > leastWindows+1 {
		t.Errorf("steady after %d windows", n)
	}
	if note.Level != result.Info || !strings.Contains(note.Text, "steady at 10 MB/s") || m[result.PreconditionBytes].Value != float64(p.written) {
		t.Errorf("%+v %+v", note, m)
	}
	// A change late in the first third is awaited.
	p, m, _ = precondition(t, &slowing{size: size, fast: 100e6, slow: 20e6, after: size + size*20/64})
	if n := len(p.speeds); n < 20+steadyWindows || m[result.PreconditionSteady].Value != 1 {
		t.Errorf("steady after %d windows", n)
	}
}

func TestPreconditionWithoutEnd(t *testing.T) {
	for name, c := range map[string]struct {
		s       *slowing
		why     string
		windows bool
	}{
		"time while filling":   {&slowing{size: 64 << 20, fast: 100e3, slow: 100e3, after: 1 << 40}, "while the files were being written", false},
		"time while rewriting": {&slowing{size: 64 << 20, fast: 100e6, slow: 10e3, after: 64 << 20}, "the time limit of 5m0s was reached", false},
		"no space":             {&slowing{size: 64 << 20, fast: 100e6, slow: 100e6, full: 72 << 20}, "no space left", true},
	} {
		p, m, note := precondition(t, c.s)
		if m[result.PreconditionSteady].Value != 0 || note.Level != result.Warning || !strings.Contains(note.Text, c.why) {
			t.Errorf("%s: %+v, %+v", name, m, note)
		}
		if !c.windows && m[result.PreconditionSpeed].Absent == "" {
			t.Errorf("%s: a speed of %d windows: %+v", name, len(p.speeds), m)
		}
		if c.s.clock > PreconditionLimit+10*time.Second {
			t.Errorf("%s: took %v", name, c.s.clock)
		}
	}
	s := &slowing{size: 64 << 20, fail: unix.EIO}
	p := newPreconditioner(s.size, s)
	var f *result.Failure
	if err := p.run(); !errors.As(err, &f) || f.Outcome != result.SubjectFailed || !s.removed {
		t.Errorf("%v, removed %v", err, s.removed)
	}
}

func TestPreconditionAbsent(t *testing.T) {
	for _, name := range []string{"nilfs2", "erofs"} {
		fs, _ := filesystem.ByName(name)
		env := &Env{FS: fs}
		job, err := Precondition.Setup(t.Context(), env, scenario.Step{Work: "precondition"})
		if err != nil || job.Absent == "" || job.Run != nil || len(job.AbsentMetrics) != len(preconditionMetrics) {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
	}
}

// On a real filesystem everything is gone afterwards.
func TestPreconditionRoot(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, loopMount(t, "64M", "mkfs.ext4", "-q"), nil)
	var before, after unix.Statfs_t
	_ = unix.Statfs(env.Mount, &before)
	tally, x := must(t, env, Precondition, scenario.Step{Work: "precondition"})
	_ = unix.Statfs(env.Mount, &after)
	if before.Bfree != after.Bfree {
		t.Errorf("%d blocks are free where %d were", after.Bfree, before.Bfree)
	}
	if least := int64(float64(before.Bavail) * float64(before.Bsize) * preconditionShare); tally.Bytes < least {
		t.Errorf("%d bytes written, less than the %d that fill it", tally.Bytes, least)
	}
	if len(x.Measurements) != len(preconditionMetrics) || len(x.Notes) != 1 {
		t.Errorf("%+v", x)
	}
}
