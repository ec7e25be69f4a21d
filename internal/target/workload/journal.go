package workload

import (
	"context"
	"errors"

	"whichfs/internal/target/blockdev"
)

// makeOn is the argument vector that makes the candidate on a device of size bytes. A journal in memory is
// made anew before: it serves one filesystem, which must not be mounted.
func (env *Env) makeOn(ctx context.Context, device string, size int64) ([]string, error) {
	if !env.Candidate.JournalInMemory() {
		return env.FS.Make(env.Candidate, device), nil
	}
	if err := env.LeaveJournal(); err != nil {
		return nil, err
	}
	if err := LoadFor(env.Modules, "loop"); err != nil {
		return nil, err
	}
	disk, err := blockdev.NewDisk(env.FS.Journal.Size(size))
	if err != nil {
		return nil, err
	}
	env.journal = disk
	if err := runTool(ctx, env.FS.Journal.Make(env.Candidate, disk.Path())); err != nil {
		return nil, err
	}
	return env.Candidate.MakeWith(device, disk.Path()), nil
}

// LeaveJournal gives back the memory of a journal there. It may be called at any time; a mounted filesystem
// holds its journal.
func (env *Env) LeaveJournal() error {
	if env.journal == nil {
		return nil
	}
	if env.Mounted {
		return errors.New("the journal in memory is in use by a mounted filesystem")
	}
	err := env.journal.Close()
	env.journal = nil
	return err
}
