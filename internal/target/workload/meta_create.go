package workload

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// MetaCreate creates Files empty files in Dirs directories below DIR (create and close), then waits
// until the filesystem reports them on storage. Its latencies are per file, without that last wait.
// See meta for what it shares with Bonnie++.
var MetaCreate = Kind{Name: "meta-create", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	m, err := newMeta(env, step)
	if err != nil {
		return Job{}, err
	}
	if err := m.makeDirs(); err != nil {
		return Job{}, err
	}
	return Job{Run: m.create, After: m.after}, nil
}}

// metaCreateFlags are those of the original. Its files are accessible only to the owner.
const metaCreateFlags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC | unix.O_LARGEFILE

// makeDirs makes the directories and syncs them.
func (m *meta) makeDirs() error {
	if err := m.target.makeDir(); err != nil {
		return err
	}
	if err := m.target.open(); err != nil {
		return err
	}
	defer m.target.close()
	for _, dir := range m.names.dirs {
		if errno := mkdirat(m.target.dirFD, &dir[0], 0o700); errno != 0 {
			return errOp("mkdir", join(m.target.name, string(dir[:len(dir)-1])), errno)
		}
	}
	return m.target.sync()
}

func (m *meta) create(t *Tally) error {
	if err := m.target.open(); err != nil {
		return err
	}
	defer m.target.close()
	start := time.Now()
	var at time.Duration
	for i := range m.names.files {
		fd, errno := openat(m.target.dirFD, m.names.name(i), metaCreateFlags, 0o600)
		if errno != 0 {
			return m.fail("create", i, errno)
		}
		if errno := closefd(fd); errno != 0 {
			return m.fail("close", i, errno)
		}
		at = m.lat.lap(start, at)
		t.Files++
	}
	return m.target.sync()
}
