package explore

import (
	"context"
	"fmt"
	"path/filepath"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// recorder runs scripts on a disk in memory and records the requests to it.
type recorder struct {
	candidate filesystem.Candidate
	stage     *aftermath.Stage
	made      *blockdev.Contents // as the filesystem's tool made it
}

// newRecorder makes a disk and, once, the filesystem. The host decides how long a script may take.
func newRecorder(ctx context.Context, c filesystem.Candidate, size int64, work string) (*recorder, error) {
	stage, err := stageOf(c, size, filepath.Join(work, "record"), aftermath.Patience{})
	if err != nil {
		return nil, err
	}
	r := &recorder{candidate: c, stage: stage}
	if err := r.make(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *recorder) make(ctx context.Context) error {
	argv := r.candidate.Filesystem().Make(r.candidate, r.stage.Disk().Path())
	if _, err := command.Run(ctx, command.Options{}, argv...); err != nil {
		switch cause := context.Cause(ctx); {
		case cause != nil:
			return cause
		case command.Missing(err):
			return result.Fail(result.Unsupported, "", "%s is not installed", argv[0])
		}
		return &result.Failure{Outcome: result.SubjectFailed, Reason: argv[0], Err: err}
	}
	var err error
	_, r.made, err = r.stage.Contents()
	return err
}

func (r *recorder) close() { _ = r.stage.Close() }

// record runs one script.
func (r *recorder) record(ctx context.Context, s script.Script) (Recording, error) {
	disk := r.stage.Disk()
	out := Recording{Script: s, Size: disk.Size()}
	if err := r.stage.Set(r.made, nil); err != nil {
		return out, err
	}
	err := r.stage.Use(ctx, disk.Path(), func(root string) error { return unfit(s.Prepare(root)) })
	if err != nil {
		return out, fmt.Errorf("preparing: %w", err)
	}
	if out.Base, err = disk.Snapshot(); err != nil {
		return out, err
	}
	out.Log, err = r.stage.Record(ctx, mostLog, true, func(root string, mark func(string) error) error {
		var lost error
		err := s.Run(root, func(text string) error {
			lost = mark(text)
			return lost
		})
		if lost != nil {
			return lost
		}
		return unfit(err)
	})
	return out, err
}

// notDone is the error of a script that could not be run: the filesystem lacks an operation, or
// room for it.
type notDone struct{ err error }

func (n *notDone) Error() string { return "the script could not be run: " + n.err.Error() }

func (n *notDone) Unwrap() error { return n.err }

func unfit(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

// record runs a script on the explorer's own disk.
func (e *explorer) record(ctx context.Context, s script.Script) (Recording, error) {
	if e.recorder == nil {
		r, err := newRecorder(ctx, e.order.Candidate, e.size, e.work)
		if err != nil {
			return Recording{}, err
		}
		e.recorder = r
	}
	r, err := e.recorder.record(ctx, s)
	if err == nil {
		err = holds(r.Base, r)
	}
	return r, err
}

// holds checks that a recording belongs to the disk that it claims to be of.
func holds(base fault.Image, r Recording) error {
	if base.Size != r.Size {
		return fmt.Errorf("the base image has %d bytes and the disk %d", base.Size, r.Size)
	}
	_, err := sizeOf(r, r.Size)
	return err
}

// LogTally is what is known of a log before any state was judged.
func LogTally(r Recording) finding.Tally {
	t := finding.Tally{Script: r.Script.Name, Entries: len(r.Log.Entries), Possible: states.Possible(r.Log),
		Outcomes: map[string]int64{}, Seconds: map[string]float64{}}
	for _, e := range r.Log.Entries {
		if e.IsWrite() {
			t.Writes++
		}
		if e.Flags&writelog.Flush != 0 {
			t.Flushes++
		}
	}
	return t
}

// Unseen makes a finding of the state with a number that crashed the guest; the caller adds the
// observations. ok is false if the log has no such state.
func Unseen(r Recording, o states.Options, number int64) (f finding.Finding, ok bool) {
	for n, s := range states.All(r.Log, o) {
		if n != number {
			continue
		}
		f = finding.Finding{Size: r.Size, Script: r.Script, Base: r.Base, Log: r.Log, Seed: o.Seed, Number: n, State: s}
		f.Began, f.Acked = aftermath.ReadMarks(r.Log).At(s.Point)
		return f, true
	}
	return f, false
}
