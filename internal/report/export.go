package report

import (
	"io"
	"maps"
	"slices"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// Exporter writes one or more runs to one file.
type Exporter interface {
	// Add writes a run. Of a format that is not judged, the verdict has only its run.
	Add(v verdict.Verdict, trials []result.Trial) error
	// Close completes the file, and does not close what it is written to.
	Close() error
}

// single writes one run with an exporter.
func single(begin func(io.Writer) Exporter) func(io.Writer, verdict.Verdict, []result.Trial) error {
	return func(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
		e := begin(w)
		if err := e.Add(v, trials); err != nil {
			return err
		}
		return e.Close()
	}
}

// jsonList exports runs as a list of JSON reports.
type jsonList struct {
	w io.Writer
	n int
}

func newJSONList(w io.Writer) Exporter { return &jsonList{w: w} }

// Add implements Exporter.
func (j *jsonList) Add(v verdict.Verdict, trials []result.Trial) error {
	before := "[\n"
	if j.n > 0 {
		before = ",\n"
	}
	j.n++
	if _, err := io.WriteString(j.w, before); err != nil {
		return err
	}
	return writeJSON(j.w, v, trials)
}

// Close implements Exporter.
func (j *jsonList) Close() error {
	end := "]\n"
	if j.n == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(j.w, end)
	return err
}

// benchList exports runs in Go benchmark format, each with its own configuration.
type benchList struct {
	w    io.Writer
	keys map[string]bool // that runs before had
}

func newBenchList(w io.Writer) Exporter { return &benchList{w, map[string]bool{}} }

// Add implements Exporter.
func (b *benchList) Add(v verdict.Verdict, trials []result.Trial) error {
	now := map[string]bool{}
	for _, c := range benchConfig(v.Run) {
		now[c[0]] = true
	}
	for _, key := range slices.Sorted(maps.Keys(b.keys)) {
		if now[key] {
			continue
		}
		// A key without a value ends what an earlier run has set.
		if _, err := io.WriteString(b.w, key+":\n"); err != nil {
			return err
		}
	}
	b.keys = now
	return writeGoBench(b.w, v, trials)
}

// Close implements Exporter.
func (b *benchList) Close() error { return nil }
