package fake

import (
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// fioFigures are what a step with fio adds: nine tenths of the wall time are
// I/O, in requests of 4 KiB, of the kinds that the job's rw= names.
func fioFigures(step scenario.Step, wall float64) []result.Measurement {
	if step.Work != "fio" {
		return nil
	}
	took, bytes := 0.9*wall, float64(max(step.Size, 1<<20))
	figures := []result.Measurement{
		{Metric: result.FioTime, Value: took, Unit: "s"},
		{Metric: result.FioAll + result.FioGiB, Value: took * (1 << 30) / bytes, Unit: "s"},
		{Metric: result.FioUser, Value: wall / 32, Unit: "s"},
		{Metric: result.FioSystem, Value: wall / 8, Unit: "s"},
		{Metric: result.DataBytes, Value: bytes, Unit: "B"},
		{Metric: result.Ops, Value: bytes / 4096, Unit: "1"},
		{Metric: result.LatP50, Value: took * 4096 / bytes, Unit: "s"},
		{Metric: result.LatP99, Value: 8 * took * 4096 / bytes, Unit: "s"},
		{Metric: result.LatMax, Value: 64 * took * 4096 / bytes, Unit: "s"},
	}
	for name, prefix := range map[string]string{"read": result.FioRead, "write": result.FioWrite} {
		m := result.Measurement{Metric: prefix + result.FioGiB, Value: took * (1 << 30) / bytes, Unit: "s"}
		if !strings.Contains(step.Job, name) && !strings.Contains(step.Job, "rw=rw") && !strings.Contains(step.Job, "rw=randrw") {
			m.Value, m.Absent = 0, "the jobs of fio have no requests of the kind "+name
		}
		figures = append(figures, m)
	}
	return figures
}
