package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// PowerLoss removes a simulated raw chip from under its filesystem, like a power loss while
// everything is synced and nothing is being written. It saves the chip's contents, tears down all
// that uses the chip, and replaces it with an unused chip with the same contents. The next steps
// find what a machine finds that was switched off without an unmount: an open log, a UBI that was
// not detached.
//
// A filesystem in use has written since its last sync, so the last that is written is a file, with
// fsync: after a sync alone YAFFS2, which then writes a checkpoint, would mount as after an unmount.
//
// This is not a power loss in the middle of work (see PowerCut, and machine.Cutter): no page is
// half programmed, no block half erased, and nothing unsynced is lost. The blocks of the new chip
// have no wear.
var PowerLoss = Kind{Name: "power-loss", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if why := env.KeepsPower(); why != "" {
		return Job{Absent: why}, nil
	}
	if !env.Mounted {
		return Job{}, result.Refuse("", "the power can only be lost while the filesystem is mounted")
	}
	call, err := env.mountCall()
	if err != nil {
		return Job{}, err
	}
	return Job{Simulates: true, Run: func(*Tally) error { return env.losePower(ctx, call) }}, nil
}}

// KeepsPower says why the storage cannot lose power while the machine keeps running; "" if it can.
func (env *Env) KeepsPower() string {
	switch {
	case env.Chip == nil:
		return "only a simulated chip can lose power while the machine keeps running"
	case kernelBefore(6, 1):
		return "before Linux 6.1 a chip cannot be read without error correction (MEMREAD), so that its contents would not outlast a power loss"
	}
	return ""
}

func (env *Env) losePower(ctx context.Context, call mountCall) (err error) {
	if err := errors.Join(env.syncMounted(), env.writeLast()); err != nil {
		return err
	}
	contents, err := env.Chip.Save(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, contents.Close()) }()
	// From here on all writes go to a chip that is never read again.
	if err := env.unmount(call); err != nil {
		return err
	}
	if err := env.LeaveFlash(); err != nil {
		return err
	}
	if err := env.Modules.Unload(); err != nil {
		return err
	}
	return env.Chip.Renew(ctx, contents)
}

// writeLast writes to a synced filesystem, and leaves everything on the chip and its files as they
// were.
func (env *Env) writeLast() error {
	path := filepath.Join(env.Mount, ".whichfs-last")
	f, err := os.Create(path)
	if err != nil {
		return Subject("writing before the power loss: %v", err)
	}
	err = errors.Join(f.Sync(), f.Close(), os.Remove(path))
	dir, opened := os.Open(env.Mount)
	if opened == nil {
		err = errors.Join(err, dir.Sync(), dir.Close())
	}
	if err = errors.Join(err, opened); err != nil {
		return Subject("writing before the power loss: %v", err)
	}
	return nil
}

// syncMounted syncs the mounted filesystem to the chip.
func (env *Env) syncMounted() error {
	fd, err := unix.Open(env.Mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Subject("opening the mounted filesystem: %v", err)
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	if err := unix.Syncfs(fd); err != nil {
		return Subject("syncfs: %v", err)
	}
	return nil
}
