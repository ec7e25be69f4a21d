package workload

import (
	"os"
	"path/filepath"

	"whichfs/internal/plan/scenario"
)

// imageTree is the directory in memory that a step's image is made from, with its bytes and files
// and how to free its memory: the whole tree; or, where the step has a Share, what FillSize would
// write onto the storage, so that an image holds the same files as a filesystem that is written in
// place.
func (env *Env) imageTree(step scenario.Step) (dir string, bytes, files int64, free func(), err error) {
	free = func() {}
	if step.Share == 0 {
		dir, err = env.TreeDir(step.Data)
		if err != nil {
			return "", 0, 0, free, err
		}
		return dir, env.Trees[step.Data].Bytes, int64(env.Trees[step.Data].Files), free, nil
	}
	if dir, err = os.MkdirTemp(env.Work, "image-of-"); err != nil {
		return "", 0, 0, free, err
	}
	free = func() { _ = os.RemoveAll(dir) }
	inMemory := *env
	inMemory.Mount = dir
	step.Dir = ""
	w, err := newTreeWriter(&inMemory, step)
	if err != nil {
		return "", 0, 0, free, err
	}
	l, err := env.layoutFor(step, w.plan)
	if err != nil {
		return "", 0, 0, free, err
	}
	var t Tally
	if err := w.fillSize(l, &t); err != nil {
		return "", 0, 0, free, err
	}
	// Otherwise mkdtemp's mode would become the mode of the image's root.
	if err := os.Chmod(filepath.Clean(dir), 0o755); err != nil { //nolint:gosec // like any root directory
		return "", 0, 0, free, err
	}
	env.remember(step, l)
	return dir, t.Bytes, l.files, free, nil
}
