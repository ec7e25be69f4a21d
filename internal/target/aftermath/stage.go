package aftermath

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/blockdev"
)

// Settings of a stage.
type Settings struct {
	FS filesystem.Filesystem
	// Options are all mount options, one word each.
	Options  []string
	Size     int64  // B, of the disk
	Dir      string // a new directory to mount on, which Close removes
	Patience Patience
	// Alone: no other stage is in use, and the filesystem is known to mount on this machine. Then
	// all kernel messages are about it, and so is every error of mount(2).
	Alone bool
}

// Stage is a disk in memory and a mount point, where a filesystem is written and its state after a
// fault is judged. It is used from one goroutine. After a call that did not return it is no longer
// usable: see Left.
type Stage struct {
	Settings
	disk   *blockdev.Disk
	device string             // that is examined: the disk, or one above it
	above  *blockdev.Recorder // while Record works
	caller *caller
	log    kernelLog
	flags  uintptr // of mount(2)
	data   string
	line   string // the mount as a command
}

// NewStage makes one. Its disk is empty.
func NewStage(o Settings) (*Stage, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	disk, err := blockdev.NewDisk(o.Size)
	if err != nil {
		_ = os.Remove(o.Dir)
		return nil, err
	}
	c := newCaller(o.Patience.Call)
	s := &Stage{Settings: o, disk: disk, device: disk.Path(), caller: c, log: followLog(disk.Name(), o.Alone, c)}
	s.flags, s.data = filesystem.MountFlags(o.Options)
	s.line = "mount -t " + o.FS.Name
	if len(o.Options) > 0 {
		s.line += " -o " + strings.Join(o.Options, ",")
	}
	return s, nil
}

// Disk is the stage's disk; it must not be mounted while it is changed.
func (s *Stage) Disk() *blockdev.Disk { return s.disk }

// Through has the stage examine the filesystem on another device, above the disk.
func (s *Stage) Through(device string) {
	s.log.log.Close()
	s.device, s.log = device, followLog(filepath.Base(device), s.Alone, s.caller)
}

// Left reports whether a call did not return. Then neither the disk nor the mount on it may be
// touched.
func (s *Stage) Left() bool { return s.caller.gone() }

// Do runs f on the stage's own thread, which saves a change of threads for each call into the
// filesystem. If such a call does not return, f never goes on, and Do returns the diagnosis with
// left true.
func (s *Stage) Do(f func()) (d Diagnosis, left bool) {
	h := s.caller.do(f)
	if h == nil {
		return d, false
	}
	s.hang(&d, h)
	d.settle(s.Alone)
	return d, true
}

// hang records a call that did not return.
func (s *Stage) hang(out *Diagnosis, h *Hung) {
	out.hung = h.Error()
	s.hear(out)
	out.Messages = append(out.Messages, h.messages()...)
}

// Close releases the stage.
func (s *Stage) Close() error {
	s.caller.close()
	s.log.log.Close()
	if s.Left() {
		// Tearing down what is in use may hang as well.
		go func() { _ = s.disk.Close() }()
		return nil
	}
	return errors.Join(s.disk.Close(), os.Remove(s.Dir))
}

// Contents are the contents of the disk.
func (s *Stage) Contents() (fault.Image, *blockdev.Contents, error) {
	im, err := s.disk.Snapshot()
	if err != nil {
		return im, nil, err
	}
	c, err := blockdev.NewContents(im)
	return im, c, err
}

// Set gives the disk the contents of base, with some blocks replaced.
func (s *Stage) Set(base *blockdev.Contents, changed []states.Block) error {
	return s.disk.Set(base, changed)
}

// Tools says when the filesystem's own tools are run. A filesystem that does not mount is always
// checked and repaired.
type Tools struct {
	Check  bool // always: the check, without repair
	Damage bool // if damage is observed: the check, and the repair of what it reports
}

