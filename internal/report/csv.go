package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

var csvHead = []string{
	"run", "study", "scale", "machine", "storage", "round", "place", "candidate", "attempt", "outcome",
	"started", "phase", "metric", "value", "unit", "absent", "variant",
}

// writeCSV writes one row per measurement, in the format of RFC 4180. An absent
// figure has an empty value and its reason in the field "absent". A trial
// without any measurement has one row without a metric, so that a failed trial
// is not simply missing.
func writeCSV(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	if err := c.Write(csvHead); err != nil {
		return err
	}
	run := v.Run
	for _, t := range trials {
		row := []string{
			run.ID, run.Study, run.Scale, run.Machine, run.Storage,
			strconv.Itoa(t.Round), strconv.Itoa(t.Place), t.Candidate, strconv.Itoa(t.Attempt), string(t.Outcome),
			csvTime(t.Started),
		}
		measurements := t.Measurements
		if len(measurements) == 0 {
			measurements = []result.Measurement{{Phase: t.Phase, Absent: t.Reason}}
		}
		for _, m := range measurements {
			value, absent := "", m.Absent
			switch {
			case absent != "" || m.Metric == "":
			case math.IsNaN(m.Value) || math.IsInf(m.Value, 0):
				absent = "not a finite number"
			default:
				value = strconv.FormatFloat(m.Value, 'g', -1, 64)
			}
			if err := c.Write(append(row[:len(row):len(row)], m.Phase, m.Metric, value, m.Unit, absent, t.Variant)); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
