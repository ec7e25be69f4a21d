// Package cache is the directory of things that whichfs can make again: data
// sets, lab images. What is in it is whole or not there at all.
package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is where the cache lies: $WHICHFS_CACHE, $XDG_CACHE_HOME/whichfs or
// ~/.cache/whichfs. It need not exist yet.
func Dir() (string, error) {
	if dir := os.Getenv("WHICHFS_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the cache: %w; set WHICHFS_CACHE", err)
	}
	return filepath.Join(dir, "whichfs"), nil
}

// Sub makes a directory of the cache, if need be, and returns its path.
func Sub(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache: %w; WHICHFS_CACHE names another place for it", err)
	}
	return dir, nil
}

// Lock keeps other processes, and other callers in this one, from what path
// stands for, until unlock is called or the process dies. waiting, if not nil,
// is called once if somebody else holds it.
func Lock(path string, waiting func()) (unlock func(), err error) {
	return LockContext(context.Background(), path, waiting)
}

// LockContext is Lock that gives up when ctx ends, with its cause.
func LockContext(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cache: %w; WHICHFS_CACHE names another place for it", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) && waiting != nil {
		waiting()
	}
	for errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		select {
		case <-ctx.Done(): // which a lock that blocks would not notice
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
