// Package commandtest helps tests with processes that no signal ends.
package commandtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/wait"
)

// Frozen is a filesystem on a loop device whose writers sleep uninterruptibly
// until it is thawed, as they do on a device that does not answer.
type Frozen struct {
	Dir, Device string
	top         *os.File
	t           *testing.T
	thaw        sync.Once
}

// watch thaws and unmounts as soon as a file is removed or the test has ended,
// and after ten minutes at most: every sync on this machine waits for a frozen
// filesystem. A process with a hanging thread is a zombie and keeps its files
// open.
const watch = `i=0
while [ $i -lt 6000 ] && [ -e "$2" ] && s=$(cut -d" " -f3 /proc/$3/stat) && [ "$s" != Z ]; do sleep 0.1; i=$((i+1)); done
fsfreeze -u "$1"; umount -l "$1"`

const (
	freeze = 0xc0045877 // FIFREEZE of linux/fs.h
	thaw   = 0xc0045878 // FITHAW
)

// Mount makes and mounts a small ext4, which needs root. Freeze freezes it. It
// is thawed and removed when the test ends.
func Mount(t *testing.T) *Frozen {
	t.Helper()
	dir := t.TempDir()
	f := &Frozen{Dir: filepath.Join(dir, "mnt"), t: t}
	image := filepath.Join(dir, "image")
	file, err := os.Create(image)
	f.must(err)
	defer file.Close() //nolint:errcheck // the loop device has it
	f.must(errors.Join(file.Truncate(32<<20), os.Mkdir(f.Dir, 0o755)))
	// Do not use internal/sys/command, whose tests use this package.
	mkfs, err := os.StartProcess("/sbin/mkfs.ext4", []string{"mkfs.ext4", "-q", "-F", image}, &os.ProcAttr{})
	f.must(err)
	end, err := mkfs.Wait()
	f.must(err)
	if !end.Success() {
		t.Fatal(end)
	}
	node := f.attach(file)
	defer node.Close() //nolint:errcheck // the mount keeps the device
	f.must(unix.Mount(f.Device, f.Dir, "ext4", 0, ""))
	f.top, err = os.Open(f.Dir)
	f.must(err)
	t.Cleanup(func() {
		_ = f.top.Close()
		_ = unix.Unmount(f.Dir, unix.MNT_DETACH)
	})
	t.Cleanup(f.Thaw)
	return f
}

func (f *Frozen) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// attach attaches the file to a free loop device, which is freed on its last
// close.
func (f *Frozen) attach(file *os.File) *os.File {
	f.t.Helper()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	f.must(err)
	defer control.Close() //nolint:errcheck // nothing was written
	for range 50 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		f.must(err)
		f.Device = fmt.Sprintf("/dev/loop%d", n)
		node, err := os.OpenFile(f.Device, os.O_RDWR, 0)
		f.must(err)
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		if unix.IoctlLoopConfigure(int(node.Fd()), &config) == nil {
			return node
		}
		_ = node.Close() // another test was faster
	}
	f.t.Fatal("no loop device")
	return nil
}

// Freeze freezes the filesystem, for ten minutes at most.
func (f *Frozen) Freeze() {
	f.t.Helper()
	mark := filepath.Join(f.t.TempDir(), "watched")
	f.must(os.WriteFile(mark, nil, 0o600))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	f.must(err)
	watchman, err := os.StartProcess("/bin/sh", []string{"sh", "-c", watch, "sh", f.Dir, mark, strconv.Itoa(os.Getpid())},
		&os.ProcAttr{Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	f.must(errors.Join(err, null.Close()))
	f.t.Cleanup(func() {
		_ = os.Remove(mark)
		_, _ = watchman.Wait()
	})
	f.must(unix.IoctlSetInt(int(f.top.Fd()), freeze, 0))
}

// Thaw lets the writers continue.
func (f *Frozen) Thaw() {
	f.thaw.Do(func() { _ = unix.IoctlSetInt(int(f.top.Fd()), thaw, 0) })
}

// Asleep waits until a process with this word in its command line sleeps
// uninterruptibly, and returns its number.
func Asleep(t *testing.T, word string) (pid string) {
	t.Helper()
	wait.Until(t, word+" sleeps uninterruptibly", func() bool { pid = Sleeper(word); return pid != "" })
	return pid
}

// Sleeper returns the number of a process that has this word in its command
// line and appears to sleep uninterruptibly for good (every process does so
// for a moment), or "".
func Sleeper(word string) string {
	for _, pid := range Processes(word) {
		for seen := 0; sleeps(pid); time.Sleep(time.Millisecond) {
			if seen++; seen == 50 {
				return pid
			}
		}
	}
	return ""
}

// sleeps reports whether one of its threads does.
func sleeps(pid string) bool {
	stats, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		if _, rest, _ := strings.Cut(string(text), ") "); strings.HasPrefix(rest, "D") {
			return true
		}
	}
	return false
}

// Processes returns the other running processes that have this word in their
// command line.
func Processes(word string) []string {
	var all []string
	paths, _ := filepath.Glob("/proc/[0-9]*")
	self, _ := os.Readlink("/proc/self")
	for _, path := range paths {
		line, err := os.ReadFile(path + "/cmdline") // empty if it has ended
		if err == nil && strings.Contains(string(line), word) && filepath.Base(path) != self {
			all = append(all, filepath.Base(path))
		}
	}
	return all
}
