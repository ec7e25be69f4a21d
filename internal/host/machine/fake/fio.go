package fake

import (
	"strings"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// fioFigures are the additional figures of a step with fio: nine tenths of the wall time are I/O,
// in requests of 4 KiB, of the kinds in the job's rw=.
func fioFigures(step scenario.Step, wall float64) []result.Measurement {
	if step.Work != "fio" {
		return nil
	}
	took, bytes := 0.9*wall, float64(max(step.Size, 1<<20))
	figures := []result.Measurement{
		result.Figure(result.FioTime, took),
		result.Figure(result.FioAll+result.FioGiB, took*(1<<30)/bytes),
		result.Figure(result.FioUser, wall/32),
		result.Figure(result.FioSystem, wall/8),
		result.Figure(result.DataBytes, bytes),
		result.Figure(result.Ops, bytes/4096),
		result.Figure(result.LatP50, took*4096/bytes),
		result.Figure(result.LatP99, 8*took*4096/bytes),
		result.Figure(result.LatMax, 64*took*4096/bytes),
	}
	for name, prefix := range map[string]string{"read": result.FioRead, "write": result.FioWrite} {
		m := result.Figure(prefix+result.FioGiB, took*(1<<30)/bytes)
		if !strings.Contains(step.Job, name) && !strings.Contains(step.Job, "rw=rw") && !strings.Contains(step.Job, "rw=randrw") {
			m.Value, m.Absent = 0, "the jobs of fio have no requests of type "+name
		}
		figures = append(figures, m)
	}
	return figures
}