// Examine determines the state of the filesystem on the disk. The filesystem is mounted, judged and
// unmounted; its tool checks it, and repairs it if needed; then it is judged again.
func (s *Stage) Examine(ctx context.Context, judge Judge, tools Tools) (Diagnosis, error) {
	out, err := s.visit(judge)
	if err != nil || s.Left() {
		return out, err
	}
	if tools.Check || !out.Mounted || tools.Damage && out.damaged() {
		begun := Now()
		if err := s.check(ctx, &out); err != nil || s.Left() {
			return out, err
		}
		out.Stages[Check] += Now() - begun
	}
	clean := out.Checked && !out.Dirty
	if out.Mounted && !(tools.Damage && (out.Dirty || out.damaged() && !clean)) {
		return out, nil
	}
	begun := Now()
	if err := s.repair(ctx, judge, &out); err != nil {
		return out, err
	}
	out.Stages[Check] += Now() - begun
	return out, nil
}

// refusals are errors of mount(2) that are due to the machine: it does not support the filesystem,
// or may not mount this device.
var refusals = []error{unix.ENODEV, unix.EPERM, unix.EBUSY, unix.ENOTBLK}

// visit mounts, judges and unmounts.
func (s *Stage) visit(judge Judge) (out Diagnosis, err error) {
	_ = s.log.log.Skip() // such a late line is about the previous contents
	defer func() { out.settle(s.Alone) }()
	begun := Now()
	lap := func(stage int) time.Duration {
		now := Now()
		took := now - begun
		out.Stages[stage], begun = took, now
		return took
	}
	hangs := func(err error) bool {
		var hung *Hung
		if !errors.As(err, &hung) {
			return false
		}
		s.hang(&out, hung)
		return true
	}
	err = s.caller.call("mount", func() error { return s.mountOn(s.device) })
	out.Took = lap(Mount)
	if err != nil {
		out.why = fmt.Sprintf("%s: %v", s.line, err)
		if hangs(err) {
			return out, nil
		}
		if !s.Alone && slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) {
			return out, fmt.Errorf("mounting %s: %w", s.device, err)
		}
		s.hear(&out)
		out.Messages = append(out.Messages, fmt.Sprintf("mount: %v", err))
		return out, nil
	}
	out.Mounted = true
	var found Found
	err = s.caller.call("reading back what was written", func() error {
		// A driver that stops writing reports it here.
		var st unix.Statfs_t
		readOnly := s.flags&unix.MS_RDONLY == 0 && unix.Statfs(s.Dir, &st) == nil && st.Flags&unix.ST_RDONLY != 0
		found = judge(s.Dir)
		if readOnly && found.ReadOnly == "" {
			found.ReadOnly = "it was mounted read-only"
		}
		return nil
	})
	lap(Judging)
	if hangs(err) {
		return out, nil
	}
	out.Found = found
	err = s.unmount(s.device)
	lap(Unmount)
	if hangs(err) {
		return out, nil
	}
	s.hear(&out)
	return out, err
}

// hear collects the kernel's new messages.
func (s *Stage) hear(out *Diagnosis) {
	lines := s.log.lines()
	out.Messages = append(out.Messages, lines...)
	out.Said, out.died = s.FS.ReadKernel(lines), death(lines)
}

// mountOn mounts a device.
func (s *Stage) mountOn(device string) error {
	return unix.Mount(device, s.Dir, s.FS.Name, s.flags, s.data)
}

// busyLimit is how long an unmount may be delayed. A process that was just forked, to become a tool
// for another disk, briefly holds copies of all descriptors, including those of files below this
// mount point; exec closes them.
const busyLimit = 30 * time.Second

// unmount unmounts the filesystem. A failure is not caused by the filesystem: our own machinery
// still uses it.
func (s *Stage) unmount(device string) error {
	err := s.caller.call("unmount", func() error {
		err := unix.Unmount(s.Dir, 0)
		const pause = time.Millisecond
		for waited := time.Duration(0); errors.Is(err, unix.EBUSY) && waited < busyLimit; waited += pause {
			time.Sleep(pause)
			err = unix.Unmount(s.Dir, 0)
		}
		if err != nil {
			_ = unix.Unmount(s.Dir, unix.MNT_DETACH)
			return &result.Failure{Outcome: result.LabFailed, Reason: "unmounting " + device, Err: err}
		}
		return nil
	})
	if err == nil {
		forget(s.FS.Remembers, device)
	}
	return err
}

