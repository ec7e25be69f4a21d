// Package cache is the directory of things that whichfs can make again: data
// sets, lab images. Every entry is either complete or absent.
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

// Dir returns the cache directory: $WHICHFS_CACHE, $XDG_CACHE_HOME/whichfs or
// ~/.cache/whichfs. It need not exist yet.
func Dir() (string, error) {
	if dir := os.Getenv("WHICHFS_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the cache: %w; set WHICHFS_CACHE", err)
	}
	return filepath.Join(dir, "whichfs"), nil
}

// Sub returns the path of a directory in the cache and creates it if
// necessary.
func Sub(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache: %w; set WHICHFS_CACHE to another directory", err)
	}
	return dir, nil
}

// Lock excludes other processes, and other callers in this one, until unlock
// is called or the process dies. waiting, if not nil, is called once if the
// lock is already held.
func Lock(path string, waiting func()) (unlock func(), err error) {
	return LockContext(context.Background(), path, waiting)
}

// LockContext is Lock that gives up when ctx ends and returns its cause.
func LockContext(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cache: %w; set WHICHFS_CACHE to another directory", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) && waiting != nil {
		waiting()
	}
	for errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		select {
		case <-ctx.Done(): // a blocking lock would miss this
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
