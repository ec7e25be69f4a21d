package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stuck is a process that remains after it was killed. Only the kernel can end
// it; it keeps its files open.
type Stuck struct {
	Program string
	Pid     int    // the number in /proc: the host's, even in a process-id namespace
	State   byte   // the kernel's letter; 0: unknown
	Where   string // kernel function that it waits in; "": unknown
}

func (s *Stuck) Error() string {
	text := fmt.Sprintf("%s (process %d) cannot be killed", s.Program, s.Pid)
	switch state := states[s.State]; {
	case state != "":
		text += ": it is " + state
	case s.State != 0:
		text += fmt.Sprintf(": it is in state %c", s.State)
	}
	if s.Where != "" {
		text += " (in " + s.Where + ")"
	}
	return text
}

// states in which a killed process remains (proc(5)).
var states = map[byte]string{
	'D': "in uninterruptible sleep", 'R': "running", 'S': "asleep", 'Z': "not reaped",
}

// Sleeping says where a thread of this process sleeps uninterruptibly; "" if
// it does not or this is unknown. The thread is the one that read ThreadLink.
func Sleeping(thread string) string {
	s, ok := readStatus(filepath.Join("/proc", thread, "stat"))
	if !ok || s.state != 'D' {
		return ""
	}
	text := states['D']
	if in := channel(filepath.Join("/proc", thread, "wchan")); in != "" {
		text += " (in " + in + ")"
	}
	return text
}

// ThreadLink names the calling thread as in /proc: "PID/task/TID".
func ThreadLink() string {
	link, _ := os.Readlink("/proc/thread-self")
	return link
}

// status is a line of /proc/PID/stat or /proc/PID/task/TID/stat.
type status struct {
	name          string
	state         byte
	parent, group int
	start         string // in ticks since boot
}

func readStatus(path string) (s status, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, false
	}
	head, rest, found := strings.Cut(string(text), " (")
	end := strings.LastIndex(rest, ")") // a name may contain anything
	if !found || head == "" || end < 0 {
		return s, false
	}
	words := strings.Fields(rest[end+1:])
	if len(words) < 20 || len(words[0]) != 1 {
		return s, false
	}
	s.name, s.state, s.start = rest[:end], words[0][0], words[19]
	var bad1, bad2 error
	s.parent, bad1 = strconv.Atoi(words[1])
	s.group, bad2 = strconv.Atoi(words[2])
	return s, bad1 == nil && bad2 == nil
}

func procPath(pid int, more ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, more...)...)
}

// threads returns the threads of a process that run or sleep. The first
// thread's state is not the process's: it is a zombie if another one cannot be
// killed.
func threads(pid int) []string {
	var all []string
	paths, _ := filepath.Glob(procPath(pid, "task", "[0-9]*")) // the pattern is valid
	for _, path := range paths {
		if s, ok := readStatus(filepath.Join(path, "stat")); ok && s.state != 'Z' && s.state != 'X' {
			all = append(all, path)
		}
	}
	return all
}

func alive(pid int) bool { return len(threads(pid)) > 0 }

// where returns the state of the thread in the deepest sleep.
func where(pid int) (state byte, in string) {
	for _, path := range threads(pid) {
		s, ok := readStatus(filepath.Join(path, "stat"))
		if !ok || state != 0 && s.state != 'D' {
			continue
		}
		state, in = s.state, channel(filepath.Join(path, "wchan"))
		if state == 'D' {
			break
		}
	}
	return state, in
}

// channel reads a wchan file, which contains "0" if we may not know.
func channel(path string) string {
	text, err := os.ReadFile(path)
	if in := strings.TrimSpace(string(text)); err == nil && in != "0" {
		return in
	}
	return ""
}
