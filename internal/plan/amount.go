package plan

import (
	"slices"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
)

// Amount is the work of a scenario, roughly: what an estimate of its time can rest on before anything was
// measured.
type Amount struct {
	Read, Written int64 // B
	Ops           int64 // files, requests and operations, whatever their size
	Rest          int64 // s that pass whatever the storage does
}

// cached is how many requests in a row, which caches gather, cost as much as one that stands alone.
const cached = 8

// Amount of work of a scenario with these data on storage of a size in bytes.
func (p Plan) Amount(s scenario.Scenario, storage int64) (a Amount) {
	for _, step := range s {
		a.add(step, p.Data, storage)
	}
	return a
}

func (a *Amount) add(step scenario.Step, data []scenario.Data, storage int64) {
	k, _ := scenario.KindOf(step.Work)
	var size, files int64 // of the step's data, or of its own
	if i := slices.IndexFunc(data, func(d scenario.Data) bool { return d.Name == step.Data }); step.Data != "" && i >= 0 {
		size, files = data[i].Size, int64(max(1, data[i].Files))
	}
	n := int64(max(1, step.Count))
	switch {
	case step.Only == "daemon": // which few have
	case step.Work == "settle":
		a.Rest += n
	case step.Work == "tree-rotate": // each copy is read, written and deleted
		a.Read, a.Written, a.Ops = a.Read+n*size, a.Written+n*size, a.Ops+3*n*files
	case step.Work == "tree-remove": // of what was written, which is counted there
	case step.Work == "fill" || step.Work == "fill-size":
		filled := int64(step.Share * float64(storage))
		a.Written += filled
		if size > 0 {
			a.Ops += files * (filled / size)
		}
	case step.Work == "fio":
		size := step.Size
		if moved, err := media.ParseSize(jobValue(step.Job, "io_size")); err == nil {
			size = moved
		}
		if block, err := media.ParseSize(jobValue(step.Job, "blocksize")); err == nil && block > 0 {
			a.Ops += size / block
		}
		if strings.Contains(jobValue(step.Job, "rw"), "read") {
			a.Read += size
		} else {
			a.Written += size
		}
	case step.Work == "seeks":
		a.Ops += int64(step.Ops)
	case step.Files > 0 && size == 0: // of the work with empty files
		a.Ops += int64(step.Files)
	case step.Size > 0 && step.Block > 0:
		a.Ops += step.Size / step.Block / cached
		if k.Reads || step.Work == "file-rewrite" {
			a.Read += step.Size
		}
		if k.Writes {
			a.Written += step.Size
		}
	case size > 0 && k.Writes:
		a.Written, a.Ops = a.Written+n*size, a.Ops+n*files
	case size > 0 && k.Reads:
		a.Read, a.Ops = a.Read+n*size, a.Ops+n*files
	case size > 0:
		a.Ops += n * files
	}
}

// jobValue is the value of a key of a fio job, of the first of its sections that has it.
func jobValue(job, key string) string {
	for line := range strings.Lines(job) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == key {
			return v
		}
	}
	return ""
}