// tool runs a program of the filesystem to its end, whatever that is. An error is a *Hung, or says
// that the program is missing or that ctx is over.
func (s *Stage) tool(ctx context.Context, argv []string) (status int, text string, err error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if s.Patience.Tool > 0 {
		limited, cancel = context.WithTimeout(ctx, s.Patience.Tool)
	}
	defer cancel()
	r, err := command.Run(limited, command.Options{}, argv...)
	stuck := errors.As(err, new(*command.Stuck)) // it waits for the device
	if stuck {
		s.caller.leave()
	}
	switch {
	case context.Cause(ctx) != nil:
		return 0, "", context.Cause(ctx)
	case stuck || limited.Err() != nil:
		return 0, "", &Hung{What: argv[0], After: s.Patience.Tool}
	case command.Missing(err):
		return 0, "", err
	}
	return r.Status, r.Stdout + r.Stderr, nil
}

// check has the filesystem's tool check the unmounted disk.
func (s *Stage) check(ctx context.Context, out *Diagnosis) error {
	if s.FS.Check == nil {
		out.uncheck(s.FS.NoCheck)
		return nil
	}
	argv := s.FS.Check(s.device)
	status, text, err := s.tool(ctx, argv)
	switch {
	case command.Missing(err):
		out.uncheck(argv[0] + " is not installed")
		return nil
	case errors.As(err, new(*Hung)):
		out.Checked, out.Dirty, out.Check = true, true, err.Error()
		return nil
	case err != nil:
		return err
	}
	switch said := s.FS.ReadCheck(status, text); {
	case said.Broken:
		out.uncheck(fmt.Sprintf("%s could not check: %s", argv[0], said.Reason))
	case said.Clean:
		out.Checked, out.Check = true, "clean"
	default:
		out.Checked, out.Dirty, out.Check = true, true, said.Reason
	}
	return nil
}

func (s *Diagnosis) uncheck(why string) { s.Unchecked, s.Check = why, "not checked: "+why }

// repair lets the filesystem's tools repair the disk, and visits it again: once if it had mounted,
// and otherwise after each attempt until it mounts.
func (s *Stage) repair(ctx context.Context, judge Judge, out *Diagnosis) error {
	unrepaired := func(why string) {
		out.Unrepaired = why
		out.Messages = append(out.Messages, "no repair: "+why)
	}
	if s.FS.Repair == nil {
		unrepaired(s.FS.NoRepair)
		return nil
	}
	for _, argv := range s.FS.Repair(s.device) {
		status, text, err := s.tool(ctx, argv)
		switch {
		case command.Missing(err):
			unrepaired(argv[0] + " is not installed")
			return nil
		case errors.As(err, new(*Hung)):
			out.After = fault.Hang
			out.Messages = append(out.Messages, err.Error())
			return nil
		case err != nil:
			return err
		}
		if s.FS.ReadRepair != nil {
			said := s.FS.ReadRepair(status, text)
			if said.Reason != "" {
				out.Messages = append(out.Messages, argv[0]+": "+said.Reason)
			}
			if said.Mended == filesystem.MendBroken {
				out.Unrepaired = fmt.Sprintf("%s could not repair: %s", argv[0], said.Reason)
			}
		}
		second, err := s.visit(judge)
		for i, took := range second.Stages {
			out.Stages[i] += took
		}
		out.Messages = append(out.Messages, second.Messages...)
		if err != nil {
			return err
		}
		out.After = second.Outcome
		if !out.Mounted && second.Mounted {
			out.Promises, out.Breaches = second.Promises, second.Breaches
			out.Outcome = fault.NeedsCheck
		}
		if !out.Mounted { // the second visit has found its other losses
			out.Outcome = max(out.Outcome, second.Outcome)
		}
		if out.Mounted || second.Mounted || s.Left() {
			return nil
		}
	}
	return nil
}
