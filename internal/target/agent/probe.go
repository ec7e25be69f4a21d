package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/rawtarget"
	"whichfs/internal/target/storage"
	"whichfs/internal/wire"
)

const (
	// progressEvery is the shortest interval between two progress reports.
	progressEvery = 200 * time.Millisecond
	// heartbeat is how often the host hears from a probe without news; far shorter than the host's
	// patience.
	heartbeat = 5 * time.Second
)

// errStopped ends a probe that the host no longer wants, or that has no host.
var errStopped = errors.New("it was stopped")

// runProbe is probe.Run, except in tests.
var runProbe = probe.Run

// probe probes the storage and answers with the findings, even if it ended early. An error means
// that it did not begin.
func (a *Agent) probe(ctx context.Context, id uint64, p wire.Probe) (wire.Probed, error) {
	if a.claim == nil {
		return wire.Probed{}, errors.New("a probe was requested before any storage was prepared")
	}
	if err := a.claim.Recheck(); err != nil {
		return wire.Probed{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := rawtarget.Options{Limit: a.o.RequestLimit, Check: a.stillThere}
	if !a.claim.ReadOnly() {
		right, err := a.claim.Right(nil, unix.O_EXCL|unix.O_DIRECT)
		if err != nil {
			return wire.Probed{}, err
		}
		o.Writable = right.File
	}
	target, err := rawtarget.Open(ctx, a.claim.Path(), o)
	if err != nil {
		return wire.Probed{}, failedDevice(err)
	}
	defer target.Close() //nolint:errcheck // nothing depends on it any more
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() { a.watchHost(id, ended, stop); close(watched) }()
	defer func() { close(ended); <-watched }()
	say := newTeller(a.conn, id)
	begun := time.Now()
	r, err := runProbe(ctx, target, probe.Options{
		Effort: p.Effort, Limit: time.Duration(p.Limit * float64(time.Second)), Seed: p.Seed, Only: p.Only, Progress: say.progress})
	say.end()
	if errors.Is(err, rawtarget.ErrHangs) {
		a.hangs = err
	}
	if target.Wrote() {
		a.used, r.Wrote = true, true
	}
	a.describe(&r, target)
	if r.Started.IsZero() {
		r.Started = begun.UTC()
	}
	answer := wire.Probed{Report: r}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		answer.Report.Partial = "it was stopped before it finished"
		answer.Failed = &result.Failure{Outcome: result.Refused, Reason: errStopped.Error()}
	default:
		f := failed(failedDevice(err))
		if gone := (*storage.Gone)(nil); errors.As(err, &gone) {
			f.Hint = "connect it again, then repeat the probe"
		}
		answer.Report.Partial, answer.Failed = f.Reason, &f
	}
	return answer, nil
}

// describe adds what the agent knows of the device.
func (a *Agent) describe(r *probe.Report, target *rawtarget.Target) {
	r.Format, r.Clock = 1, "wall"
	r.Identity, r.Size = a.claim.Identity(), a.claim.Size()
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		r.Kernel = unix.ByteSliceToString(uname.Release[:])
	}
	r.Stated = nil
	for _, f := range a.claim.Stated() {
		r.Stated = append(r.Stated, probe.Stated{Name: f.Name, Value: f.Value, From: f.From})
	}
	r.Warnings = append(r.Warnings, target.Warnings()...)
	for _, n := range a.disturbed() {
		r.Warnings = append(r.Warnings, n.Text)
	}
}

// disturbed returns notes about other users of storage that is only read.
func (a *Agent) disturbed() []result.Note {
	var notes []result.Note
	for _, user := range a.claim.Users() {
		notes = append(notes, result.Note{Level: result.Warning, Text: "the device is in use (" + user + "): the figures include its other I/O"})
	}
	return notes
}

// stillThere is *storage.Gone if the device is no longer the one that was claimed. That it is in
// use is ignored here: the user is this agent.
func (a *Agent) stillThere() error {
	var gone *storage.Gone
	if errors.As(a.claim.Verify(), &gone) {
		return gone
	}
	return nil
}

// failedDevice marks a device's error as a failure of the device.
func failedDevice(err error) error {
	var e *rawtarget.Error
	if !errors.As(err, &e) {
		return err
	}
	f := result.Fail(result.SubjectFailed, "dmesg shows what the kernel reports about the device", "%v", err)
	switch {
	case errors.Is(err, rawtarget.ErrHangs):
		f.Hint = "remove and reinsert it, or restart the machine: that request cannot be cancelled"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		f.Outcome, f.Hint = result.Refused, "run whichfs as root (sudo)"
	case errors.Is(err, unix.EROFS):
		f.Outcome, f.Hint = result.Refused, "probe it without --destroy, which only reads"
	case errors.Is(err, unix.EBUSY):
		f.Outcome, f.Hint = result.Refused, "another program has begun to use it"
	case errors.Is(err, unix.EINVAL) && e.Op == "opening":
		f.Outcome, f.Hint = result.Unsupported, "its driver does not support direct I/O, and figures of the page cache are meaningless"
	}
	return f
}

// watchHost listens during a probe: the host may want it to end, and a probe without a host is
// useless. Anything else is returned to the inbox.
func (a *Agent) watchHost(id uint64, ended <-chan struct{}, stop context.CancelCauseFunc) {
	select {
	case <-ended:
	case r := <-a.inbox.Listen():
		stop(errStopped)
		if r.Err == nil && r.Message.Kind == wire.KindStop && r.Message.ID == id {
			a.inbox.Accept()
			return
		}
		a.inbox.Return(r)
	}
}

// teller passes progress on, at suitable intervals.
type teller struct {
	conn *wire.Conn
	id   uint64
	over chan struct{}
	done chan struct{}

	mu   sync.Mutex
	now  wire.Progress
	sent time.Time
}

func newTeller(conn *wire.Conn, id uint64) *teller {
	t := &teller{conn: conn, id: id, over: make(chan struct{}), done: make(chan struct{})}
	go t.beat()
	return t
}

// progress is probe.Options.Progress. It leaves it to others to notice that the stream has ended.
func (t *teller) progress(what string, share float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := what != t.now.What
	t.now = wire.Progress{What: what, Share: max(0, min(share, 1))}
	if fresh || time.Since(t.sent) >= progressEvery {
		t.send()
	}
}

func (t *teller) send() {
	t.sent = time.Now()
	_ = t.conn.Send(wire.KindProgress, t.id, t.now)
}

func (t *teller) beat() {
	defer close(t.done)
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-t.over:
			return
		case <-ticker.C:
			t.mu.Lock()
			if t.now.What == "" {
				t.now.What = "beginning"
			}
			t.send()
			t.mu.Unlock()
		}
	}
}

// end returns once nothing more is sent.
func (t *teller) end() {
	close(t.over)
	<-t.done
}

// notForTrials is the answer to a trial on storage that may only be read.
func notForTrials() error {
	return result.Refuse("", "the storage was prepared for reading only, and a trial writes")
}
