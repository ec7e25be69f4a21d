package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
