package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/cache"
)

// UnfinishedPrefix begins the name of what is not complete.
const UnfinishedPrefix = "new-"

// Unfinished lists the remains of killed builds and fetches, or nothing while
// one is running.
func Unfinished() []string {
	home, err := Home()
	if err != nil {
		return nil // there is no directory for them
	}
	var all []string
	for _, at := range []string{"", "*"} { // images, and what has a folder of its own
		found, _ := filepath.Glob(filepath.Join(home, at, UnfinishedPrefix+"*")) // the pattern is valid
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil
	}
	unlock, err := tryLock(home)
	if err != nil {
		return nil // a build is running
	}
	unlock()
	return all
}

// Busy locks the directory of a build that outlives whichfs: a compiler of a killed one may still be writing
// there. Every program of a build holds the lock, too: it inherits the file, which the caller closes.
func Busy(ctx context.Context, dir string, progress func(string)) (*os.File, error) {
	path := filepath.Join(dir, "busy")
	free, err := cache.LockContext(ctx, path, func() { progress("waiting for the last programs of the interrupted build") })
	if err != nil {
		return nil, err
	}
	free()
	busy, err := os.OpenFile(path, os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(busy.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), busy.Close())
	}
	return busy, nil
}

// RemoveUnfinished removes one of them.
func RemoveUnfinished(path string) error {
	home, err := Home()
	if err != nil {
		return err
	}
	unlock, err := tryLock(home)
	if err != nil {
		return fmt.Errorf("the lab is being built: %w", err)
	}
	defer unlock()
	return os.RemoveAll(path)
}

func tryLock(home string) (unlock func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return cache.LockContext(ctx, filepath.Join(home, lockName), nil)
}
