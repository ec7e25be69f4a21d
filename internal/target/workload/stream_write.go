package workload

import (
	"context"
	"fmt"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// StreamWrite writes Count files DIR/stream.1 and so on from memory, one after the other, then
// waits until the filesystem reports them on storage.
var StreamWrite = Kind{Name: "stream-write", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	stream, err := streamOf(env, step)
	if err != nil {
		return Job{}, err
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	size := int64(len(stream.Data))
	if limit := env.lacks().MaxFile; limit > 0 && size > limit {
		return Job{}, result.Refuse("use a smaller scale", "stream %q has %d bytes; a file of %s has at most %d", step.Data, size, env.FS.Name, limit)
	}
	what := fmt.Sprintf("%d copies of the stream %q do not fit", copies(step), step.Data)
	if err := room(env, what, int64(copies(step))*size); err != nil {
		return Job{}, err
	}
	if err := target.makeDir(); err != nil {
		return Job{}, err
	}
	names := streamNames(step)
	return Job{Run: func(t *Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		for _, name := range names {
			if call, errno := writeFile(target.dirFD, &name[0], stream.Data, 0o644); errno != 0 {
				return errOp(call, target.path(name), errno)
			}
			t.Bytes += size
			t.Files++
		}
		return target.sync()
	}}, nil
}}
