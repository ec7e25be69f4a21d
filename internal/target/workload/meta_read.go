package workload

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// MetaRead opens each file that MetaCreate made, by its path, and reads to its end, which is where
// it begins. For the filesystem that is a read like any other: it updates the time of access as the
// mount options say. Nothing is waited for. Its latencies are per file.
var MetaRead = Kind{Name: "meta-read", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	m, err := newMeta(env, step)
	if err != nil {
		return Job{}, err
	}
	r := &metaRead{m, buffer(1)}
	return Job{Run: r.run, After: m.after}, nil
}}

type metaRead struct {
	*meta
	buf []byte
}

func (r *metaRead) run(t *Tally) error {
	if err := r.target.open(); err != nil {
		return err
	}
	defer r.target.close()
	start := time.Now()
	var at time.Duration
	for i := range r.names.files {
		fd, errno := openat(r.target.dirFD, r.names.name(i), readFlags, 0)
		if errno != 0 {
			return r.fail("open", i, errno)
		}
		n, errno := readfd(fd, r.buf)
		if end := closefd(fd); errno == 0 {
			errno = end
		}
		if errno == 0 && n > 0 {
			errno = unix.EFBIG
		}
		if errno != 0 {
			return r.fail("read", i, errno)
		}
		at = r.lat.lap(start, at)
		t.Files++
	}
	return nil
}
