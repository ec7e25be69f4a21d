package bench

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
)

// disk is an ext4 in a file, mounted through a loop device.
type disk struct {
	image, mount string
	size         int64 // B
	inodes       int   // 0: mkfs.ext4's default
	mounted      bool
}

// newDisk returns a disk of size bytes in a workspace. It only makes the mount point; the caller
// unmounts the disk.
func newDisk(work string, size int64) (*disk, error) {
	d := &disk{image: work + "/image", mount: work + "/mnt", size: size}
	return d, os.Mkdir(d.mount, 0o755)
}

// fresh makes a new filesystem and mounts it. It initialises everything at once, unlike the
// default: a kernel thread would write inode tables during the measurement.
func (d *disk) fresh(ctx context.Context) error {
	if err := d.unmount(); err != nil {
		return err
	}
	if err := os.Remove(d.image); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.Create(d.image)
	if err != nil {
		return err
	}
	if err := f.Truncate(d.size); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	argv := []string{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,discard"}
	if d.inodes > 0 {
		argv = append(argv, "-N", strconv.Itoa(d.inodes))
	}
	if err := tool(ctx, append(argv, d.image)...); err != nil {
		return err
	}
	return d.attach(ctx)
}

// cold unmounts, drops all caches and mounts again.
func (d *disk) cold(ctx context.Context) error {
	if err := d.unmount(); err != nil {
		return err
	}
	unix.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return err
	}
	if err := d.attach(ctx); err != nil {
		return err
	}
	// This also dropped the tools' program files from the cache; reading them again is not part of
	// the comparison.
	for _, program := range []string{"cp", "rm", "cat", "tar", "sync", "true"} {
		if err := start(nil, nil, program, "--version").wait(); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) attach(ctx context.Context) error {
	if err := tool(ctx, "mount", "-t", "ext4", "-o", "loop", d.image, d.mount); err != nil {
		return err
	}
	d.mounted = true
	return nil
}

// unmount waits for remaining users, such as a tool that has just ended.
func (d *disk) unmount() error {
	if !d.mounted {
		return nil
	}
	err := unix.Unmount(d.mount, 0)
	for range 50 {
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(20 * time.Millisecond)
		err = unix.Unmount(d.mount, 0)
	}
	if err != nil {
		err = &os.PathError{Op: "unmount", Path: d.mount, Err: err}
		if unix.Unmount(d.mount, unix.MNT_DETACH) != nil {
			return err
		}
	}
	d.mounted = false
	return err
}

// tool runs a program that is not measured.
func tool(ctx context.Context, argv ...string) error {
	path, err := command.Look(argv[0])
	if err != nil {
		return err
	}
	argv[0] = path
	_, err = command.Run(ctx, command.Options{}, argv...)
	return err
}
