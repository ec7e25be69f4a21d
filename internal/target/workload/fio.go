package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// Fio runs fio with the step's job, unchanged, in DIR below the mount point. If a job reads, fio's
// files are laid out before the clock starts, and nothing of the filesystem is cached then. The
// wall time is that of the whole program, including its start, until the filesystem reports that
// everything is on storage; fio's own measurements are recorded as well, and comparisons of I/O
// should use those. fio's json+ output is kept whole.
//
// A job that leaves the storage (fio.Check) is refused before anything is written, and so is one
// whose files do not fit.
var Fio = Kind{Name: "fio", Setup: setupFio}

// maxFioText is the largest output of fio that is read and kept, in bytes: it must fit into a
// message, in which it takes up to twice its length.
const maxFioText = 7 << 20

func setupFio(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if err := fio.Check(step.Job); err != nil {
		return Job{}, err
	}
	file, err := fio.Parse(step.Job)
	if err != nil {
		return Job{}, err
	}
	program, err := command.Look("fio")
	if err != nil {
		return Job{}, result.Fail(result.Unsupported, "apt-get install fio", "fio is not installed")
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	r := &fioRun{env: env, target: target, dir: filepath.Join(env.Mount, step.Dir),
		job: filepath.Join(env.Work, "fio.job"), out: filepath.Join(env.Work, "fio.json")}
	if err := r.fits(file); err != nil {
		return Job{}, err
	}
	if err := r.prepare(file, step.Job); err != nil {
		return Job{}, err
	}
	env.warm(program)
	if file.Reads() {
		if err := r.layOut(ctx, program, file); err != nil {
			return Job{}, err
		}
	}
	if err := r.cold(); err != nil {
		return Job{}, err
	}
	return Job{
		Run:   func(*Tally) error { return r.run(ctx, program) },
		After: r.after,
	}, nil
}

// fioRun is one step with fio.
type fioRun struct {
	env      *Env
	target   *target
	dir      string // where fio works
	job, out string // files of ours, in memory
}

// fits checks that there is room for the files that the jobs write. fio overwrites or removes files
// left by an earlier step.
func (r *fioRun) fits(file fio.File) error {
	need, known := file.Volume()
	what := "the files of the fio job do not fit"
	if !known {
		what = "the files of the fio jobs that specify a size do not fit"
	}
	there, err := filesBelow(r.dir, nil)
	if err != nil {
		return err
	}
	return room(r.env, what, max(0, need-there.bytes))
}

// prepare makes the directories that the jobs need, and the job file.
func (r *fioRun) prepare(file fio.File, text string) error {
	if err := r.target.makeDir(); err != nil {
		return err
	}
	for _, d := range file.Directories() {
		if err := os.MkdirAll(filepath.Join(r.dir, d), 0o755); err != nil {
			return Subject("mkdir %q: %v", d, err)
		}
	}
	return os.WriteFile(r.job, []byte(text), 0o600)
}

// fio starts the program. With --eta=never it prints nothing in between; its results go to a
// separate file, so that they are not mixed with error messages. Its clock is the kernel's: by itself
// it prefers the processor's counter, which a guest need not have, and which knows nothing of virtual
// time.
func (r *fioRun) fio(ctx context.Context, program string, more ...string) error {
	if err := os.Remove(r.out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	argv := append([]string{program, "--eta=never", "--clocksource=clock_gettime", "--output-format=json+", "--output=" + r.out}, more...)
	_, err := command.Run(ctx, command.Options{Dir: r.dir}, append(argv, r.job)...)
	return err
}

func (r *fioRun) run(ctx context.Context, program string) error {
	if err := r.fio(ctx, program); err != nil {
		return r.failed(ctx, err)
	}
	if err := r.target.open(); err != nil {
		return err
	}
	defer r.target.close()
	return r.target.sync()
}

// missingEngine is what fio says of an engine that it was not built with.
var missingEngine = regexp.MustCompile(`fio: engine (\S+) not loadable`)

// failed determines the cause of a failure of fio: its own results name the job that failed and the
// filesystem's error.
func (r *fioRun) failed(ctx context.Context, err error) error {
	var tool *command.Error
	switch {
	case errors.As(err, new(*command.Stuck)):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case command.Missing(err):
		return result.Fail(result.Unsupported, "apt-get install fio", "fio is not installed")
	case !errors.As(err, &tool) || tool.Status < 0:
		return fmt.Errorf("fio was killed: %w", err)
	}
	report, _, bad := r.results()
	engine := missingEngine.FindStringSubmatch(tool.Stderr)
	switch {
	case engine != nil:
		return result.Fail(result.Unsupported, "fio --enghelp lists those that it has", "this fio has no engine %s", engine[1])
	case errors.Is(bad, fio.ErrNone):
		return result.Refuse("fio --cmdhelp=all lists what a job can say", "fio refuses the job: %s", err.Error())
	case bad != nil:
		return fmt.Errorf("fio failed: %w; %w", err, bad)
	case len(report.Failures) > 0:
		return fioFailure(report.Failures, err)
	}
	return fmt.Errorf("fio failed and does not name the cause: %w", err)
}

// fioFailure: a job that ended with an error number got that error from the filesystem.
func fioFailure(failures []fio.Failure, said error) error {
	f := failures[0]
	failure := Subject("fio job %q", f.Job)
	if failure.Err = unix.Errno(f.Errno); len(failures) > 1 {
		failure.Err = fmt.Errorf("%w (and %d more jobs)", failure.Err, len(failures)-1)
	}
	if said != nil {
		failure.Err = fmt.Errorf("%w: %w", failure.Err, said)
	}
	return failure
}

// results are fio's last output.
func (r *fioRun) results() (fio.Report, string, error) {
	info, err := os.Stat(r.out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fio.Report{}, "", fio.ErrNone
	case err != nil:
		return fio.Report{}, "", err
	case info.Size() > maxFioText:
		return fio.Report{}, "", fmt.Errorf("fio's results have %d bytes, more than the limit of %d: group_reporting merges the jobs into one", info.Size(), maxFioText)
	}
	text, err := os.ReadFile(r.out)
	if err != nil {
		return fio.Report{}, "", err
	}
	report, err := fio.Read(text)
	return report, strings.ToValidUTF8(string(text), "\uFFFD"), err
}

func (r *fioRun) after() (Extra, error) {
	report, text, err := r.results()
	if err != nil {
		return Extra{}, fmt.Errorf("fio ended well, and %w", err)
	}
	if len(report.Failures) > 0 {
		return Extra{}, fioFailure(report.Failures, nil)
	}
	x := Extra{Measurements: fioFigures(report), Artifacts: []result.Artifact{{Name: "fio.json", Text: text}}}
	if report.Errors > 0 {
		x.Notes = append(x.Notes, result.Note{Level: result.Warning, Text: fmt.Sprintf("fio continued after %d errors", report.Errors)})
	}
	for _, name := range fio.Names {
		if d := report.Directions[name]; d.Short > 0 {
			x.Notes = append(x.Notes, result.Note{Level: result.Warning,
				Text: fmt.Sprintf("fio: %d of %d requests (%s) were short", d.Short, d.Ops, name)})
		}
	}
	return x, nil
}

// dropNames is the value for /proc/sys/vm/drop_caches that drops dentries and inodes and keeps
// pages.
const dropNames = "2"

// cold makes the filesystem forget its files. Dropping all caches would also drop the fio program:
// loading its libraries again takes seconds of a guest's processor time. So pages are dropped file
// by file, then the dentries and inodes without pages, then the device's own pages.
func (r *fioRun) cold() error {
	if err := r.env.sync(); err != nil {
		return err
	}
	if _, err := filesBelow(r.dir, func(f *os.File) {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // only advice: fio repeats it
	}); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte(dropNames), 0); err != nil {
		return fmt.Errorf("cannot drop caches, so reads would not be cold: %w", err)
	}
	if r.env.Device == "" {
		return nil
	}
	dev, err := os.Open(r.env.Device)
	if err != nil {
		return err
	}
	defer dev.Close() //nolint:errcheck // read only
	if err := unix.IoctlSetInt(int(dev.Fd()), unix.BLKFLSBUF, 0); err != nil {
		return fmt.Errorf("dropping the cache of %s: %w", r.env.Device, err)
	}
	return nil
}
