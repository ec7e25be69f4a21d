package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// Fio runs fio with the step's job, unchanged, in DIR below the mount point.
// fio's files are laid out before the clock starts where a job reads, and
// nothing of the filesystem is cached then. The wall time is that of the whole
// program, start included, until the filesystem says that everything is on
// storage; what fio itself measured stands beside it and is what comparisons
// of I/O should use. fio's json+ output is kept whole.
//
// A job that leads away from the storage is refused (fio.Check), and one whose
// files do not fit, before anything is written.
var Fio = Kind{Name: "fio", Setup: setupFio}

// maxFioText is how much of fio's output is kept and read, in bytes: it must
// fit into a message, in which it takes up to twice its length.
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

// fits checks that there is room for what the jobs write. What is there
// already, from a step before, is written over or removed by fio.
func (r *fioRun) fits(file fio.File) error {
	need, known := file.Volume()
	what := "the files of the fio job do not fit"
	if !known {
		what = "the files of those fio jobs that say how large theirs are do not fit"
	}
	there, err := filesBelow(r.dir, nil)
	if err != nil {
		return err
	}
	return room(r.env, what, max(0, need-there.bytes))
}

// prepare makes the directories that the jobs want, and the job file.
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

// fio starts the program. With --eta=never it says nothing in between; its
// results go to a file of ours, so that they are not mixed with complaints.
func (r *fioRun) fio(ctx context.Context, program string, more ...string) error {
	if err := os.Remove(r.out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	argv := append([]string{program, "--eta=never", "--output-format=json+", "--output=" + r.out}, more...)
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

// failed says whose fault it is that fio did not end well: its own results
// name the job that failed, and the error of the filesystem under it.
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
	switch {
	case errors.Is(bad, fio.ErrNone):
		return result.Refuse("fio --cmdhelp=all lists what a job can say", "fio refuses the job: %s", err.Error())
	case bad != nil:
		return fmt.Errorf("fio failed: %w; %w", err, bad)
	case len(report.Failures) > 0:
		return fioFailure(report.Failures, err)
	}
	return fmt.Errorf("fio failed and does not say at what: %w", err)
}

// fioFailure: a job that ended with an error number got it from the
// filesystem.
func fioFailure(failures []fio.Failure, said error) error {
	f := failures[0]
	reason := fmt.Sprintf("fio job %q: %v", f.Job, syscall.Errno(f.Errno))
	if len(failures) > 1 {
		reason += fmt.Sprintf(" (and %d more jobs)", len(failures)-1)
	}
	if said != nil {
		reason += ": " + said.Error()
	}
	return Subject("%s", reason)
}

// results are what fio wrote last.
func (r *fioRun) results() (fio.Report, string, error) {
	info, err := os.Stat(r.out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fio.Report{}, "", fio.ErrNone
	case err != nil:
		return fio.Report{}, "", err
	case info.Size() > maxFioText:
		return fio.Report{}, "", fmt.Errorf("fio's results have %d bytes and at most %d are read: group_reporting makes one of many jobs", info.Size(), maxFioText)
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
		x.Notes = append(x.Notes, result.Note{Level: result.Warning, Text: fmt.Sprintf("fio went on after %d errors", report.Errors)})
	}
	for _, name := range fio.Names {
		if d := report.Directions[name]; d.Short > 0 {
			x.Notes = append(x.Notes, result.Note{Level: result.Warning,
				Text: fmt.Sprintf("fio: %d of %d requests (%s) moved less than they should", d.Short, d.Ops, name)})
		}
	}
	return x, nil
}

// dropNames is what /proc/sys/vm/drop_caches takes to forget names and inodes
// and keep pages.
const dropNames = "2"

// cold makes the filesystem forget its files. Dropping all caches would do,
// and the program of fio with them: loading its libraries anew takes seconds
// of a guest's processor. So pages are dropped file by file, then the names and
// inodes of all that has no pages, then the device's own.
func (r *fioRun) cold() error {
	if err := r.env.sync(); err != nil {
		return err
	}
	if _, err := filesBelow(r.dir, func(f *os.File) {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice: fio gives it again
	}); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte(dropNames), 0); err != nil {
		return fmt.Errorf("cannot drop caches, so nothing would be cold: %w", err)
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
