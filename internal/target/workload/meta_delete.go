package workload

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// MetaDelete deletes the files that MetaCreate made and their directories: in sequential order as
// the filesystem lists each directory, in random order by their paths. Then it waits until the
// filesystem reports this on storage. Its latencies are per file, without that last wait.
var MetaDelete = Kind{Name: "meta-delete", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	m, err := newMeta(env, step)
	if err != nil {
		return Job{}, err
	}
	if m.random {
		m.names.shuffle(metaSource(step.Seed, metaDrawDelete))
		return Job{Run: m.deleteRandom, After: m.after}, nil
	}
	s := newMetaScan(m)
	return Job{Run: s.delete, After: m.after}, nil
}}

func (m *meta) deleteRandom(t *Tally) error {
	if err := m.target.open(); err != nil {
		return err
	}
	defer m.target.close()
	start := time.Now()
	var at time.Duration
	for i := range m.names.files {
		if errno := unlinkat(m.target.dirFD, m.names.name(i), 0); errno != 0 {
			return m.fail("unlink", i, errno)
		}
		at = m.lat.lap(start, at)
		t.Files++
	}
	for i := range m.names.dirs {
		if err := m.removeDir(i); err != nil {
			return err
		}
	}
	return m.removeTop()
}

func (s *metaScan) delete(t *Tally) error {
	if err := s.target.open(); err != nil {
		return err
	}
	defer s.target.close()
	s.start, s.at = time.Now(), 0
	for s.dir = 0; s.dir < max(1, len(s.names.dirs)); s.dir++ {
		if err := s.empty(t); err != nil {
			return err
		}
		if len(s.names.dirs) > 0 {
			if err := s.removeDir(s.dir); err != nil {
				return err
			}
		}
	}
	if err := s.complete(t); err != nil {
		return err
	}
	return s.removeTop()
}

// empty deletes the files in the current directory. A filesystem may omit entries from a listing
// while others are deleted; then it is listed again.
func (s *metaScan) empty(t *Tally) error {
	fd, err := s.list()
	if err != nil {
		return err
	}
	defer func() { _ = closefd(fd) }()
	// One listing is enough if it was complete: the original makes one.
	for enough := s.names.share(s.dir); ; {
		found, err := s.each(fd, true, t)
		if enough -= found; err != nil || found == 0 || enough <= 0 {
			return err
		}
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return errOp("list", s.place(), err.(unix.Errno)) //nolint:errorlint,forcetypeassert // an errno as it is
		}
	}
}

func (m *meta) removeDir(i int) error {
	dir := m.names.dirs[i]
	if errno := unlinkat(m.target.dirFD, &dir[0], unix.AT_REMOVEDIR); errno != 0 {
		return errOp("rmdir", join(m.target.name, string(dir[:len(dir)-1])), errno)
	}
	return nil
}

// removeTop removes the step's own directory and syncs. It closes the directory first, because an
// open one would be kept.
func (m *meta) removeTop() error {
	_ = closefd(m.target.dirFD)
	m.target.dirFD = -1
	if errno := unlinkat(unix.AT_FDCWD, &m.target.dir[0], unix.AT_REMOVEDIR); errno != 0 {
		return errOp("rmdir", m.target.name, errno)
	}
	return m.target.sync()
}
