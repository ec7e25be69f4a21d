package workload

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Wear removes the file DIR/stream.1 and writes it again from memory, Count times, each time until the
// filesystem reports it on storage. What else is on the storage stays where it is, unless something below
// levels the wear: so its figures are how often each block was erased, and whether all were.
var Wear = Kind{Name: "wear", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	stream, err := streamOf(env, step)
	if err != nil {
		return Job{}, err
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	size, err := env.storageSize()
	if err != nil {
		return Job{}, err
	}
	if least, erases := env.layer.threshold, int64(copies(step))*int64(len(stream.Data))/size; erases < least {
		return Job{Absent: fmt.Sprintf("UBI moves what stays only when the erases of two blocks differ by %d (CONFIG_MTD_UBI_WL_THRESHOLD of this kernel), and this work erases a block %d times; the virtual lab's kernel has a smaller one: --clock virtual",
			least, erases), AbsentMetrics: []string{result.FlashMost, result.FlashMean, result.FlashUntouched}}, nil
	}
	// What was removed may take room until the new contents are on storage.
	if err := room(env, "two copies of the stream do not fit", 2*int64(len(stream.Data))); err != nil {
		return Job{}, err
	}
	if err := target.makeDir(); err != nil {
		return Job{}, err
	}
	name := streamNames(scenario.Step{})[0]
	return Job{Wears: true, Run: func(t *Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		for range copies(step) {
			call, errno := "unlink", unlinkat(target.dirFD, &name[0], 0)
			if errno == 0 || errno == unix.ENOENT { // the first time
				call, errno = writeFile(target.dirFD, &name[0], stream.Data, 0o644)
			}
			if errno != 0 {
				return errOp(call, target.path(name), errno)
			}
			if err := target.sync(); err != nil {
				return err
			}
			t.Bytes += int64(len(stream.Data))
			t.Ops++
		}
		return nil
	}, After: env.ubiErases}, nil
}}
