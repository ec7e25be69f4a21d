package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/guest"
)

// Mount mounts from cold: the page cache, dentries and inodes are dropped before the clock starts.
// The figure is the mount system call alone.
var Mount = Kind{Name: "mount", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if err := env.dropCaches(); err != nil {
		return Job{}, err
	}
	call, err := env.mountCall()
	if err != nil {
		return Job{}, err
	}
	return Job{
		Run: func(*Tally) error { return env.mountAlone(call) },
		After: func() (Extra, error) {
			if err := env.startDaemon(); err != nil {
				return Extra{}, err
			}
			env.settle()
			return Extra{Options: env.verify()}, nil
		},
	}, nil
}}

// Unmount unmounts; the writes and the flush that it waits for are part of its time, and so is the end
// of a program beside the filesystem.
var Unmount = Kind{Name: "unmount", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	call, err := env.mountCall()
	if err != nil {
		return Job{}, err
	}
	return Job{Run: func(*Tally) error { return env.unmount(call) }}, nil
}}

// Remount unmounts, drops caches and mounts again, in preparation for a cold read; with further
// options, until the next one.
var Remount = Kind{Name: "remount", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	call, err := env.mountCall(step.Options...)
	if err != nil {
		return Job{}, err
	}
	return Job{Run: func(*Tally) error {
		if err := env.unmount(call); err != nil {
			return err
		}
		if err := env.dropCaches(); err != nil {
			return err
		}
		return env.mount(call)
	}}, nil
}}

func (env *Env) mountOptions() []string { return filesystem.MountData(env.Candidate) }

// mountCall holds the arguments of mount(2), made before the clock starts.
type mountCall struct {
	device, point, fstype, data *byte
	flags                       uintptr
}

func (env *Env) mountCall(further ...string) (mountCall, error) {
	flags, data := filesystem.MountFlags(append(env.mountOptions(), further...))
	c := mountCall{flags: flags}
	source, err := env.source()
	if err != nil {
		return c, err
	}
	for _, s := range []struct {
		to   **byte
		text string
	}{{&c.device, source}, {&c.point, env.Mount}, {&c.fstype, env.FS.Name}, {&c.data, data}} {
		p, err := unix.BytePtrFromString(s.text)
		if err != nil {
			return c, result.Refuse("", "%q: %v", s.text, err)
		}
		*s.to = p
	}
	return c, nil
}

// mount mounts, and starts the program beside the filesystem if the candidate asks for one.
func (env *Env) mount(c mountCall) error {
	if err := env.mountAlone(c); err != nil {
		return err
	}
	return env.startDaemon()
}

func (env *Env) mountAlone(c mountCall) error {
	_, _, errno := unix.Syscall6(unix.SYS_MOUNT, uintptr(unsafe.Pointer(c.device)), uintptr(unsafe.Pointer(c.point)),
		uintptr(unsafe.Pointer(c.fstype)), c.flags, uintptr(unsafe.Pointer(c.data)), 0)
	if errno == 0 {
		env.Mounted = true
		return nil
	}
	what := "mount -t " + env.FS.Name
	if o := env.mountOptions(); len(o) > 0 {
		what += " -o " + strings.Join(o, ",")
	}
	if errno == unix.ENODEV {
		return result.Fail(result.Unsupported, "the module is called "+env.FS.Module,
			"%s: this kernel does not support the filesystem", what)
	}
	return env.excused(Subject("%s: %v", what, errno))
}

func (env *Env) unmount(c mountCall) error {
	if err := env.EndDaemon(); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_UMOUNT2, uintptr(unsafe.Pointer(c.point)), 0, 0); errno != 0 {
		return Subject("unmount: %v", errno)
	}
	env.Mounted = false
	return nil
}

// sync syncs the storage of the trial. It excludes other storage of a user's machine: the trial
// need not wait for those writes, and a device that hangs would block it forever.
func (env *Env) sync() error {
	if guest.Ours() {
		unix.Sync()
		return nil
	}
	var errs []error
	for _, f := range []struct {
		path string
		sync func(int) error
	}{{env.Mount, unix.Syncfs}, {env.Device, unix.Fsync}} {
		if f.path == "" || f.path == env.Mount && !env.Mounted || f.path == env.Device && env.Raw {
			continue
		}
		fd, err := unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(f.sync(fd), unix.Close(fd))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("syncing %s: %w", f.path, err))
		}
	}
	return errors.Join(errs...)
}

// dropCaches makes everything cold except the programs of a guest (KeepPrograms).
func (env *Env) dropCaches() error {
	if err := env.sync(); err != nil {
		return err
	}
	holdPrograms()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return fmt.Errorf("cannot drop caches, so reads would not be cold: %w", err)
	}
	return nil
}

// verify checks which options are in force on the mounted filesystem.
func (env *Env) verify() []result.Option {
	if env.FS.Verify == nil {
		return nil
	}
	seen := filesystem.Evidence{
		Device:     env.Name,
		MountPoint: env.Mount,
		Daemon:     env.daemon != nil && !env.daemon.over(0),
		Read:       readerOf(env.node()),
		File: func(path string) (string, error) {
			b, err := os.ReadFile(path)
			return string(b), err
		},
		Command: func(argv ...string) (string, error) {
			r, err := command.Run(context.Background(), command.Options{}, argv...)
			return r.Stdout, err
		},
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		seen.Mount = shownOptions(string(text), env.Mount)
	}
	return env.FS.Verify(env.Candidate, seen)
}

// readerOf reads pieces of a device.
func readerOf(device string) func(offset int64, length int) ([]byte, error) {
	return func(offset int64, length int) ([]byte, error) {
		f, err := os.Open(device)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // read only
		buf := make([]byte, length)
		n, err := f.ReadAt(buf, offset)
		if n == length {
			err = nil
		}
		return buf[:n], err
	}
}

// shownOptions returns the options that mountinfo shows for the last mount on a mount point: first
// those of the mount, then those of the superblock.
func shownOptions(mountinfo, point string) []string {
	var shown []string
	for line := range strings.Lines(mountinfo) {
		head, tail, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, super := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 6 || len(super) < 3 || fields[4] != point {
			continue
		}
		shown = append(strings.Split(fields[5], ","), strings.Split(strings.Join(super[2:], " "), ",")...)
	}
	return shown
}

// Takes reports whether a driver that is loaded accepts a mount option. It is asked without a device,
// through fsopen(2); where the kernel cannot be asked so (before Linux 5.2), or the driver judges
// options only when it mounts, the answer is yes, and the mount says more.
func Takes(fs, option string) bool {
	fd, err := unix.Fsopen(fs, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return true
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was mounted
	key, value, has := strings.Cut(option, "=")
	if has {
		err = unix.FsconfigSetString(fd, key, value)
	} else {
		err = unix.FsconfigSetFlag(fd, key)
	}
	return !errors.Is(err, unix.EINVAL)
}
