package bench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/workload"
)

// Our storms of files, our large file and our seeks are compared with Bonnie++, whose tests they
// follow: the same operations, equally many, in the same order, on the same ext4, in alternation.
// Bonnie++ reports the rate of each test; our rates are those of the timed sections. Everything is
// in the page cache, so that the processor and not a disk limits the rates.

// The amount of work: each test must take half a second, or Bonnie++ reports no rate. The number of
// seekers is its default.
const (
	bonnieFiles   = 512 << 10
	bonnieDirs    = 512
	bonnieSize    = 2 << 30 // B
	bonnieSeeks   = 800_000
	bonnieSeekers = 5
	bonniePairs   = 3 // maximum number of turns; one more goes first and is discarded
)

// bonnieArg is the first argument of this program when it performs our tests, followed by
// MOUNT FILES DIRS SIZE.
const bonnieArg = "bonnie-tests"

// bonnieTest is one test, with the field of its rate in Bonnie++'s CSV, and our equivalent.
type bonnieTest struct {
	name  string
	field int
	unit  float64 // of the rate: KiB or one
	step  scenario.Step
}

func bonnieTests(files, dirs int, size int64) []bonnieTest {
	file := func(work string) scenario.Step { return scenario.Step{Work: work, Dir: "file", Size: size} }
	tests := []bonnieTest{
		{"block write", 11, 1024, file("file-write")},
		{"rewrite", 13, 1024, file("file-rewrite")},
		{"block read", 17, 1024, file("file-read")},
		{"seeks", 19, 1, scenario.Step{Work: "seeks", Dir: "file", Size: size, Ops: bonnieSeeks, Jobs: bonnieSeekers, Share: 0.1, Seed: 1}},
	}
	for i, order := range []string{scenario.OrderSequential, scenario.OrderRandom} {
		for j, work := range []string{"create", "stat", "delete"} {
			tests = append(tests, bonnieTest{order + " " + work, 26 + 6*i + 2*j, 1,
				scenario.Step{Work: "meta-" + work, Dir: order, Files: files, Dirs: dirs, Order: order, Seed: 1}})
		}
	}
	return tests
}

// amount is the size of a test, in units of its rate.
func (t bonnieTest) amount() float64 {
	switch {
	case t.step.Files > 0:
		return float64(t.step.Files)
	case t.step.Ops > 0:
		return float64(t.step.Ops)
	}
	return float64(t.step.Size) / t.unit
}

func bonnie(ctx context.Context, c Config, out io.Writer) (err error) {
	if os.Geteuid() != 0 {
		return unavailable("it makes and mounts a filesystem, which needs root: sudo make bench")
	}
	program, err := command.Look("bonnie++")
	if err != nil {
		return unavailable("%v", err)
	}
	defer favoured()()
	work, release, err := workspace(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	d, err := newDisk(work, bonnieSize+4<<30)
	if err != nil {
		return err
	}
	d.inodes = bonnieFiles + bonnieDirs + 1000
	defer func() { err = errors.Join(err, d.unmount()) }()
	fmt.Fprintf(out, "%d empty files in %d directories, a file of %d MiB, %d seeks; ext4 on a loop file in memory\n", bonnieFiles, bonnieDirs, int64(bonnieSize)>>20, bonnieSeeks)
	tests := bonnieTests(bonnieFiles, bonnieDirs, bonnieSize)
	var ours, theirs [][]float64 // rates, by turn and test
	for i := range min(c.Pairs, bonniePairs) + 1 {
		sides := []func() error{
			func() error {
				r, err := bonnieOurs(ctx, d, tests)
				ours = append(ours, r)
				return err
			},
			func() error {
				r, err := bonnieTheirs(ctx, d, program, tests)
				theirs = append(theirs, r)
				return err
			},
		}
		if i%2 == 1 {
			sides[0], sides[1] = sides[1], sides[0]
		}
		for _, side := range sides {
			if err := d.fresh(ctx); err != nil {
				return err
			}
			awaitQuiet(quietLimit)
			if err := side(); err != nil {
				return err
			}
		}
	}
	return bonnieTable(out, tests, ours[1:], theirs[1:])
}

// bonnieTable writes a line per test. A missing rate is 0.
func bonnieTable(out io.Writer, tests []bonnieTest, ours, theirs [][]float64) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "test\tours /s\tBonnie++ /s\tratio (min–max)\tof the fastest\tpairs\tlimit\t")
	for i, test := range tests {
		var a, b, ratios []float64
		for turn := range ours {
			if theirs[turn][i] > 0 && ours[turn][i] > 0 {
				a, b = append(a, ours[turn][i]), append(b, theirs[turn][i])
				ratios = append(ratios, ours[turn][i]/theirs[turn][i])
			}
		}
		if len(ratios) == 0 {
			fmt.Fprintf(table, "%s\tnot measured here: Bonnie++ took less than half a second\t\n", test.name)
			continue
		}
		ratio, best := spreadOf(ratios), spreadOf(a).high/spreadOf(b).high
		judgement := holds(ratio.median >= ratioLimit)
		if ratio.median < ratioLimit && (ratio.high >= ratioLimit || best >= ratioLimit) {
			judgement = "too noisy to tell"
		}
		unit := ""
		if test.unit == 1024 {
			unit = " KiB"
		}
		fmt.Fprintf(table, "%s\t%.0f%s\t%.0f%s\t%s\t%.2f\t%d\tat least %.2f\t%s\n", test.name, median(a), unit, median(b), unit,
			ratio.text("%.2f", ""), best, len(ratios), ratioLimit, judgement)
	}
	return table.Flush()
}

