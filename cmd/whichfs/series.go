package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"whichfs/internal/app"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// reportSeries reports runs that belong together, and a single run like
// reportRun.
func (a *shell) reportSeries(st *store.Store, runs []result.Run, out outputs, shown extent) (int, error) {
	if runs[0].Series == "" {
		return a.reportRun(st, runs[0].ID, out, shown)
	}
	runs, err := app.SeriesOf(st, runs[0])
	if err != nil || len(runs) == 0 { // none of them ever began, which the caller reports
		return exitLab, err
	}
	s, err := app.StudyOf(runs[0])
	if err != nil {
		return exitLab, err
	}
	var all []verdict.Verdict
	worst := exitOK
	for _, run := range runs {
		v, trials, err := app.Judge(st, run)
		if err != nil {
			return exitLab, err
		}
		all = append(all, v)
		worst = max(worst, amount(v))
		if out.Artifacts != "" {
			if err := a.writeArtifacts(st, trials, filepath.Join(out.Artifacts, memberName(run, runs, s))); err != nil {
				return exitLab, err
			}
		}
		if err := a.writeEach(v, trials, memberName(run, runs, s), out); err != nil {
			return exitLab, err
		}
	}
	v := verdict.Series(runs[0].Series, all, s)
	if err := shown.write(out,
		func(o report.TextOptions) error { return report.SeriesText(a.stdout, v, o) },
		func(o report.TextOptions) error { return report.SeriesGlance(a.stdout, v, o) }, a.textOptions()); err != nil {
		return exitLab, err
	}
	for _, f := range report.All {
		path := out.files()[f.Name]
		if path == "" || f.Series == nil {
			continue
		}
		write := func(w io.Writer) error { return f.Series(w, v) }
		if shown == inShort && f.Short != nil {
			write = func(w io.Writer) error { return f.Short(w, all) }
		}
		if err := a.writeFile(path, write); err != nil {
			return exitLab, err
		}
	}
	return worst, nil
}

// writeEach writes the formats without a form for a series: a file per run,
// with what tells the run apart in its name.
func (a *shell) writeEach(v verdict.Verdict, trials []result.Trial, member string, out outputs) error {
	for _, f := range report.All {
		path := out.files()[f.Name]
		if path == "" || f.Series != nil {
			continue
		}
		if path != "-" {
			ext := filepath.Ext(path)
			path = fmt.Sprintf("%s-%s%s", strings.TrimSuffix(path, ext), member, ext)
		}
		if err := a.writeReport(f, path, v, trials); err != nil {
			return err
		}
	}
	return nil
}

// memberName is the storage of a run, or its processor or machine in a series of those, as part of a file's
// name.
func memberName(run result.Run, series []result.Run, s study.Study) string {
	name := run.Storage
	if on, ok := s.Storage(run.Scale, run.Storage); ok {
		name = on.Key
	}
	switch {
	case result.ByProcessor(series):
		name = run.Processor
	case result.ByMachine(series):
		name = run.Machine
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", r) {
			return r
		}
		return '-'
	}, name)
}
