package workload

import (
	"strconv"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
)

// streamNames are the files that a step on a stream works on, in its directory.
func streamNames(step scenario.Step) [][]byte {
	var names [][]byte
	for i := range copies(step) {
		names = append(names, terminated("stream."+strconv.Itoa(i+1)))
	}
	return names
}

func streamOf(env *Env, step scenario.Step) (*memory.Stream, error) {
	if s := env.Streams[step.Data]; s != nil {
		return s, nil
	}
	return nil, result.Refuse("", "step %q: there is no stream %q", step.Work, step.Data)
}
