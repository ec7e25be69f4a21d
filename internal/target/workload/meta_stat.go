package workload

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/dirlist"
)

// MetaStat stats the files that MetaCreate made: in sequential order as the filesystem lists each
// directory, in random order each file once by its path. Nothing is written, and caches are not
// dropped: as in the original, this mostly measures the kernel's caches. Its latencies are per
// file, including the listing.
var MetaStat = Kind{Name: "meta-stat", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	m, err := newMeta(env, step)
	if err != nil {
		return Job{}, err
	}
	if m.random {
		m.names.shuffle(metaSource(step.Seed, metaDrawStat))
		return Job{Run: m.statRandom, After: m.after}, nil
	}
	s := newMetaScan(m)
	return Job{Run: s.stat, After: m.after}, nil
}}

func (m *meta) statRandom(t *Tally) error {
	if err := m.target.open(); err != nil {
		return err
	}
	defer m.target.close()
	var st unix.Stat_t
	start := time.Now()
	var at time.Duration
	for i := range m.names.files {
		if errno := statat(m.target.dirFD, m.names.name(i), &st); errno != 0 {
			return m.fail("stat", i, errno)
		}
		at = m.lat.lap(start, at)
		t.Files++
	}
	return nil
}

// metaScan walks the directories of a storm, one after the other, and handles every file in the
// order in which it is listed.
type metaScan struct {
	*meta
	buf   []byte
	dir   int // which one is listed
	start time.Time
	at    time.Duration
	st    unix.Stat_t
}

func newMetaScan(m *meta) *metaScan { return &metaScan{meta: m, buf: buffer(dirlist.Buffer)} }

func (s *metaScan) stat(t *Tally) error {
	if err := s.target.open(); err != nil {
		return err
	}
	defer s.target.close()
	s.start, s.at = time.Now(), 0
	for s.dir = 0; s.dir < max(1, len(s.names.dirs)); s.dir++ {
		fd, err := s.list()
		if err != nil {
			return err
		}
		_, err = s.each(fd, false, t)
		if errno := closefd(fd); err == nil && errno != 0 {
			err = errOp("close", s.place(), errno)
		}
		if err != nil {
			return err
		}
	}
	return s.complete(t)
}

// list opens the current directory.
func (s *metaScan) list() (int, error) {
	name := &dot[0]
	if len(s.names.dirs) > 0 {
		name = &s.names.dirs[s.dir][0]
	}
	fd, errno := openat(s.target.dirFD, name, listFlags, 0)
	if errno != 0 {
		return -1, errOp("open", s.place(), errno)
	}
	return fd, nil
}

var dot = []byte{'.', 0}

// each lists a directory and stats or deletes every file in it, and returns how many there were.
func (s *metaScan) each(fd int, remove bool, t *Tally) (int, error) {
	list := dirlist.Of(fd, s.buf)
	for found := 0; ; found++ {
		name, _, err := list.Next()
		if err != nil {
			return found, unlisted(s.place(), err)
		}
		if name == nil {
			return found, nil
		}
		if call, errno := s.touch(fd, name, remove); errno != 0 {
			return found, errOp(call, join(s.place(), string(name[:len(name)-1])), errno)
		}
		s.at = s.lat.lap(s.start, s.at)
		t.Files++
	}
}

func (s *metaScan) touch(fd int, name []byte, remove bool) (string, unix.Errno) {
	if remove {
		return "unlink", unlinkat(fd, &name[0], 0)
	}
	return "stat", statat(fd, &name[0], &s.st)
}

// complete: a pass over other files than those of the step is not a measurement.
func (s *metaScan) complete(t *Tally) error {
	if t.Files != int64(s.names.files) {
		return Subject("%s: %d of %d created files were listed", s.target.name, t.Files, s.names.files)
	}
	return nil
}

// place is the current directory, for messages.
func (s *metaScan) place() string {
	if len(s.names.dirs) == 0 || s.dir >= len(s.names.dirs) {
		return s.target.name
	}
	dir := s.names.dirs[s.dir]
	return join(s.target.name, string(dir[:len(dir)-1]))
}
