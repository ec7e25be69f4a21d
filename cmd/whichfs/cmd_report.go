package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"whichfs/internal/app"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/whole"
)

type reportCmd struct {
	RunID   string `complete:"run" arg:"" name:"run" optional:"" help:"The run, or the start of its name (default: the latest, with its whole series if it has one)."`
	Summary bool   `xor:"extent" help:"Show only the answer, in a few lines."`
	Series  bool   `help:"Report all runs of the run's series together."`

	outputs `group:"Output"`
}

func (c *reportCmd) Run(a *shell) error {
	if err := c.outputs.check(); err != nil {
		return err
	}
	st, err := a.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	if f := c.outputs.files(); c.Summary && f.toStdout() && f["json"] != "-" {
		return result.Refuse("leave --summary out, or name a file instead of -", "only one thing can go to standard output")
	}
	run, err := st.Run(cmp.Or(c.RunID, "last"))
	if err != nil {
		return err
	}
	if run.Series == "" || c.RunID != "" && !c.Series {
		return a.present(st, run.ID, c.outputs, c.Summary)
	}
	runs, err := app.SeriesOf(st, run)
	if err != nil {
		return err
	}
	code, err := a.reportSeries(st, runs, c.outputs, c.outputs.extent(c.Summary))
	if err == nil && code != exitOK {
		err = &problem{code: code}
	}
	return err
}

// extent is how much of a report goes to standard output.
type extent int

const (
	inFull extent = iota + 1
	atAGlance
	inShort
	nothing
)

// write writes a report to that extent, with a writer of the whole and of its summary, and one of a single screen,
// unless another output goes to standard output.
func (e extent) write(out outputs, whole, glance func(report.TextOptions) error, o report.TextOptions) error {
	switch {
	case e == nothing || out.files().toStdout():
		return nil
	case e == atAGlance:
		return glance(o)
	}
	o.Summary = e == inShort
	return whole(o)
}

// present reports a run. Its status says whether there are any figures.
func (a *shell) present(st *store.Store, id string, out outputs, summary bool) error {
	code, err := a.reportRun(st, id, out, out.extent(summary))
	if err != nil {
		return err
	}
	if code != exitOK {
		return &problem{code: code}
	}
	return nil
}

// writable checks that a file can be written, and makes its directory, but
// changes nothing else.
func writable(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		return errors.Join(f.Close(), os.Remove(path))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return err
	}
	return f.Close()
}

// reportRun computes the verdict of a run and writes it in every requested
// form. The status says what the figures amount to.
func (a *shell) reportRun(st *store.Store, id string, out outputs, shown extent) (int, error) {
	run, err := st.Run(id)
	if err != nil {
		return exitLab, err
	}
	v, trials, err := app.Judge(st, run)
	if err != nil {
		return exitLab, err
	}
	daily, err := out.daily()
	if err != nil {
		return exitRefused, err
	}
	v.Wear.SetDaily(daily)
	if err := a.writeArtifacts(st, trials, out.Artifacts); err != nil {
		return exitLab, err
	}
	if err := shown.write(out,
		func(o report.TextOptions) error { return report.Text(a.stdout, v, o) },
		func(o report.TextOptions) error { return report.Glance(a.stdout, v, o) }, a.textOptions()); err != nil {
		return exitLab, err
	}
	for _, f := range report.All {
		path := out.files()[f.Name]
		if path == "" {
			continue
		}
		write := func(w io.Writer) error { return f.Write(w, v, trials) }
		if shown == inShort && f.Short != nil {
			write = func(w io.Writer) error { return f.Short(w, []verdict.Verdict{v}) }
		}
		if err := a.writeFile(path, write); err != nil {
			return exitLab, err
		}
	}
	return amount(v), nil
}

// amount is the exit status for a verdict.
func amount(v verdict.Verdict) int {
	switch {
	case v.Trials.Done > 0:
		return exitOK
	case v.Trials.Subject > 0:
		return exitSubject
	case v.Trials.Lab > 0:
		return exitLab
	case v.Trials.Refused > 0 && v.Trials.Unsupported == 0:
		return exitRefused
	}
	if v.Trials.Unsupported > 0 {
		return exitUnsupported
	}
	return exitOK // nothing was tried yet
}

// writeReport writes a file completely or not at all; a pipe or a device is
// written to directly.
func (a *shell) writeReport(f report.Format, path string, v verdict.Verdict, trials []result.Trial) error {
	return a.writeFile(path, func(w io.Writer) error { return f.Write(w, v, trials) })
}

func (a *shell) writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(a.stdout)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeThrough(path, write)
	}
	if err := whole.Write(path, func(w *os.File) error { return write(w) }); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	a.note("Wrote " + abs)
	return nil
}

func writeThrough(path string, write func(io.Writer) error) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	err = write(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
