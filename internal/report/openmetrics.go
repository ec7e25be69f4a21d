package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// MetricsType is the content type of OpenMetrics.
const MetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Metrics writes the estimates of runs in the text format of OpenMetrics 1.0, without timestamps, as a
// monitoring system that asks again and again wants them. Figures are in base units, which the label
// unit names.
func Metrics(w io.Writer, list []verdict.Verdict) error {
	m := &metrics{}
	for _, v := range list {
		m.add(v, "")
	}
	_, err := io.WriteString(w, m.text())
	return err
}

// openMetrics exports runs with the times of their ends, so that a file can be loaded into a time
// series database.
type openMetrics struct {
	w io.Writer
	metrics
}

func newOpenMetrics(w io.Writer) Exporter { return &openMetrics{w: w} }

// Add implements Exporter.
func (o *openMetrics) Add(v verdict.Verdict, _ []result.Trial) error {
	at := ""
	if end := v.Run.Ended; !end.IsZero() {
		at = " " + strconv.FormatFloat(float64(end.UnixMilli())/1000, 'f', 3, 64)
	}
	o.add(v, at)
	return nil
}

// Close implements Exporter.
func (o *openMetrics) Close() error {
	_, err := io.WriteString(o.w, o.text())
	return err
}

// metrics collects samples by family, since those of a family must be together.
type metrics struct {
	of [len(families)]strings.Builder
}

// families are the metrics, all gauges.
var families = [...]struct{ name, help string }{
	{"whichfs_figure", "Estimate of a measure of a run, in base units: the geometric mean over rounds."},
	{"whichfs_figure_low", "Lower end of its 95 % interval."},
	{"whichfs_figure_high", "Upper end of its 95 % interval."},
	{"whichfs_figure_ratio", "Ratio of the estimate to the best of the measure."},
	{"whichfs_run_trials", "Trials of a run by outcome."},
}

func (m *metrics) add(v verdict.Verdict, at string) {
	r := v.Run
	run := metricLabels("run", r.ID, "study", r.Study, "scale", r.Scale, "machine", r.Where(), "storage", r.Storage, "kernel", r.Kernel(), "clock", r.ClockName())
	sample := func(family int, more string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			fmt.Fprintf(&m.of[family], "%s{%s,%s} %s%s\n", families[family].name, run, more, strconv.FormatFloat(value, 'g', -1, 64), at)
		}
	}
	for _, list := range [][]verdict.Column{v.Columns, v.Extra} {
		for _, col := range list {
			for _, c := range col.Cells {
				if c.Absent != "" {
					continue
				}
				more := metricLabels("measure", col.Key, "unit", col.Unit, "candidate", c.Candidate)
				sample(0, more, c.Estimate.Value)
				if !c.Estimate.Single {
					sample(1, more, c.Estimate.Low)
					sample(2, more, c.Estimate.High)
				}
				if !col.Level && c.Difference == nil {
					sample(3, more, c.Ratio.Value)
				}
			}
		}
	}
	for _, o := range []struct {
		outcome result.Outcome
		n       int
	}{{result.Done, v.Trials.Done}, {result.SubjectFailed, v.Trials.Subject}, {result.LabFailed, v.Trials.Lab}} {
		sample(4, metricLabels("outcome", string(o.outcome)), float64(o.n))
	}
}

func (m *metrics) text() string {
	var b strings.Builder
	for i, f := range families {
		if m.of[i].Len() > 0 {
			fmt.Fprintf(&b, "# TYPE %s gauge\n# HELP %s %s\n%s", f.name, f.name, f.help, m.of[i].String())
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// metricLabels are names with values, escaped.
func metricLabels(pairs ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, pairs[i]+`="`+escape.Replace(clean(pairs[i+1]))+`"`)
	}
	return strings.Join(list, ",")
}
