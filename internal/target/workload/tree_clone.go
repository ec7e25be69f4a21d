package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// TreeClone clones every file of DIR/1 into DIR/clone (FICLONE: the copy shares the data until one
// of them is written), with directories and symbolic links, then waits until the filesystem reports
// this on storage. If the filesystem as it was made cannot clone, its figures are absent.
var TreeClone = Kind{Name: "tree-clone", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if !env.FS.Reflink {
		return Job{Absent: env.FS.Name + " does not clone files"}, nil
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	switch err := tryClone(filepath.Join(env.Mount, step.Dir)); {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY):
		return Job{Absent: fmt.Sprintf("%s as it was made here does not clone files", env.FS.Name)}, nil
	case err != nil:
		return Job{}, Subject("clone: %v", err)
	}
	c := newWithin(join(step.Dir, "1"), true)
	from, to := terminated("1"), terminated("clone")
	return Job{Run: func(t *Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		if err := c.copy(target.dirFD, &from[0], &to[0], t); err != nil {
			return err
		}
		return target.sync()
	}}, nil
}}

// tryClone clones one small file in dir and cleans up.
func tryClone(dir string) error {
	from, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return err
	}
	defer os.Remove(from.Name()) //nolint:errcheck // every trial makes a new filesystem
	defer from.Close()           //nolint:errcheck // likewise
	if _, err := from.Write(make([]byte, 8192)); err != nil {
		return err
	}
	to, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) //nolint:errcheck // likewise
	defer to.Close()           //nolint:errcheck // likewise
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}
