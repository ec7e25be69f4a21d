package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// fioEnv is a directory that represents a mounted filesystem.
func fioEnv(t *testing.T) *Env {
	t.Helper()
	env := &Env{Mount: t.TempDir(), Work: t.TempDir(), Mounted: true}
	env.FS.Name = "test"
	return env
}

// fakeFio runs a script before the real fio. $out is the file for results.
func fakeFio(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a in \"$@\"; do case $a in --output=*) out=${a#--output=};; esac; done\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "fio"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// setUpFio sets up a job and runs it, and returns where it failed.
func setUpFio(ctx context.Context, env *Env, step scenario.Step) (Extra, error) {
	step.Work = Fio.Name
	job, err := Fio.Setup(ctx, env, step)
	if err != nil {
		return Extra{}, fmt.Errorf("setup: %w", err)
	}
	var t Tally
	if err := job.Run(&t); err != nil {
		return Extra{}, fmt.Errorf("run: %w", err)
	}
	x, err := job.After()
	if err != nil {
		return Extra{}, fmt.Errorf("after: %w", err)
	}
	return x, nil
}

func fioFigure(t *testing.T, x Extra, metric string) result.Measurement {
	t.Helper()
	for _, m := range x.Measurements {
		if m.Metric == metric {
			return m
		}
	}
	t.Fatalf("no figure %s among %v", metric, x.Measurements)
	return result.Measurement{}
}

const fioWrites = "[elc]\nrw=write\nsize=1M\nblocksize=64k\nnrfiles=2\nioengine=psync\nend_fsync=1\n"

// The real program, as the studies use it.
func TestFioWithRealProgram(t *testing.T) {
	env := fioEnv(t)
	x, err := setUpFio(t.Context(), env, scenario.Step{Dir: "a/b", Job: fioWrites})
	if err != nil {
		t.Fatal(err)
	}
	if got := fioFigure(t, x, result.DataBytes).Value; got != 1<<20 {
		t.Errorf("%v bytes", got)
	}
	if got := fioFigure(t, x, result.Ops).Value; got != 16 {
		t.Errorf("%v requests", got)
	}
	for _, metric := range []string{result.FioTime, result.FioWrite + result.FioBW, result.FioWrite + result.FioGiB, result.LatP50, result.FioWrite + "." + result.LatMax} {
		if m := fioFigure(t, x, metric); m.Absent == "" && m.Value <= 0 || m.Absent != "" && !strings.Contains(m.Absent, "millisecond") {
			t.Errorf("%+v", m)
		}
	}
	if m := fioFigure(t, x, result.FioRead+result.FioBW); m.Absent == "" || m.Value != 0 {
		t.Errorf("nothing was read, and yet %+v", m)
	}
	if len(x.Artifacts) != 1 || x.Artifacts[0].Name != "fio.json" || !strings.Contains(x.Artifacts[0].Text, `"bins"`) {
		t.Errorf("artifacts %+v", x.Artifacts)
	}
	names, err := filepath.Glob(filepath.Join(env.Mount, "a/b/*"))
	if err != nil || len(names) != 2 {
		t.Errorf("files %v, %v", names, err)
	}
}

// Data to be read are laid out once, before the clock starts, and nothing of them is cached then:
// the next job on the same files finds them.
func TestFioLaysOutOnce(t *testing.T) {
	env := fioEnv(t)
	job := func(rw, block string) string {
		return "[elc]\nrw=" + rw + "\nsize=2M\nbs=" + block + "\nnrfiles=4\nioengine=psync\n"
	}
	if _, err := setUpFio(t.Context(), env, scenario.Step{Dir: "read", Job: job("read", "64k")}); err != nil {
		t.Fatal(err)
	}
	first := modified(t, env.Mount)
	r := &fioRun{env: env, dir: filepath.Join(env.Mount, "read"), out: filepath.Join(env.Work, "none")}
	fakeFio(t, `case "$*" in *create_only*) echo laid out again >&2; exit 9;; esac; /usr/bin/fio "$@"`)
	if _, err := setUpFio(t.Context(), env, scenario.Step{Dir: "read", Job: job("randread", "4k")}); err != nil {
		t.Error(err)
	}
	if got := modified(t, env.Mount); got != first {
		t.Errorf("files were\n%sand are\n%s", first, got)
	}
	if err := os.Remove(filepath.Join(r.dir, "elc.0.1")); err != nil {
		t.Fatal(err)
	}
	if _, err := setUpFio(t.Context(), env, scenario.Step{Dir: "read", Job: job("read", "4k")}); err == nil || !strings.Contains(err.Error(), "laid out again") {
		t.Errorf("a file is missing, and nothing is laid out: %v", err)
	}
	if _, err := setUpFio(t.Context(), env, scenario.Step{Dir: "read", Job: strings.Replace(job("read", "4k"), "2M", "4M", 1)}); err == nil || !strings.Contains(err.Error(), "laid out again") {
		t.Errorf("other files are wanted, and nothing is laid out: %v", err)
	}
	if _, err := setUpFio(t.Context(), env, scenario.Step{Dir: "write", Job: job("write", "4k")}); err != nil {
		t.Errorf("what only writes needs no layout: %v", err)
	}
}

func modified(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	if _, err := filesBelow(dir, func(f *os.File) {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Error(err)
		}
		fmt.Fprintln(&b, f.Name(), st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec)
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The cause of each possible failure is identified.
func TestFioFails(t *testing.T) {
	const good = `printf '{"fio version":"fio-3.33","jobs":[{"jobname":"x","error":%s,"job_runtime":5,"write":{"io_bytes":4096,"total_ios":1,"runtime":5}}]}' "$err" >"$out"`
	for name, c := range map[string]struct {
		script, job string
		outcome     result.Outcome // "": the lab
		want        string
	}{
		"away":         {"exit 0", "[x]\nfilename=/dev/sda\n", result.Refused, "line 2"},
		"no job":       {"exit 0", "", result.Refused, "no job"},
		"bad option":   {"echo 'Bad option <nosuch=1>' >&2; echo 'fio: failed' >$out; exit 1", fioWrites, result.Refused, "Bad option"},
		"no results":   {"exit 1", fioWrites, result.Refused, "refuses"},
		"nonsense":     {"echo '{ \"fio version\" : 7 ' >$out; exit 0", fioWrites, "", "cannot be read"},
		"nothing":      {"exit 0", fioWrites, "", "no results"},
		"empty":        {": >$out; exit 0", fioWrites, "", "no results"},
		"half":         {"/usr/bin/fio \"$@\"; head -c 900 $out >$out.x; mv $out.x $out; exit 0", fioWrites, "", "cannot be read"},
		"half, failed": {"/usr/bin/fio \"$@\"; head -c 900 $out >$out.x; mv $out.x $out; exit 3", fioWrites, "", "status 3"},
		"died":         {"kill -9 $$", fioWrites, "", "killed"},
		"i/o error":    {"err=5; " + good + "; exit 1", fioWrites, result.SubjectFailed, "input/output error"},
		"full":         {"err=28; " + good + "; exit 1", fioWrites, result.SubjectFailed, "no space left"},
		"quiet error":  {"err=5; " + good + "; exit 0", fioWrites, result.SubjectFailed, "input/output error"},
		"for nothing":  {"err=0; " + good + "; exit 4", fioWrites, "", "does not name the cause"},
		"too much":     {"truncate -s 8M $out; exit 0", fioWrites, "", "group_reporting"},
		"too large":    {"exit 0", "[x]\nrw=write\nsize=900g\nnumjobs=9\n", result.Refused, "do not fit"},
		"too large to be": {"exit 0", "[x]\nrw=write\nsize=900g\n[y]\nrw=write\nsize=50%\n", result.Refused,
			"specify a size"},
		"not below": {"exit 0", fioWrites, result.Refused, "not below"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeFio(t, c.script)
			env := fioEnv(t)
			step := scenario.Step{Dir: "d", Job: c.job}
			if name == "not below" {
				step.Dir = "../d"
			}
			_, err := setUpFio(t.Context(), env, step)
			var f *result.Failure
			if errors.As(err, &f) != (c.outcome != "") || f != nil && f.Outcome != c.outcome {
				t.Fatalf("%v (%+v), want %q", err, f, c.outcome)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q lacks %q", err, c.want)
			}
			if c.outcome == result.Refused && name != "no results" && f.Hint == "" && name != "not below" {
				t.Errorf("%q has no hint", err)
			}
		})
	}
}

func TestFioIsMissing(t *testing.T) {
	env := fioEnv(t)
	t.Setenv("PATH", t.TempDir())
	_, err := setUpFio(t.Context(), env, scenario.Step{Job: fioWrites})
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.Unsupported || !strings.Contains(f.Hint, "apt-get install fio") {
		t.Errorf("%v", err)
	}
}

// A fio that never ends is killed at the step's limit, with everything it has started.
func TestFioHangs(t *testing.T) {
	for _, where := range []string{"create_only", "nowhere"} {
		env := fioEnv(t)
		pid := filepath.Join(env.Work, "pid")
		fakeFio(t, `case "$*" in *create_only*) [ `+where+` = create_only ] || exec /usr/bin/fio "$@";; esac
sleep 1000 & echo $! >`+pid+`.x; mv `+pid+`.x `+pid+`; wait`)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { // the limit is over as soon as it hangs
			for ctx.Err() == nil {
				if _, err := os.Stat(pid); err == nil {
					cancel(Subject("not finished after a while"))
				}
			}
		}()
		_, err := setUpFio(ctx, env, scenario.Step{Job: "[x]\nrw=read\nsize=64k\nioengine=psync\n"})
		cancel(nil)
		var f *result.Failure
		if !errors.As(err, &f) || f.Outcome != result.SubjectFailed || !strings.Contains(err.Error(), "not finished") {
			t.Errorf("%s: %v", where, err)
		}
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(string(text), &n); err != nil || alive(n) {
			t.Errorf("%s: the program's child %d lives on (%v)", where, n, err)
		}
	}
}

// alive: the process exists and is not a zombie that waits for its parent.
func alive(pid int) bool {
	for range 1000 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return false
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) // it was killed: it goes at once, or never
	}
	return true
}

