package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/workload"
)

// A fio job that we run is compared with the same job run by hand, on the same ext4, in
// alternation. In both cases fio does the work and measures it, so only what we do before it (the
// layout, the caches) and around it can make a difference. The figure is fio's own.

// fioWithin is how far the ratio of the two may be from 1.
const fioWithin = 0.01

// fioVolume is the total size of the files of each job, in bytes. Jobs pass over them often enough
// to run for more than a second.
const fioVolume = 256 << 20

// fioJob is one job, and the figure by which it is judged.
type fioJob struct {
	name, direction, metric string
	text                    string
}

func fioJobs(volume int64) []fioJob {
	job := func(rw, block string, direct, times int64) string {
		return fmt.Sprintf("[bench]\nrw=%s\nsize=%d\nio_size=%d\nbs=%s\nnrfiles=8\ndirect=%d\nioengine=libaio\niodepth=4\nend_fsync=1\n", rw, volume, times*volume, block, direct)
	}
	return []fioJob{
		{"read 128k direct", "read", result.FioBW, job("read", "128k", 1, 8)},
		{"randread 4k direct", "read", result.FioIOPS, job("randread", "4k", 1, 2)},
		{"write 128k buffered", "write", result.FioBW, job("write", "128k", 0, 2)},
		{"randwrite 4k direct", "write", result.FioIOPS, job("randwrite", "4k", 1, 2)},
	}
}

func fioCosts(ctx context.Context, c Config, out io.Writer) (err error) {
	if os.Geteuid() != 0 {
		return unavailable("it makes and mounts a filesystem, which needs root: sudo make bench")
	}
	program, err := command.Look("fio")
	if err != nil {
		return unavailable("%v", err)
	}
	defer favoured()()
	work, release, err := workspace(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	d, err := newDisk(work, 2*fioVolume+256<<20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.unmount()) }()
	fmt.Fprintf(out, "%d MiB over 8 files, libaio, 4 requests at a time; ext4 on a loop file in memory\n", int64(fioVolume)>>20)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "job\tfigure\tthrough us\tfio alone\tratio (min–max)\tlikely\tof the fastest\tpairs\tlimit\t")
	for _, job := range fioJobs(fioVolume) {
		ours, theirs, err := fioTurns(ctx, c, d, program, job)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", job.name, err), table.Flush())
		}
		fmt.Fprintln(table, fioLine(job, ours, theirs))
	}
	return table.Flush()
}

// fioTurns runs both sides in each turn, as often as time allows; which goes first alternates, and
// the first turn is discarded.
func fioTurns(ctx context.Context, c Config, d *disk, program string, job fioJob) (ours, theirs []float64, err error) {
	begin := time.Now()
	for i := range c.Pairs + 1 {
		if c.Time > 0 && len(ours) >= 4 && time.Since(begin) > c.Time {
			break
		}
		sides := []func() error{
			func() error { v, err := fioOurs(ctx, d, job); ours = append(ours, v); return err },
			func() error { v, err := fioTheirs(ctx, d, program, job); theirs = append(theirs, v); return err },
		}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := d.fresh(ctx); err != nil {
				return nil, nil, err
			}
			if err := side(); err != nil {
				return nil, nil, err
			}
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
		}
	}
	return ours[1:], theirs[1:], nil
}

// fioOurs runs the job as a trial does.
func fioOurs(ctx context.Context, d *disk, job fioJob) (float64, error) {
	candidate := filesystem.Candidate{FS: "ext4"}
	env := &workload.Env{Candidate: candidate, FS: candidate.Filesystem(), Mount: d.mount, Work: filepath.Dir(d.image), Mounted: true}
	ready, err := workload.Fio.Setup(ctx, env, scenario.Step{Work: "fio", Dir: "fio", Job: job.text})
	if err != nil {
		return 0, err
	}
	awaitQuiet(quietLimit)
	var t workload.Tally
	if err := ready.Run(&t); err != nil {
		return 0, err
	}
	x, err := ready.After()
	if err != nil {
		return 0, err
	}
	for _, m := range x.Measurements {
		if m.Metric == "fio."+job.direction+job.metric {
			if m.Absent != "" {
				return 0, errors.New(m.Absent)
			}
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("no figure fio.%s%s", job.direction, job.metric)
}

// fioTheirs runs the job as a user at a terminal does: lay out, drop the caches, run.
func fioTheirs(ctx context.Context, d *disk, program string, job fioJob) (float64, error) {
	work := filepath.Dir(d.image)
	dir, file, out := d.mount+"/fio", work+"/theirs.job", work+"/theirs.json"
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, []byte(job.text), 0o600)); err != nil {
		return 0, err
	}
	run := func(more ...string) error {
		argv := append([]string{program, "--eta=never", "--output-format=json+", "--output=" + out}, more...)
		_, err := command.Run(ctx, command.Options{Dir: dir}, append(argv, file)...)
		return err
	}
	if job.direction == "read" {
		if err := run("--create_only=1"); err != nil {
			return 0, err
		}
	}
	// Dentries and inodes; fio drops the pages of its files itself. Dropping all pages would slow
	// other work on this machine, and only on this side.
	unix.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0); err != nil {
		return 0, err
	}
	awaitQuiet(quietLimit)
	if err := run(); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	report, err := fio.Read(text)
	if err != nil {
		return 0, err
	}
	side := report.Directions[job.direction]
	if side.Time == 0 {
		return 0, fmt.Errorf("fio's output for %s does not yield a rate", job.direction)
	}
	if job.metric == result.FioIOPS {
		return float64(side.Ops) / side.Time, nil
	}
	return float64(side.Bytes) / side.Time, nil
}

// fioLine is a row of the table: the ratio is the median over the pairs.
func fioLine(job fioJob, ours, theirs []float64) string {
	var ratios []float64
	for i := range ours {
		ratios = append(ratios, ours[i]/theirs[i])
	}
	ratio := spreadOf(ratios)
	low, high := likely(ratios)
	within := func(v float64) bool { return v >= 1-fioWithin && v <= 1+fioWithin }
	judgement := holds(within(ratio.median))
	// Fewer than six pairs cannot refute it.
	if !within(ratio.median) && (len(ratios) < 6 || low <= 1+fioWithin && high >= 1-fioWithin) {
		judgement = "too noisy to tell"
	}
	unit, scale := "MB/s", 1e6
	if job.metric == result.FioIOPS {
		unit, scale = "requests/s", 1
	}
	return fmt.Sprintf("%s\t%s\t%.0f\t%.0f\t%s\t%.3f–%.3f\t%.3f\t%d\t%.2f to %.2f\t%s", job.name, unit, median(ours)/scale, median(theirs)/scale,
		ratio.text("%.3f", ""), low, high, slices.Max(ours)/slices.Max(theirs), len(ratios), 1-fioWithin, 1+fioWithin, judgement)
}
