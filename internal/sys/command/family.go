package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long a killed program may take to exit. The last process to close a device writes back its
// cache meanwhile. One that runs gives back its memory: the gigabytes of a guest take a while where the
// host has other work, and what comes next needs them.
var killPatience, exitPatience = 10 * time.Second, 2 * time.Minute

// end kills a child of ours and all its descendants and waits until they have
// exited; over is closed when the child has. The error is a *Stuck.
func end(pid int, over <-chan struct{}) error {
	f := newFamily(pid)
	f.kill()
	begun, limit := time.Now(), time.NewTimer(killPatience)
	defer limit.Stop()
	// Most have exited before the first of these.
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-over:
			over = nil
		default:
		}
		if over == nil && len(f.left(true)) == 0 {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-over:
			over = nil
		case <-timer.C:
		case <-limit.C:
			s := f.stuck(pid)
			if s.State != 'R' || time.Since(begun) > exitPatience {
				return s
			}
			limit.Reset(killPatience)
		}
		timer.Stop()
	}
}

// family is a child of ours with its descendants and its process group, which
// a descendant may have left: every job of fio starts its own session.
//
// There are two sets of process numbers. In a process-id namespace /proc is
// the host's and has the host's numbers; kill(2) takes ours.
type family struct {
	root    int // in our numbering
	self    int // our number in /proc; 0: /proc does not show us
	depth   int // depth of our namespace below that of /proc; -1: both are the same
	members map[int]member
}

// member is a process of a family, with its number in /proc.
type member struct {
	own   int    // its number in our namespace
	name  string // of the program
	start string // start time: numbers are reused
}

func newFamily(root int) *family {
	f := &family{root: root, depth: -1, members: map[int]member{}}
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return f
	}
	if f.self, err = strconv.Atoi(link); err != nil {
		f.self = 0
	} else if f.self != os.Getpid() {
		f.depth = len(numbers(f.self)) - 1
		if f.depth < 0 {
			f.self = 0 // a kernel before 4.1: the numbers cannot be matched
		}
	}
	return f
}

// numbers returns a process's numbers in the namespaces from that of /proc
// down to its own.
func numbers(pid int) []int {
	text, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return nil
	}
	var all []int
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			for _, word := range strings.Fields(rest) {
				n, err := strconv.Atoi(word)
				if err != nil {
					return nil
				}
				all = append(all, n)
			}
		}
	}
	return all
}

// own returns the number in our namespace of a process in /proc; 0: it has
// none.
func (f *family) own(pid int) int {
	if f.depth < 0 {
		return pid
	}
	if all := numbers(pid); len(all) > f.depth {
		return all[f.depth]
	}
	return 0
}

// kill stops the family, so that no member starts another process, and then
// kills it.
func (f *family) kill() {
	for fresh := f.gather(); len(fresh) > 0; fresh = f.gather() {
		for _, own := range fresh {
			_ = unix.Kill(own, unix.SIGSTOP)
		}
	}
	_ = unix.Kill(-f.root, unix.SIGKILL)
	for _, m := range f.members {
		_ = unix.Kill(m.own, unix.SIGKILL)
	}
}

// gather finds members that are not yet known and returns their numbers in our
// namespace.
func (f *family) gather() (fresh []int) {
	if f.self == 0 {
		return nil
	}
	paths, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	all := map[int]status{}
	children := map[int][]int{}
	root := 0
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		s, ok := readStatus(filepath.Join(path, "stat"))
		if !ok {
			continue // it has just exited
		}
		all[pid] = s
		children[s.parent] = append(children[s.parent], pid)
		if s.parent == f.self && f.own(pid) == f.root {
			root = pid
		}
	}
	if root == 0 {
		return nil
	}
	found := []int{root}
	for pid, s := range all {
		if s.group == root && pid != root {
			found = append(found, pid)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	for _, pid := range found {
		if _, had := f.members[pid]; had {
			continue
		}
		own := f.own(pid)
		if own <= 1 {
			continue
		}
		f.members[pid] = member{own: own, name: all[pid].name, start: all[pid].start}
		fresh = append(fresh, own)
	}
	return fresh
}

// left returns the members that still run, by their numbers in /proc. With
// reap it reaps orphans that have become our children.
func (f *family) left(reap bool) []int {
	var all []int
	for pid, m := range f.members {
		s, ok := readStatus(procPath(pid, "stat"))
		switch {
		case !ok || s.start != m.start:
			delete(f.members, pid)
		case alive(pid):
			all = append(all, pid)
		case reap && s.parent == f.self && m.own != f.root:
			_, _ = unix.Wait4(m.own, nil, unix.WNOHANG, nil)
		}
	}
	return all
}

// stuck describes a member that remains. It prefers one that sleeps to those
// that wait for it, and a descendant to the child itself.
func (f *family) stuck(pid int) *Stuck {
	one := &Stuck{Program: "a program", Pid: pid}
	best := 0
	for _, left := range f.left(false) {
		s := &Stuck{Program: f.members[left].name, Pid: left}
		s.State, s.Where = where(left)
		rank := 1
		if s.State == 'D' {
			rank += 2
		}
		if f.members[left].own != f.root {
			rank++
		}
		if rank > best {
			one, best = s, rank
		}
	}
	return one
}
