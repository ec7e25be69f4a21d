package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Two locks keep others away.
//
// The run's lock is on the disk's directory in sysfs and is held as long as the claim: only whichfs
// locks that directory, it belongs to the disk and not to a path, the lock vanishes with the
// process, and it leaves no file behind. It covers the whole disk, since runs on two partitions
// would disturb each other.
//
// The node's lock is systemd's protocol (https://systemd.io/BLOCK_DEVICE_LOCKING): a BSD lock on
// the node of the whole disk while it is written to. It is held while we read or write the device
// ourselves, and released before a trial: mkfs.btrfs also takes it since btrfs-progs 6.7, and would
// wait forever.

// momentary is how long others may hold a device, or have it open, who only look at it.
const momentary = 3 * time.Second

var errLocked = errors.New("locked by another process")

// lockFile takes a lock, trying for up to wait: udev briefly holds one after every write.
func lockFile(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("lock on %s: %w", path, err)
		}
		if !time.Now().Before(deadline) || ctx.Err() != nil {
			_ = f.Close()
			return nil, errLocked
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// lockRun takes the run's lock.
func (c *Claim) lockRun(ctx context.Context) (err error) {
	d, r := c.device, c.o.Roots
	c.lock, err = lockFile(ctx, d.disk, 0)
	if errors.Is(err, errLocked) {
		return refuse(c.named, "wait for that run to end, or stop it",
			"another run of whichfs uses %s%s", d.Disk, r.holderOf(d.disk))
	}
	if err != nil {
		return fmt.Errorf("claiming %s: %w", c.named, err)
	}
	return nil
}

// lockNode takes the node's lock.
func (r Roots) lockNode(ctx context.Context, d Device, path string, wait time.Duration) (*os.File, error) {
	node := path
	if d.Partition != 0 {
		node = filepath.Join(r.Dev, strings.ReplaceAll(d.Disk, "!", "/"))
	}
	f, err := lockFile(ctx, node, wait)
	switch {
	case errors.Is(err, errLocked):
		return nil, refuse(path, "wait until that is done", "another program has locked %s%s", node, r.holderOf(node))
	case errors.Is(err, os.ErrPermission):
		return nil, refuse(path, "run whichfs as root (sudo)", "no permission to open it")
	case errors.Is(err, unix.ENOMEDIUM):
		return nil, refuse(path, "", "it has no medium")
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", node, err)
	}
	return f, nil
}

// holderOf names the process that holds a lock on a file, in parentheses; "" if it cannot be found.
func (r Roots) holderOf(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ""
	}
	// The kernel counts lines between two reads of the list: when a lock before ours is released
	// meanwhile, ours is skipped (about one time in 300 while another process does nothing but
	// lock).
	for range 20 {
		b, err := os.ReadFile(filepath.Join(r.Proc, "locks"))
		if err != nil {
			return ""
		}
		pid := lockHolder(string(b), unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
		if pid > 0 {
			name := read(filepath.Join(r.Proc, strconv.Itoa(pid)), "comm")
			return " (" + strings.TrimSpace(fmt.Sprintf("process %d %s", pid, name)) + ")"
		}
	}
	return ""
}

// lockHolder finds the process in the text of /proc/locks, 0 if none holds the lock:
//
//	1: FLOCK  ADVISORY  WRITE 1234 00:17:5678 0 EOF
//
// Device numbers are hexadecimal; waiting processes are marked with an arrow.
func lockHolder(text string, major, minor uint32, inode uint64) int {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) != 8 || f[1] != "FLOCK" {
			continue
		}
		where := strings.Split(f[5], ":")
		if len(where) != 3 {
			continue
		}
		a, errA := strconv.ParseUint(where[0], 16, 32)
		b, errB := strconv.ParseUint(where[1], 16, 32)
		i, errI := strconv.ParseUint(where[2], 10, 64)
		pid, errP := strconv.Atoi(f[4])
		if errors.Join(errA, errB, errI, errP) == nil && uint32(a) == major && uint32(b) == minor && i == inode {
			return pid
		}
	}
	return 0
}
