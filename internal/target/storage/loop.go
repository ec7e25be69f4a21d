package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/owner"
)

// openLoop makes a sparse file and a loop device on it. The file has no name, and the device
// detaches itself on the last close, so nothing is left however this process ends, unless something
// else still uses the device.
func (c *Claim) openLoop(ctx context.Context, size int64) error {
	dir := c.o.Work
	if dir == "" {
		dir = os.TempDir()
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	control, err := os.OpenFile(filepath.Join(c.o.Roots.Dev, "loop-control"), os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV):
		return refuse(c.named, "load the module: modprobe loop", "this kernel has no loop devices (/dev/loop-control is missing)")
	case errors.Is(err, os.ErrPermission):
		return refuse(c.named, "run whichfs as root (sudo)", "no permission to make a loop device")
	case err != nil:
		return fmt.Errorf("loop device: %w", err)
	}
	defer control.Close() //nolint:errcheck // nothing was written
	name, err := owner.Name("loop")
	if err != nil {
		return err
	}
	file, where, err := c.loopFile(filepath.Join(dir, name), size)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // the loop device has it now
	if err := c.attach(ctx, control, file, name); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(c.node.Fd()), &st); err != nil {
		return fmt.Errorf("loop device: %w", err)
	}
	if c.device, err = c.o.Roots.byNumber(unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))); err != nil {
		return fmt.Errorf("loop device %s: %w", c.path, err)
	}
	if c.device.Size != size {
		return fmt.Errorf("loop device %s has %d bytes instead of %d", c.path, c.device.Size, size)
	}
	c.name = fmt.Sprintf("loop file of %s on %s at %s", media.FormatSize(size), where, dir)
	c.extra = append(c.extra,
		result.Condition{Group: "storage", Name: "loop file", Value: "in " + dir},
		result.Condition{Group: "storage", Name: "loop file lies on", Value: where, Matters: true})
	return c.hold(ctx)
}

// loopFile makes the file, without a name. where is the filesystem that holds it.
func (c *Claim) loopFile(path string, size int64) (file *os.File, where string, err error) {
	dir := filepath.Dir(path)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, "", refuse(c.named, "choose another work directory", "work directory %s: %v", dir, err)
	}
	if free := int64(fs.Bavail) * int64(fs.Bsize); free < size {
		return nil, "", refuse(c.named, "choose a smaller size or another work directory",
			"the work directory %s has %d MiB free, and the loop file may grow to %d MiB", dir, free>>20, (size+1<<20-1)>>20)
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, "", refuse(c.named, "choose another work directory", "cannot create a file in %s: %v", dir, err)
	}
	err = errors.Join(os.Remove(file.Name()), file.Truncate(size))
	if err != nil {
		_ = file.Close()
		return nil, "", refuse(c.named, "choose another work directory", "cannot create a file of %s in %s: %v", media.FormatSize(size), dir, err)
	}
	return file, c.o.Roots.filesystemAt(dir), nil
}

// filesystemAt is the type of filesystem that a directory is on.
func (r Roots) filesystemAt(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	mounts, err := r.ownMounts()
	if err != nil {
		return "unknown: " + err.Error()
	}
	kind, longest := "unknown: no mount holds it", -1
	for _, m := range mounts {
		if below(dir, m.Mountpoint) && len(m.Mountpoint) >= longest {
			kind, longest = m.FSType, len(m.Mountpoint)
		}
	}
	return kind
}

// attach finds a free loop device and attaches the file to it.
func (c *Claim) attach(ctx context.Context, control, file *os.File, label string) error {
	var last error
	for range 50 { // another program may be faster each time
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("no free loop device: %w", err)
		}
		c.path = filepath.Join(c.o.Roots.Dev, fmt.Sprintf("loop%d", n))
		node, err := os.OpenFile(c.path, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("loop device: %w", err)
		}
		last = configure(node, file, label)
		if last == nil {
			c.node = node
			return nil
		}
		_ = node.Close()
		if !errors.Is(last, unix.EBUSY) {
			break
		}
	}
	return fmt.Errorf("loop device %s: %w", c.path, last)
}

// configure attaches a file to a loop device. Direct I/O keeps the file's pages out of the cache;
// where the filesystem below does not support it, the kernel falls back to buffered I/O, and the
// device's facts say so.
func configure(node, file *os.File, label string) error {
	config := unix.LoopConfig{Fd: uint32(file.Fd())}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO | unix.LO_FLAGS_PARTSCAN
	copy(config.Info.File_name[:len(config.Info.File_name)-1], label)
	fd := int(node.Fd())
	err := unix.IoctlLoopConfigure(fd, &config)
	if !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	// Kernels before 5.8 need separate steps.
	if err := unix.IoctlSetInt(fd, unix.LOOP_SET_FD, int(file.Fd())); err != nil {
		return err
	}
	info := unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_PARTSCAN, File_name: config.Info.File_name}
	if err := unix.IoctlLoopSetStatus64(fd, &info); err != nil {
		_ = unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0)
		return err
	}
	_ = unix.IoctlSetInt(fd, unix.LOOP_SET_DIRECT_IO, 1)
	return nil
}
