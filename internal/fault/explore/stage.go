package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/command"
	"whichfs/internal/fault"
	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
)

// stage is a view of the real thing: a disk in memory and a mount point.
type stage struct {
	fs    filesystem.Filesystem
	disk  *blockdev.Disk
	base  *blockdev.Contents
	judge script.Judge
	tree  script.Reader
	ahead *prefetcher
	mount mounting
	log   kernelLog
	// readOnly: it is mounted so on purpose.
	readOnly bool
	thread   atomic.Value // string: the one that looks, below /proc
}

// newStage makes a place to look at the states of a recording.
func (e *explorer) newStage(r Recording, base *blockdev.Contents, judge script.Judge) (*stage, error) {
	dir := filepath.Join(e.work, fmt.Sprintf("state-%d", e.stages.Add(1)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	disk, err := blockdev.NewDisk(r.Size)
	if err != nil {
		return nil, err
	}
	s := &stage{fs: e.fs, disk: disk, base: base, judge: judge, mount: newMounting(e.candidate, disk.Path(), dir), log: followLog(disk.Name())}
	s.ahead = newPrefetcher(disk.Path(), r.Base)
	s.readOnly = s.mount.flags&unix.MS_RDONLY != 0
	return s, nil
}

func (s *stage) set(changed []states.Block) error {
	if err := s.disk.Set(s.base, changed); err != nil {
		return err
	}
	s.ahead.read(changed)
	_ = s.log.log.Skip() // what comes so late is of the state before
	return nil
}

func (s *stage) close() error {
	s.log.log.Close()
	s.ahead.close()
	err := s.disk.Close()
	return errors.Join(err, os.Remove(s.mount.dir))
}

func (s *stage) said() []string {
	return s.log.lines()
}

// look mounts, judges, unmounts, and lets the tool have a look where that was
// asked for or where nothing else helps.
func (s *stage) look(ctx context.Context, r request) (seen, error) {
	s.thread.Store(command.ThreadLink())
	var out seen
	mounted, err := s.visit(r, &out)
	if err != nil {
		return out, err
	}
	if r.check || !mounted {
		begun := time.Now()
		if err := s.check(ctx, &out); err != nil {
			return out, err
		}
		out.took[stageCheck] += time.Since(begun)
	}
	if !mounted {
		begun := time.Now()
		mounted, err = s.repair(ctx, r, &out)
		if err != nil {
			return out, err
		}
		out.took[stageCheck] += time.Since(begun)
		out.outcome = fault.Unmountable
		if mounted {
			out.outcome = fault.NeedsCheck
		}
	}
	for _, b := range out.breaches {
		out.outcome = max(out.outcome, b.Outcome)
	}
	return out, nil
}

// visit mounts, judges and unmounts; the outcome is that without breaches.
func (s *stage) visit(r request, out *seen) (mounted bool, err error) {
	begun := time.Now()
	lap := func(stage int) {
		now := time.Now()
		out.took[stage] += now.Sub(begun)
		begun = now
	}
	errno := s.mount.mount()
	lap(stageMount)
	switch errno {
	case 0:
	case unix.ENODEV, unix.EPERM, unix.EBUSY, unix.ENOTBLK:
		return false, fmt.Errorf("mounting %s: %w", s.mount.source, errno)
	default:
		out.messages = append(out.messages, s.log.lines()...)
		out.messages = append(out.messages, fmt.Sprintf("mount: %v", errno))
		return false, nil
	}
	var st unix.Statfs_t
	readOnly := !s.readOnly && unix.Statfs(s.mount.dir, &st) == nil && st.Flags&unix.ST_RDONLY != 0
	breaches, looked := s.judge.Judge(r.began, r.acked, s.tree.Read(s.mount.dir), s.mount.dir)
	out.breaches, out.promises = breaches, looked
	lap(stageJudge)
	if err := s.mount.unmount(); err != nil {
		return true, err
	}
	lap(stageUnmount)
	lines := s.log.lines()
	said := s.fs.ReadKernel(lines)
	out.messages = append(out.messages, lines...)
	switch {
	case readOnly:
		out.outcome = fault.ReadOnly
	case len(said.Errors) > 0:
		out.outcome = fault.Reported
	case len(said.Replay) > 0:
		out.outcome = fault.Recovered
	default:
		out.outcome = fault.Whole
	}
	return true, nil
}

// check has the filesystem's tool look at the unmounted disk.
func (s *stage) check(ctx context.Context, out *seen) error {
	if s.fs.Check == nil {
		out.check = "not checked: " + s.fs.NoCheck
		return nil
	}
	status, text, err := tool(ctx, s.fs.Check(s.disk.Path()))
	if err != nil {
		if command.Missing(err) {
			out.check = "not checked: its tool is not installed"
			return nil
		}
		return err
	}
	said := s.fs.ReadCheck(status, text)
	switch {
	case said.Broken:
		out.check = "the tool could not check: " + said.Reason
	case said.Clean:
		out.checked, out.check = true, "clean"
	default:
		out.checked, out.dirty, out.check = true, true, said.Reason
	}
	return nil
}

// repair lets the filesystem's tools mend it until it mounts, and judges it then.
func (s *stage) repair(ctx context.Context, r request, out *seen) (mounted bool, err error) {
	if s.fs.Repair == nil {
		out.messages = append(out.messages, "no repair: "+s.fs.NoRepair)
		return false, nil
	}
	for _, argv := range s.fs.Repair(s.disk.Path()) {
		status, text, err := tool(ctx, argv)
		if command.Missing(err) {
			out.messages = append(out.messages, "no repair: "+argv[0]+" is not installed")
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if s.fs.ReadRepair != nil {
			if said := s.fs.ReadRepair(status, text); said.Reason != "" {
				out.messages = append(out.messages, argv[0]+": "+said.Reason)
			}
		}
		if mounted, err = s.visit(r, out); mounted || err != nil {
			return mounted, err
		}
	}
	return false, nil
}

// tool runs a program to its end, whatever that is; an error is that there was
// none.
func tool(ctx context.Context, argv []string) (status int, text string, err error) {
	r, err := command.Run(ctx, command.Options{}, argv...)
	var end *command.Error
	if err != nil && (!errors.As(err, &end) || end.Status < 0) {
		return 0, "", err
	}
	return r.Status, r.Stdout + r.Stderr, nil
}

// mounting is a candidate's mount of a device on a directory.
type mounting struct {
	source, dir, fstype, data string
	flags                     uintptr
}

func newMounting(c filesystem.Candidate, source, dir string) mounting {
	m := mounting{source: source, dir: dir, fstype: c.FS}
	m.flags, m.data = filesystem.MountFlags(filesystem.MountData(c))
	return m
}

func (m mounting) mount() unix.Errno {
	err := unix.Mount(m.source, m.dir, m.fstype, m.flags, m.data)
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		return unix.EINVAL
	}
	return errno
}

// busyLimit is how long an unmount may be held up. A process that has just been
// forked, to become a tool that looks at another disk, has for a moment copies
// of all descriptors, those of files below this mount point among them; exec
// closes them.
const busyLimit = 5 * time.Second

func (m mounting) unmount() error {
	err := unix.Unmount(m.dir, 0)
	for begun := time.Now(); errors.Is(err, unix.EBUSY) && time.Since(begun) < busyLimit; {
		time.Sleep(time.Millisecond)
		err = unix.Unmount(m.dir, 0)
	}
	if err != nil {
		_ = unix.Unmount(m.dir, unix.MNT_DETACH)
		return &result.Failure{Outcome: result.LabFailed, Reason: "unmounting " + m.source, Err: err}
	}
	forget(m.fstype, m.source)
	return nil
}
