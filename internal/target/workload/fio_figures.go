package workload

import (
	"cmp"

	"whichfs/internal/plan/fio"
	"whichfs/internal/result"
)

// fioPercentiles are the percentiles by metric.
var fioPercentiles = []struct {
	metric string
	share  float64
}{{result.LatP50, 0.50}, {result.LatP95, 0.95}, {result.LatP99, 0.99}, {result.LatP999, 0.999}}

// fioMetrics are the names of directions in metrics.
var fioMetrics = map[string]string{"read": result.FioRead, "write": result.FioWrite, "trim": result.FioTrim, "mixed": result.FioMixed}

// fioFigures are fio's own figures, over all jobs and for each direction.
func fioFigures(r fio.Report) []result.Measurement {
	var all []result.Measurement
	add := func(metric string, value float64, absent string) {
		all = append(all, result.FigureOr(metric, value, absent))
	}
	none := ""
	if r.Ops == 0 {
		none = "the jobs of fio transferred no data"
	}
	brief := none
	if brief == "" && r.Time == 0 {
		brief = "it took less than the millisecond that fio counts in"
	}
	add(result.FioTime, r.Time, brief)
	add(result.FioAll+result.FioGiB, perGiB(r.Time, r.Bytes), cmp.Or(brief, dataless(r.Bytes)))
	add(result.FioUser, r.User, none)
	add(result.FioSystem, r.System, none)
	add(result.DataBytes, float64(r.Bytes), none)
	add(result.Ops, float64(r.Ops), none)
	fioLatencies(add, "", r.All, none)
	for _, name := range fio.Names {
		d, moved := r.Directions[name]
		if !moved && name != "read" && name != "write" {
			continue // few jobs have it
		}
		fioDirection(add, fioMetrics[name], name, d, moved)
	}
	return all
}

func fioDirection(add func(metric string, value float64, absent string), prefix, name string, d fio.Direction, moved bool) {
	none := ""
	if !moved {
		none = "the jobs of fio have no requests of type " + name
	}
	brief := none
	if brief == "" && d.Time == 0 {
		brief = "it took less than the millisecond that fio counts in"
	}
	add(prefix+result.FioBytes, float64(d.Bytes), none)
	add(prefix+result.FioBW, rate(d.Bytes, d.Time), brief)
	add(prefix+result.FioIOPS, rate(d.Ops, d.Time), brief)
	add(prefix+result.FioGiB, perGiB(d.Time, d.Bytes), cmp.Or(brief, dataless(d.Bytes)))
	fioLatencies(add, prefix+".", d.Latency, none)
}

// rate is an amount per second; 0 stands for none.
func rate(amount int64, seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return float64(amount) / seconds
}

// perGiB is how long 1 GiB takes, in seconds; 0 stands for none.
func perGiB(seconds float64, bytes int64) float64 {
	if bytes == 0 {
		return 0
	}
	return seconds * (1 << 30) / float64(bytes)
}

func dataless(bytes int64) string {
	if bytes == 0 {
		return "the requests transferred no data"
	}
	return ""
}

func fioLatencies(add func(metric string, value float64, absent string), prefix string, l fio.Latency, none string) {
	for _, p := range fioPercentiles {
		v, why := l.Percentile(p.share)
		if none != "" {
			why = none
		}
		add(prefix+p.metric, v, why)
	}
	v, why := l.Max()
	if none != "" {
		why = none
	}
	add(prefix+result.LatMax, v, why)
}
