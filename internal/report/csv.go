package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

var csvHead = []string{
	"run", "study", "scale", "machine", "storage", "round", "place", "candidate", "attempt", "outcome",
	"started", "phase", "metric", "value", "unit", "absent", "variant",
}

// csvFile exports one row per measurement, in the format of RFC 4180. An absent
// figure has an empty value and its reason in the field "absent".
type csvFile struct {
	c   *csv.Writer
	err error
}

func newCSV(w io.Writer) Exporter {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return &csvFile{c, c.Write(csvHead)}
}

// Add implements Exporter.
func (f *csvFile) Add(v verdict.Verdict, trials []result.Trial) error {
	run := v.Run
	for _, t := range trials {
		row := []string{
			run.ID, run.Study, run.Scale, run.Machine, run.Storage,
			strconv.Itoa(t.Round), strconv.Itoa(t.Place), t.Candidate, strconv.Itoa(t.Attempt), string(t.Outcome),
			csvTime(t.Started),
		}
		for _, m := range figuresOr(t) {
			value := ""
			if m.Absent == "" && m.Metric != "" {
				value = strconv.FormatFloat(m.Value, 'g', -1, 64)
			}
			if f.err == nil {
				f.err = f.c.Write(append(row[:len(row):len(row)], m.Phase, m.Metric, value, m.Unit, m.Absent, t.Variant))
			}
		}
	}
	return f.err
}

// Close implements Exporter.
func (f *csvFile) Close() error {
	f.c.Flush()
	if f.err != nil {
		return f.err
	}
	return f.c.Error()
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
