package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/wait"
)

// left lists the leftovers of whichfs and its programs, identified by the
// test's own directory: the environment of the processes names it, and the
// mounts and loop files are in it.
type left struct {
	// Held ends with the last process, however that ends.
	Held []string
	// Kept stays in the kernel until removed: partitions and devices of the device
	// mapper.
	Kept []string
	// Processes are the processes in Held.
	Processes []process

	loops []string // kernel names, "loop3"
}

// process is one of ours.
type process struct {
	pid     int
	start   string // since boot, in ticks: distinguishes processes with the same number
	program string // base name of its executable
	line    string
}

func (p process) String() string { return fmt.Sprintf("process %d: %s", p.pid, p.line) }

// whatIsLeft finds everything that belongs to dir, the holders of own, and
// everything on own and on free: kernel names of block devices, of which own is
// the test's, "" if it has none, and free are not in use.
func whatIsLeft(dir, own string, free ...string) (left, error) {
	var l left
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return l, err
	}
	namespaces := map[string]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// A process may end while we read its files.
		if p, ok := processOf(pid, dir); ok && pid != os.Getpid() {
			l.Processes = append(l.Processes, p)
			l.Held = append(l.Held, p.String())
		}
		space, err := os.Readlink(filepath.Join("/proc", e.Name(), "ns/mnt"))
		if err != nil || namespaces[space] {
			continue
		}
		mounts, err := os.ReadFile(filepath.Join("/proc", e.Name(), "mountinfo"))
		if err != nil {
			continue
		}
		namespaces[space] = true
		for line := range strings.Lines(string(mounts)) {
			if strings.Contains(line, dir+"/") {
				l.Held = append(l.Held, fmt.Sprintf("mount in %s of process %d: %s", space, pid, strings.TrimSpace(line)))
			}
		}
	}
	if len(namespaces) == 0 {
		return l, errors.New("no process shows its mounts")
	}
	if err := l.addLoops(dir); err != nil {
		return l, err
	}
	l.addOn(slices.Concat(l.loops, free))
	if own != "" {
		l.addOn([]string{own})
		l.addHeld(own)
	}
	return l, nil
}

// processOf reports whether a process is one of ours. A zombie has no
// environment and does not count.
func processOf(pid int, dir string) (process, bool) {
	at := filepath.Join("/proc", strconv.Itoa(pid))
	env, err := os.ReadFile(filepath.Join(at, "environ"))
	if err != nil || !strings.Contains(string(env), "="+dir+"/") {
		return process{}, false
	}
	program, err := os.Readlink(filepath.Join(at, "exe"))
	if err != nil {
		return process{}, false
	}
	line, err := os.ReadFile(filepath.Join(at, "cmdline"))
	if err != nil {
		return process{}, false
	}
	start, _ := stateOf(pid)
	return process{pid, start, filepath.Base(program), strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))}, start != ""
}

// stateOf returns when a process started, "" if there is none, and whether it
// still holds its resources: a killed process loses its memory, and with it its
// name, before its files, and its number only when its parent has waited for
// it.
func stateOf(pid int) (start string, holds bool) {
	at := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(at, "stat"))
	if err != nil {
		return "", false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	threads, err := os.ReadDir(filepath.Join(at, "task"))
	if err != nil || len(fields) < 20 {
		return "", false
	}
	return fields[19], fields[0] != "Z" && fields[0] != "X" || len(threads) > 1
}

// ends reports whether a process is still about to.
func (p process) ends() bool {
	start, holds := stateOf(p.pid)
	return holds && start == p.start
}

// addLoops finds loop devices on files in dir, named or deleted.
func (l *left) addLoops(dir string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, f := range files {
		// A device may disappear meanwhile.
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), dir+"/") {
			name := filepath.Base(filepath.Dir(filepath.Dir(f)))
			l.loops = append(l.loops, name)
			l.Held = append(l.Held, name+" on "+strings.TrimSpace(string(text)))
		}
	}
	return nil
}

// addOn finds what the kernel has created on block devices.
func (l *left) addOn(names []string) {
	for _, name := range names {
		parts, _ := filepath.Glob(filepath.Join("/sys/block", name, name+"p*"))
		for _, p := range parts {
			l.Kept = append(l.Kept, "partition "+filepath.Base(p))
		}
		below, _ := filepath.Glob(filepath.Join("/sys/block/dm-*/slaves", name+"*"))
		for _, b := range below {
			dm := filepath.Dir(filepath.Dir(b))
			label, _ := os.ReadFile(filepath.Join(dm, "dm/name"))
			l.Kept = append(l.Kept, fmt.Sprintf("%s (%s) on %s", filepath.Base(dm), strings.TrimSpace(string(label)), filepath.Base(b)))
		}
	}
}

// addHeld finds out whether a device, or a partition of it, is held
// exclusively, as by a mount that no namespace shows any more, or is locked.
func (l *left) addHeld(name string) {
	nodes, _ := filepath.Glob(filepath.Join("/dev", name+"p*"))
	for _, node := range append(nodes, filepath.Join("/dev", name)) {
		fd, err := unix.Open(node, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EBUSY) {
			l.Held = append(l.Held, node+" is in use")
		}
		if err != nil {
			continue
		}
		if errors.Is(unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
			l.Held = append(l.Held, node+" is locked")
		}
		_ = unix.Close(fd)
	}
}

// leftovers names everything that a run with this work directory left behind. Any process that looks at
// all block devices keeps a loop device as long as it has it open, so what is held is waited for.
func leftovers(work string) error {
	names, err := filesBelow(work)
	if err != nil {
		return err
	}
	var found []string
	for _, name := range names {
		found = append(found, "file "+name)
	}
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		l, err := whatIsLeft(work, "")
		if err != nil {
			return err
		}
		held := slices.Concat(l.Held, l.Kept)
		if len(held) > 0 && time.Since(begun) < wait.Patience {
			continue
		}
		if found = append(found, held...); len(found) > 0 {
			return fmt.Errorf("left behind: %s", strings.Join(found, "; "))
		}
		return nil
	}
}

// filesBelow returns all names in a directory; those of directories end in a
// slash.
func filesBelow(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d != nil && d.IsDir() {
			name += "/"
		}
		names = append(names, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it disappeared meanwhile
		}
		return err
	})
	return names, err
}
