// Package owner identifies the process that made a thing that can outlive it:
// a device, a directory, a record. The name of each such thing contains its
// process, so whichfs can tell with certainty what a killed process left and
// what is in use.
package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"whichfs/internal/sys/procfs"
)

// Owner identifies a process uniquely, even if its number is reused.
type Owner struct {
	PID   int    // as numbered by this system's /proc
	Start uint64 // field 22 of /proc/PID/stat: clock ticks since boot
	Space uint64 // device number of that /proc
}

// Self is this process. In a process-id namespace with the host's /proc, it
// has the host's number.
var Self = sync.OnceValues(func() (Owner, error) { return self("/proc") })

func self(proc string) (o Owner, err error) {
	if o.PID, err = procfs.Self(proc); err != nil {
		return Owner{}, fmt.Errorf("this process's number: %w", err)
	}
	process, err := read(proc, o.PID)
	if err != nil {
		return Owner{}, err
	}
	o.Start = process.Started
	o.Space, err = space(proc)
	return o, err
}

// space identifies a /proc, such as a container's: each shows the processes of
// one process-id namespace.
func space(proc string) (uint64, error) {
	st, err := os.Stat(proc)
	if err != nil {
		return 0, err
	}
	return uint64(st.Sys().(*syscall.Stat_t).Dev), nil
}

// read reads the state of a process.
func read(proc string, pid int) (procfs.Process, error) {
	path := filepath.Join(proc, strconv.Itoa(pid), "stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return procfs.Process{}, err
	}
	p, err := procfs.ParseProcess(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w: %q", path, err, text)
	}
	return p, nil
}

// Dead reports whether the process is known to have ended.
func (o Owner) Dead(proc string) bool {
	lives, known := o.lives(proc)
	return known && !lives
}

// lives asks /proc, which does not show processes in other namespaces and may
// hide those of other users, including process 1 (hidepid in proc(5)).
func (o Owner) lives(proc string) (lives, known bool) {
	here, err := space(proc)
	if err != nil || here != o.Space {
		return false, false
	}
	process, err := read(proc, o.PID)
	switch {
	case os.IsNotExist(err):
		_, err := os.Stat(filepath.Join(proc, "1"))
		return false, err == nil
	case err == nil && process.Started != o.Start:
		return false, true
	case err != nil:
		return false, false
	case process.State != 'Z' && process.State != 'X':
		return true, true
	}
	// A zombie waits for its parent. A thread that cannot be killed yet
	// still has a directory here and keeps the process's resources.
	threads, err := os.ReadDir(filepath.Join(proc, strconv.Itoa(o.PID), "task"))
	return len(threads) > 1, err == nil
}

var made atomic.Int64

// Name returns a name that is unique until the next boot:
// "whichfs-KIND-PID-START-SPACE-N". If kind has at most 9 bytes, the name has
// at most 63, which fits the label of a loop device.
func Name(kind string) (string, error) {
	o, err := Self()
	return fmt.Sprintf("whichfs-%s-%d-%d-%d-%d", kind, o.PID, o.Start, o.Space, made.Add(1)), err
}

var named = regexp.MustCompile(`^whichfs-([a-z]+)-([0-9]+)-([0-9]+)-([0-9]+)-[0-9]+$`)

// Of parses a name; ok is false if Name did not make it.
func Of(name string) (kind string, o Owner, ok bool) {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return "", o, false
	}
	pid, errP := strconv.Atoi(m[2])
	start, errS := strconv.ParseUint(m[3], 10, 64)
	space, errN := strconv.ParseUint(m[4], 10, 64)
	return m[1], Owner{pid, start, space}, errP == nil && errS == nil && errN == nil
}
