package workload

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
)

// target is where a step works: the mount point and the step's directory, opened when the timed
// section begins and closed when it ends, so that a job that never runs holds nothing.
type target struct {
	mount, dir []byte // absolute paths with NUL
	name       string // of dir below the mount point, for messages
	mountFD    int
	dirFD      int
}

func newTarget(env *Env, step scenario.Step) (*target, error) {
	if !filepath.IsLocal(step.Dir) && step.Dir != "" {
		return nil, result.Refuse("", "step %q: the directory %q is not below the mount point", step.Work, step.Dir)
	}
	if step.Count < 0 {
		return nil, result.Refuse("", "step %q: a count of %d", step.Work, step.Count)
	}
	return &target{
		mount: terminated(env.Mount), dir: terminated(filepath.Join(env.Mount, step.Dir)),
		name: step.Dir, mountFD: -1, dirFD: -1,
	}, nil
}

func (t *target) open() error {
	var errno unix.Errno
	if t.mountFD, errno = openat(unix.AT_FDCWD, &t.mount[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); errno != 0 {
		t.mountFD = -1
		return errOp("open", ".", errno)
	}
	if t.dirFD, errno = openat(unix.AT_FDCWD, &t.dir[0], listFlags, 0); errno != 0 {
		t.dirFD = -1
		t.close()
		return errOp("open", t.name, errno)
	}
	return nil
}

func (t *target) close() {
	for _, fd := range [...]int{t.dirFD, t.mountFD} {
		if fd >= 0 {
			_ = closefd(fd)
		}
	}
	t.dirFD, t.mountFD = -1, -1
}

// path of a file in the directory, whose name ends in a zero byte, for messages.
func (t *target) path(name []byte) string { return join(t.name, string(name[:len(name)-1])) }

// sync waits until the filesystem reports everything on storage.
func (t *target) sync() error {
	if errno := syncfs(t.mountFD); errno != 0 {
		return errOp("syncfs", ".", errno)
	}
	return nil
}

// makeDir makes the step's directory and syncs it, so that the timed section does not pay for it.
func (t *target) makeDir() error {
	mount := string(t.mount[:len(t.mount)-1])
	path := mount
	for part := range strings.SplitSeq(t.name, "/") {
		if part == "" {
			continue
		}
		path += "/" + part
		if err := unix.Mkdir(path, 0o755); err != nil && err != unix.EEXIST { //nolint:errorlint // an errno as it is
			return Subject("mkdir %q: %v", strings.TrimPrefix(path, mount+"/"), err)
		}
	}
	if err := t.open(); err != nil {
		return err
	}
	defer t.close()
	return t.sync()
}

// copies is the number of copies in a step.
func copies(step scenario.Step) int { return max(step.Count, 1) }

func treeOf(env *Env, step scenario.Step) (*memory.Tree, error) {
	if tree := env.Trees[step.Data]; tree != nil {
		return tree, nil
	}
	return nil, result.Refuse("", "step %q: there is no tree %q", step.Work, step.Data)
}

// room checks that need bytes of contents can fit at all. The filesystem's own overhead is not
// included and shows as a failure of its own; with compression, more may fit than is free.
func room(env *Env, what string, need int64) error {
	for _, o := range env.Candidate.Mount() {
		if strings.HasPrefix(o, "compress") {
			return nil
		}
	}
	var st unix.Statfs_t
	if err := unix.Statfs(env.Mount, &st); err != nil {
		return Subject("statfs: %v", err)
	}
	free := int64(st.Bfree) * int64(st.Bsize) //nolint:unconvert // Bsize is 32 bits wide on some processors
	if need > free {
		return result.Refuse("give a larger --storage, or a smaller scale",
			"%s: %d bytes are needed and %d are available", what, need, free)
	}
	return nil
}
