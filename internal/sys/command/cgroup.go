package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// controlGroup holds a program and all its descendants, including other
// sessions and orphans (cgroups(7), version 2).
type controlGroup struct{ dir string }

// newControlGroup moves a process that has started nothing yet into its own
// group, below ours. The kernel must be able to kill a whole group: Linux
// 5.14.
func newControlGroup(pid int) (*controlGroup, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	ours := ""
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			ours = path
		}
	}
	if len(mounts) == 0 || ours == "" {
		return nil, errors.New("cgroup2 is not mounted")
	}
	g := &controlGroup{dir: filepath.Join(mounts[0].Mountpoint, ours, fmt.Sprintf("whichfs-%d", pid))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	err = os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err == nil {
		_, err = os.Stat(filepath.Join(g.dir, "cgroup.kill"))
	}
	if err != nil {
		_ = os.Remove(g.dir) // fails, harmlessly, if the process is already in it
		return nil, err
	}
	return g, nil
}

// kill kills everything that is left and removes the group. It is called when
// the program has ended, and does not wait for unkillable processes.
func (g *controlGroup) kill() {
	if g == nil {
		return
	}
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	for begun := time.Now(); time.Since(begun) < killPatience; time.Sleep(time.Millisecond) {
		if err := os.Remove(g.dir); !errors.Is(err, unix.EBUSY) {
			return
		}
	}
}
