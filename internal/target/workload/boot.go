package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// FirstProcess is the name of the first process in a root filesystem made by BootRoot. It is in the
// top directory, where every filesystem can hold it.
const FirstProcess = "whichfs-init"

// Userspace is the name of the program of the userspace that is beside it: BusyBox, which is init,
// getty and everything else up to a login prompt, as its first argument says if its name begins so.
const Userspace = "busybox"

// inittab is what init does, after Buildroot's package/busybox/inittab: it says that it is there, then
// mounts what programs expect, names the machine, starts the log, and asks on the console for a name.
const inittab = `::sysinit:/busybox echo init
::sysinit:/busybox mount -t proc proc /proc
::sysinit:/busybox mount -t sysfs sysfs /sys
::sysinit:/busybox mount -t tmpfs tmpfs /run
::sysinit:/busybox hostname lab
::sysinit:/busybox syslogd -O /run/messages
::sysinit:/busybox klogd
console::respawn:/busybox getty -L 115200 console vt100
`

// BootRoot turns the mounted filesystem into a root filesystem that a guest can boot: it removes
// everything there, writes the tree Data with this program as its first process, and a small userspace
// beside it, and unmounts and flushes the filesystem, so that only the storage holds it. Entries of the tree that the
// filesystem cannot hold are left out; the first process needs none of them.
var BootRoot = Kind{Name: "boot-root", Setup: setupBootRoot}

func setupBootRoot(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if env.FS.ReadOnly {
		return Job{Absent: env.FS.Title + " is made as an image, whose contents a root filesystem cannot replace"}, nil
	}
	if step.Dir != "" {
		return Job{}, result.Refuse("leave the directory out", "step %q: a root filesystem in the directory %q", step.Work, step.Dir)
	}
	w, err := newTreeWriter(env, step)
	if err != nil {
		return Job{}, err
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return Job{}, fmt.Errorf("reading this program: %w", err)
	}
	if err := empty(env.Mount, env.FS.Own); err != nil {
		return Job{}, err
	}
	// The lab's image has BusyBox without libraries; on a board its own may need some, and then nothing
	// boots.
	var userspace []byte
	if path, err := command.Look("busybox"); err == nil {
		if userspace, err = os.ReadFile(path); err != nil {
			return Job{}, err
		}
	}
	what := fmt.Sprintf("the root filesystem %q with its first process of %d bytes does not fit", step.Data, len(program))
	if err := room(env, what, w.plan.written+int64(len(program)+len(userspace))); err != nil {
		return Job{}, err
	}
	call, err := env.mountCall()
	if err != nil {
		return Job{}, err
	}
	r := &rootLayer{treeWriter: *w, program: program, userspace: userspace, name: terminated(FirstProcess), device: terminated(env.Device)}
	return Job{
		Run: func(t *Tally) error {
			if err := r.lay(t); err != nil {
				return err
			}
			if err := env.unmount(call); err != nil {
				return err
			}
			return r.flush()
		},
		After: func() (Extra, error) { return r.plan.extra(), nil },
	}, nil
}

// empty removes everything at the top of a filesystem except the filesystem's own entries.
func empty(dir string, own []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Subject("reading the top directory: %v", err)
	}
	for _, e := range entries {
		if slices.Contains(own, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return Subject("making room for the root filesystem: %v", err)
		}
	}
	return nil
}

// rootLayer writes a root filesystem.
type rootLayer struct {
	treeWriter
	program      []byte
	userspace    []byte // BusyBox; none: this machine has none
	name, device []byte // with NUL
}

func (r *rootLayer) lay(t *Tally) error {
	if err := r.target.open(); err != nil {
		return err
	}
	defer r.target.close()
	defer r.closeAll()
	top, errno := openat(r.target.dirFD, &dot[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errno != 0 {
		return errOp("open", ".", errno)
	}
	r.dirs[0], r.depth = top, 1
	for i := range r.plan.ops {
		o := &r.plan.ops[i]
		if call, errno := r.make(o, false, t); errno != 0 {
			return r.fail(call, dot, o.path, errno)
		}
	}
	if call, errno := writeFile(top, &r.name[0], r.program, 0o755); errno != 0 {
		return r.fail(call, dot, r.name, errno)
	}
	t.Files, t.Bytes = t.Files+1, t.Bytes+int64(len(r.program))
	if len(r.userspace) > 0 {
		if err := r.layUserspace(top, t); err != nil {
			return err
		}
	}
	return r.target.sync()
}

// layUserspace adds the userspace and the directories that it mounts on, as far as the tree lacks them.
func (r *rootLayer) layUserspace(top int, t *Tally) error {
	for _, dir := range []string{"dev", "proc", "sys", "run", "etc"} {
		if err := unix.Mkdirat(top, dir, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return Subject("mkdir %s: %v", dir, err)
		}
	}
	etc, err := unix.Openat(top, "etc", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return result.Refuse("", "the tree's /etc cannot hold the table of init: %v", err)
	}
	defer closefd(etc)
	_ = unix.Unlinkat(etc, "inittab", 0) // the tree's own
	for _, f := range []struct {
		dir  int
		name string
		text []byte
		mode uint32
	}{{top, Userspace, r.userspace, 0o755}, {etc, "inittab", []byte(inittab), 0o644}} {
		if call, errno := writeFile(f.dir, &terminated(f.name)[0], f.text, f.mode); errno != 0 {
			return r.fail(call, dot, terminated(f.name), errno)
		}
		t.Files, t.Bytes = t.Files+1, t.Bytes+int64(len(f.text))
	}
	return nil
}

// flush makes the storage write its cache: not every filesystem requests a flush when it is
// unmounted, and the machine that boots may read the storage after a power loss.
func (r *rootLayer) flush() error {
	fd, errno := openat(unix.AT_FDCWD, &r.device[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errno != 0 {
		return fmt.Errorf("opening the storage: %w", errno)
	}
	defer closefd(fd)
	for {
		switch err := unix.Fsync(fd); {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return Subject("flushing the storage: %v", err)
		}
	}
}

// DriverFiles lists the files of a kernel's module tree that make up a candidate's driver, in the
// order of insertion; none if the driver is built in. Some may be for a processor other than the
// machine's.
func DriverFiles(m *Modules, c filesystem.Candidate) ([]string, error) {
	fs := c.Filesystem()
	if file, builtin := m.Has(fs.Module); !file {
		if builtin {
			return nil, nil
		}
		return nil, result.Fail(result.Unsupported, "", "the kernel has no module %s", fs.Module)
	}
	env := Env{Candidate: c, FS: fs, Modules: m}
	return env.driverFiles(), nil
}
