// Package owner says whose a thing is that can outlive the process that made it:
// a device, a directory, a record. Such things carry the process in their name,
// so that what a killed one left is known for certain, and so is what is in use.
package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Owner is a process, told from all others that have or will have its number.
type Owner struct {
	PID   int    // as this system's /proc counts
	Start uint64 // field 22 of /proc/PID/stat: clock ticks since boot
	Space uint64 // device number of that /proc
}

// Self is this process. In a process-id namespace of its own with the host's
// /proc its number is the host's.
var Self = sync.OnceValues(func() (Owner, error) { return self("/proc") })

func self(proc string) (o Owner, err error) {
	link, err := os.Readlink(filepath.Join(proc, "self"))
	if err == nil {
		o.PID, err = strconv.Atoi(link)
	}
	if err != nil {
		return Owner{}, fmt.Errorf("this process's number: %w", err)
	}
	_, o.Start, err = stat(proc, o.PID)
	if err == nil {
		o.Space, err = space(proc)
	}
	return o, err
}

// space tells one /proc from another, as that of a container: each shows the
// processes of one process-id namespace.
func space(proc string) (uint64, error) {
	st, err := os.Stat(proc)
	if err != nil {
		return 0, err
	}
	return uint64(st.Sys().(*syscall.Stat_t).Dev), nil
}

// stat reads state and start of a process.
func stat(proc string, pid int) (state string, start uint64, err error) {
	path := filepath.Join(proc, strconv.Itoa(pid), "stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, err
	}
	// The name, in brackets, may hold anything; the state, field 3, follows.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("%s: %q", path, text)
	}
	if start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	return fields[0], start, nil
}

// Dead reports whether the process is known to have ended.
func (o Owner) Dead(proc string) bool {
	lives, known := o.lives(proc)
	return known && !lives
}

// lives asks /proc, which knows nothing of processes in another namespace, and
// may hide those of other users (hidepid in proc(5)), the first one among them.
func (o Owner) lives(proc string) (lives, known bool) {
	here, err := space(proc)
	if err != nil || here != o.Space {
		return false, false
	}
	state, start, err := stat(proc, o.PID)
	switch {
	case os.IsNotExist(err):
		_, err := os.Stat(filepath.Join(proc, "1"))
		return false, err == nil
	case err == nil && start != o.Start:
		return false, true
	case err != nil:
		return false, false
	case state != "Z" && state != "X":
		return true, true
	}
	// It waits for its parent to notice. A thread that cannot be killed just now
	// still has a directory here, and holds what the process had.
	threads, err := os.ReadDir(filepath.Join(proc, strconv.Itoa(o.PID), "task"))
	return len(threads) > 1, err == nil
}

var made atomic.Int64

// Name is a name that nothing else has or will have until the next boot:
// "whichfs-KIND-PID-START-SPACE-N". It has at most 63 bytes where the kind has
// no more than 9, which is what the label of a loop device takes.
func Name(kind string) (string, error) {
	o, err := Self()
	return fmt.Sprintf("whichfs-%s-%d-%d-%d-%d", kind, o.PID, o.Start, o.Space, made.Add(1)), err
}

var named = regexp.MustCompile(`^whichfs-([a-z]+)-([0-9]+)-([0-9]+)-([0-9]+)-[0-9]+$`)

// Of reads a name; ok is false for what Name did not make.
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
