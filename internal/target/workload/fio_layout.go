package workload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"whichfs/internal/plan/fio"
)

// fioLayout records which files fio has laid out in a directory, and for which jobs.
type fioLayout struct {
	jobs  string // fio.File.Layout
	files fileCount
}

// fileCount is the number of regular files and their total length.
type fileCount struct {
	files int
	bytes int64
}

// layOut lets fio make the files that its jobs will read, unless an earlier step made them.
func (r *fioRun) layOut(ctx context.Context, program string, file fio.File) error {
	there, err := filesBelow(r.dir, nil)
	if err != nil {
		return err
	}
	if laid, ok := r.env.laid[r.dir]; ok && laid.jobs == file.Layout() && laid.files == there {
		return nil
	}
	if err := r.fio(ctx, program, "--create_only=1"); err != nil {
		return r.failed(ctx, err)
	}
	if there, err = filesBelow(r.dir, nil); err != nil {
		return err
	}
	if r.env.laid == nil {
		r.env.laid = map[string]fioLayout{}
	}
	r.env.laid[r.dir] = fioLayout{jobs: file.Layout(), files: there}
	return nil
}

// filesBelow counts the regular files below a directory, which may be missing, and passes each to
// visit, if that is not nil.
func filesBelow(dir string, visit func(f *os.File)) (fileCount, error) {
	var c fileCount
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		c.files++
		c.bytes += info.Size()
		if visit == nil {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		visit(f)
		return f.Close()
	})
	if err != nil {
		return c, Subject("listing the files of fio: %v", err)
	}
	return c, nil
}
