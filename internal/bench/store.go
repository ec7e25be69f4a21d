package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"whichfs/internal/result/store/storetest"
	"whichfs/internal/sys/command"
)

// Limits of a report.
const (
	reportLimit = 2.0         // s
	memoryLimit = 300_000_000 // B
)

// reports fills a store and runs the program's report on it, like a user.
func reports(ctx context.Context, c Config, out io.Writer) (err error) {
	whichfs, err := filepath.Abs(filepath.Join(c.Bin, "whichfs"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(whichfs); err != nil {
		return unavailable("%v: make build", err)
	}
	dir, release, err := workspace(os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	path := filepath.Join(dir, "results.db")
	usual, large := storetest.Usual(), storetest.Large()
	large.Rounds = c.Rounds
	begin := time.Now()
	if err := storetest.Fill(path, c.Runs, usual); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "report of\tas\twall\tlimit\t\tpeak memory\tlimit\t")
	measure := func(what, run string) error {
		for _, format := range []string{"text", "page"} {
			if err := ctx.Err(); err != nil {
				return err
			}
			line, err := timeReports(ctx, c.Reports, format, path, whichfs, run)
			if err != nil {
				return err
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", what, format, line)
		}
		return nil
	}
	there := c.Runs * usual.Measurements()
	if err := measure(fmt.Sprintf("a run of %d among %d measurements", usual.Measurements(), there), middle(c.Runs)); err != nil {
		return err
	}
	if err := storetest.Fill(path, 1, large); err != nil {
		return err
	}
	filled := time.Since(begin)
	there += large.Measurements()
	if err := measure(fmt.Sprintf("a run of %d among %d measurements", large.Measurements(), there), "last"); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		fmt.Fprintf(out, "store of %d runs and %d measurements, %.1f MB, ready after %.1f s; %d reports each\n",
			c.Runs+1, there, float64(info.Size())/1e6, filled.Seconds(), c.Reports)
	}
	return table.Flush()
}

// middle names a run in the middle of the generated ones.
func middle(runs int) string { return fmt.Sprintf("fill-%04d", (runs+1)/2) }

// timeReports makes the same report several times and returns cells of a table.
func timeReports(ctx context.Context, times int, format, path, whichfs, run string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var seconds, peaks []float64
	for range times {
		// Through a small program of our own: see command.Result.MaxRSS.
		r, err := command.Run(ctx, command.Options{}, self, reportArg, whichfs, path, format, run)
		if err != nil {
			return "", fmt.Errorf("report of %s as %s: %w", run, format, err)
		}
		var one reported
		if err := json.Unmarshal([]byte(r.Stdout), &one); err != nil {
			return "", fmt.Errorf("report of %s as %s: %w", run, format, err)
		}
		seconds, peaks = append(seconds, one.Seconds), append(peaks, float64(one.Peak))
	}
	took, peak := spreadOf(seconds), slices.Max(peaks)
	return fmt.Sprintf("%s\tat most %.0f s\t%s\t%.0f MB\tat most %.0f MB\t%s", took.text("%.2f", " s"), reportLimit,
		holds(took.median <= reportLimit), peak/1e6, memoryLimit/1e6, holds(peak <= memoryLimit)), nil
}

// reportArg is the first argument of this program when it is to run one report, followed by WHICHFS
// STORE text|page RUN.
const reportArg = "one-report"

type reported struct {
	Seconds float64 `json:"seconds"`
	Peak    int64   `json:"peak"` // B
}

// oneReport runs the report of a run and writes its cost.
func oneReport(whichfs, path, format, run string, out io.Writer) error {
	argv := []string{whichfs, "report", run}
	page := filepath.Join(filepath.Dir(path), "page.html")
	if format == "page" {
		argv = append(argv, "--html", page)
	}
	r, err := command.Run(context.Background(), command.Options{Env: []string{"WHICHFS_STORE=" + path}}, argv...)
	if err != nil {
		return err
	}
	size := int64(len(r.Stdout))
	if format == "page" {
		info, err := os.Stat(page)
		if err != nil {
			return err
		}
		size = info.Size()
	}
	if size == 0 {
		return errors.New("it wrote nothing")
	}
	return json.NewEncoder(out).Encode(reported{Seconds: r.Wall.Seconds(), Peak: r.MaxRSS})
}
