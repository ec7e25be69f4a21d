package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/command"
	"whichfs/internal/fault"
	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// bed is what a step's faults happen on: a disk in memory with a filesystem of
// the candidate, made once and put back before each iteration.
//
// The disk is as small as it may be, for putting it back and checking it take
// time: the least that the filesystem can be made on and four times the data,
// 64 MiB at least, and never more than the storage under test. Copies, logs and
// reserves of filesystems that never write in place have room then.
type bed struct {
	ctx     context.Context
	env     *Env
	options []string // all that it is mounted with
	size    int64
	disk    *blockdev.Disk
	image   fault.Image        // as mkfs left it
	fresh   *blockdev.Contents // the same, made ready
	number  int                // of the next mount point
	tally   faultTally
}

// leastBed is the size of the smallest disk, in bytes.
const leastBed = 64 << 20

func bedSize(least, data, storage int64) (int64, error) {
	size := max(least+4*data, leastBed) + 1<<20 - 1
	size -= size % (1 << 20)
	if storage > 0 {
		size = min(size, storage&^4095)
	}
	if size < max(least, data) {
		return 0, result.Refuse("give a larger --storage, or a smaller scale",
			"a disk in memory of %d bytes, as large as the storage, is too small for the filesystem (%d) or the data (%d)", size, least, data)
	}
	return size, nil
}

// unfit says why a filesystem cannot have faults; "" where it can.
func (env *Env) unfit() string {
	switch {
	case env.Raw:
		return "faults are made on block devices, and this is raw flash"
	case env.FS.ReadOnly || env.FS.Make == nil:
		return "nothing is written to " + env.FS.Title
	}
	return ""
}

// newBed makes a disk for data of so many bytes, with a filesystem on it. mapped:
// there will be a device above it.
func newBed(ctx context.Context, env *Env, step scenario.Step, data int64, mapped bool) (*bed, error) {
	if err := LoadForFaults(env.Modules, env.Candidate); err != nil {
		return nil, err
	}
	if mapped {
		if err := blockdev.Missing(); err != nil {
			return nil, err
		}
	}
	storage, err := env.storageSize()
	if err != nil {
		return nil, err
	}
	var least int64
	if env.FS.MinSize != nil {
		least = env.FS.MinSize(env.Candidate)
	}
	b := &bed{ctx: ctx, env: env, options: append(env.mountOptions(), step.Options...), tally: newFaultTally(env.FS, step.Seed)}
	if b.size, err = bedSize(least, data, storage); err != nil {
		return nil, err
	}
	if b.disk, err = blockdev.NewDisk(b.size); err != nil {
		return nil, err
	}
	if err = runTool(ctx, env.FS.Make(env.Candidate, b.disk.Path())); err == nil {
		b.image, b.fresh, err = b.contents()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// contents are what the disk holds.
func (b *bed) contents() (fault.Image, *blockdev.Contents, error) {
	im, err := b.disk.Snapshot()
	if err != nil {
		return im, nil, err
	}
	c, err := blockdev.NewContents(im)
	return im, c, err
}

// restore gives the disk these contents but for some blocks; a new disk, where
// the last one hangs.
func (b *bed) restore(c *blockdev.Contents, changed []states.Block) error {
	if b.disk == nil {
		var err error
		if b.disk, err = blockdev.NewDisk(b.size); err != nil {
			return fmt.Errorf("a new disk in memory, for one that hangs: %w", err)
		}
	}
	if err := b.disk.Set(c, changed); err != nil {
		return fmt.Errorf("restoring a disk in memory: %w", err)
	}
	return nil
}

// abandon leaves the disk to a call that hangs. Neither the disk nor what is
// mounted from it is ever touched again by us.
func (b *bed) abandon() {
	b.disk, b.env.Hung = nil, true
}

func (b *bed) close() {
	if b.disk != nil {
		_ = b.disk.Close() // it goes when nobody has it open any more
		b.disk = nil
	}
}

// errHung is a call that did not return.
type errHung struct{ call string }

func (e errHung) Error() string {
	return fmt.Sprintf("%s did not return within %s", e.call, callPatience)
}

// call calls f with patience. After a hang the disk is abandoned.
func (b *bed) call(name string, f func() error) error {
	err, ended := patiently(callPatience, f)
	if !ended {
		b.abandon()
		return errHung{name}
	}
	return err
}

// mount mounts a device on a new directory. A mount that hangs keeps its own.
func (b *bed) mount(device string) (root string, took time.Duration, err error) {
	b.number++
	root = filepath.Join(b.env.Work, fmt.Sprintf("fault-%d", b.number))
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", 0, err
	}
	flags, data := filesystem.MountFlags(b.options)
	name := b.env.FS.Name // what a hung call reads must not change
	start := time.Now()
	err = b.call("mount", func() error { return unix.Mount(device, root, name, flags, data) })
	took = time.Since(start)
	if err != nil {
		if !errors.As(err, new(errHung)) {
			_ = os.Remove(root)
		}
		what := "mount -t " + name
		if len(b.options) > 0 {
			what += " -o " + strings.Join(b.options, ",")
		}
		return "", took, fmt.Errorf("%s: %w", what, err)
	}
	return root, took, nil
}

// mountFresh mounts a filesystem that nothing has happened to.
func (b *bed) mountFresh(device string) (string, error) {
	root, _, err := b.mount(device)
	switch {
	case errors.Is(err, unix.ENODEV):
		return "", result.Fail(result.Unsupported, "the module is called "+b.env.FS.Module,
			"%s", err.Error()+": this kernel does not know the filesystem")
	case err != nil:
		return "", Subject("nothing had happened to it yet: %v", err)
	}
	return root, nil
}

func (b *bed) unmount(root string) error {
	if err := b.call("unmount", func() error { return unix.Unmount(root, 0) }); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	_ = os.Remove(root)
	return nil
}

// toolPatience is how long a check or a repair may take.
const toolPatience = 2 * time.Minute

// tool runs a program of the filesystem on the disk. ended is false for one that
// did not come to an end; missing, where it is not installed.
func (b *bed) tool(argv []string) (r command.Result, missing, ended bool) {
	ctx, cancel := context.WithTimeout(b.ctx, toolPatience)
	defer cancel()
	r, err := command.Run(ctx, command.Options{}, argv...)
	if errors.As(err, new(*command.Stuck)) { // it waits for the device
		b.abandon()
		return r, false, false
	}
	return r, err != nil && command.Missing(err), ctx.Err() == nil
}