// Information from fio besides figures is passed on.
func TestFioNotes(t *testing.T) {
	fakeFio(t, `echo '{"fio version":"fio-3.33","jobs":[{"jobname":"x","total_err":3,"job_runtime":1,"write":{"io_bytes":4096,"total_ios":2,"short_ios":1,"runtime":0,
"clat_ns":{"max":19000000000,"bins":{"1000":1,"17112760320":1}}}}]}' >$out`)
	x, err := setUpFio(t.Context(), fioEnv(t), scenario.Step{Job: fioWrites})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(x.Notes)
	if !strings.Contains(text, "continued after 3 errors") || !strings.Contains(text, "1 of 2 requests (write) were short") {
		t.Error(text)
	}
	if m := fioFigure(t, x, result.FioTime); !strings.Contains(m.Absent, "millisecond") || m.Value != 0 {
		t.Errorf("%+v", m)
	}
	if m := fioFigure(t, x, result.LatP99); !strings.Contains(m.Absent, "at least 17.0 s") || m.Value != 0 {
		t.Errorf("%+v", m)
	}
	if m := fioFigure(t, x, result.LatMax); m.Absent != "" || m.Value != 19 {
		t.Errorf("%+v", m)
	}
	if m := fioFigure(t, x, result.LatP50); m.Absent != "" || math.Abs(m.Value-1e-6) > 1e-15 {
		t.Errorf("%+v", m)
	}
}
