package workload

import (
	"context"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// TreeRemove removes everything in DIR, as rm -rf DIR/* does, then waits until the filesystem
// reports this on storage.
var TreeRemove = Kind{Name: "tree-remove", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if step.Dir == "" {
		// The top may hold the filesystem's own entries (lost+found).
		return Job{}, result.Refuse("", "step %q: a directory must be named", step.Work)
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	w := newWalk(target.name)
	return Job{Run: func(t *Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		if err := removeIn(w, unix.AT_FDCWD, &target.dir[0], t); err != nil {
			return err
		}
		return target.sync()
	}}, nil
}}

// removeIn removes the contents of a directory and keeps the directory itself.
//
// Filesystems differ in what a listing shows while entries are removed; some then omit an entry. So
// a directory is listed again if it turns out not to be empty and the last pass removed something.
func removeIn(w *walk, dir int, name *byte, t *Tally) error {
	defer w.closeAll()
	if err := w.enter(dir, name); err != nil {
		return err
	}
	for {
		entry, kind, err := w.next()
		if err != nil {
			return err
		}
		f := w.top()
		switch {
		case entry != nil && kind == unix.DT_DIR:
			if err := w.enter(f.fd, entry); err != nil {
				return err
			}
		case entry != nil:
			if errno := unlinkat(f.fd, entry, 0); errno != 0 {
				return w.fail("unlink", errno)
			}
			f.removed = true
			t.Files++
		case w.depth == 1:
			if !f.removed {
				return w.leave()
			}
			f.removed = false
			if _, err := unix.Seek(f.fd, 0, unix.SEEK_SET); err != nil {
				return w.fail("list", err.(unix.Errno)) //nolint:errorlint,forcetypeassert // an errno as it is
			}
		default:
			if err := removeDir(w, t); err != nil {
				return err
			}
		}
	}
}

// removeDir removes the directory that was just emptied. It closes the directory first: every
// filesystem keeps an open directory as an orphan.
func removeDir(w *walk, t *Tally) error {
	removed := w.top().removed
	if err := w.leave(); err != nil {
		return err
	}
	parent := w.top()
	errno := unlinkat(parent.fd, &parent.name[0], unix.AT_REMOVEDIR)
	switch {
	case errno == 0:
		parent.removed = true
		t.Files++
		return nil
	case (errno == unix.ENOTEMPTY || errno == unix.EEXIST) && removed:
		return w.enter(parent.fd, &parent.name[0])
	}
	return w.fail("rmdir", errno)
}