// bonnieTheirs runs Bonnie++ and returns its rates.
func bonnieTheirs(ctx context.Context, d *disk, program string, tests []bonnieTest) ([]float64, error) {
	ran, err := command.Run(ctx, command.Options{}, program, "-q", "-d", d.mount, "-u", "root", "-m", "whichfs", "-r", "0", "-x", "1", "-f",
		"-s", fmt.Sprintf("%d:8k:%d:%d", int64(bonnieSize)>>20, bonnieSeeks, bonnieSeekers), "-n", fmt.Sprintf("%d:0:0:%d", bonnieFiles>>10, bonnieDirs))
	if err != nil {
		return nil, err
	}
	return bonnieRates(ran.Stdout, tests)
}

// bonnieRates reads the rates of the tests from Bonnie++'s CSV, version 1.98.
func bonnieRates(text string, tests []bonnieTest) ([]float64, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the CSV of Bonnie++: %w", err)
	}
	if len(lines) != 1 || len(lines[0]) != 50 || lines[0][0] != "1.98" {
		return nil, fmt.Errorf("the CSV of Bonnie++ is not one line of 50 fields of version 1.98: %q", text)
	}
	var rates []float64
	for _, t := range tests {
		field := lines[0][t.field]
		rate, err := strconv.ParseFloat(field, 64)
		if field != "+++++" && (err != nil || !(rate > 0) || rate > 1e15) {
			return nil, fmt.Errorf("the CSV of Bonnie++ has %q for %s", field, t.name)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// bonnieOurs performs our tests in a separate process and returns their rates.
func bonnieOurs(ctx context.Context, d *disk, tests []bonnieTest) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ran, err := command.Run(ctx, command.Options{}, self, bonnieArg, d.mount, strconv.Itoa(bonnieFiles), strconv.Itoa(bonnieDirs), strconv.Itoa(bonnieSize))
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(ran.Stdout)
	if len(lines) != len(tests) {
		return nil, fmt.Errorf("our side printed %q instead of the seconds of %d tests", ran.Stdout, len(tests))
	}
	var rates []float64
	for i, t := range tests {
		seconds, err := strconv.ParseFloat(lines[i], 64)
		if err != nil || !(seconds > 0) {
			return nil, fmt.Errorf("our %s took %q seconds", t.name, lines[i])
		}
		rates = append(rates, t.amount()/seconds)
	}
	return rates, nil
}

// bonnieChild performs our tests and prints the seconds of each.
func bonnieChild(mount, files, dirs, size string, out io.Writer) error {
	n, err1 := strconv.Atoi(files)
	m, err2 := strconv.Atoi(dirs)
	b, err3 := strconv.ParseInt(size, 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	fs, ok := filesystem.ByName("ext4")
	if !ok {
		return fmt.Errorf("unknown filesystem ext4")
	}
	env := &workload.Env{FS: fs, Mount: mount, Mounted: true}
	// As in the agent's meter.
	runtime.GOMAXPROCS(2)
	runtime.LockOSThread()
	for _, t := range bonnieTests(n, m, b) {
		kind, ok := workload.ByName(t.step.Work)
		if !ok {
			return fmt.Errorf("unknown kind of work %q", t.step.Work)
		}
		job, err := kind.Setup(context.Background(), env, t.step)
		if err != nil {
			return err
		}
		runtime.GC()
		old := debug.SetGCPercent(-1)
		var tally workload.Tally
		begin := time.Now()
		err = job.Run(&tally)
		took := time.Since(begin).Seconds()
		debug.SetGCPercent(old)
		if err != nil {
			return err
		}
		if _, err := job.After(); err != nil {
			return err
		}
		if t.step.Work == "seeks" { // as Bonnie++ does before its files
			if err := os.RemoveAll(filepath.Join(mount, t.step.Dir)); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out, took); err != nil {
			return err
		}
	}
	return nil
}
