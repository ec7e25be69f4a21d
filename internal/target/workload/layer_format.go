package workload

import (
	"context"

	"whichfs/internal/plan/scenario"
)

// LayerFormat writes UBI's headers into every good block, with ubiformat. The
// figure is the whole process.
var LayerFormat = Kind{Name: "layer-format", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if !env.Way.UBI() {
		return Job{Absent: noUBI}, nil
	}
	argv := []string{"ubiformat", "-q", "-y", env.Device}
	env.warm(argv[0])
	return Job{Run: func(*Tally) error { return runTool(ctx, argv) }}, nil
}}

const noUBI = "there is no UBI below it"
