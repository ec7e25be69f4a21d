package explore

import (
	"context"
	"fmt"
	"os"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
)

// view is a place where states are looked at, one after the other.
type view interface {
	// set makes contents of the base and changed blocks, which may change
	// afterwards.
	set(changed []states.Block) error
	// look mounts and judges what was set. An error is ours, not the
	// filesystem's.
	look(ctx context.Context, r request) (seen, error)
	// said is what the kernel has said of a look that does not return; it is
	// called from another goroutine.
	said() []string
	close() error
}

// request says what is looked at, and how closely.
type request struct {
	began, acked int
	check        bool // by the filesystem's own tool
}

// stages of a look, as tallies name them.
const (
	stageMake = iota
	stageMount
	stageJudge
	stageUnmount
	stageCheck
	stageCount
)

var stageNames = [stageCount]string{"make", "mount", "judge", "unmount", "check"}

// seen is what became of a state.
type seen struct {
	outcome  fault.Outcome
	breaches []fault.Breach
	promises int // single promises looked at
	checked  bool
	dirty    bool   // of checked
	check    string // what it said
	messages []string
	took     [stageCount]time.Duration
}

// seat is a view with a clock: its calls are made by a thread of its own, which
// is left behind where it does not return.
type seat struct {
	view  view
	limit time.Duration
	timer *time.Timer
	in    chan request
	out   chan answer
	left  bool
	// The thread that looks now; a call that hangs keeps it.
	thread func() string // below /proc
}

type answer struct {
	seen seen
	err  error
}

func newSeat(ctx context.Context, v view, limit time.Duration, thread func() string) *seat {
	s := &seat{view: v, limit: limit, timer: time.NewTimer(time.Hour), in: make(chan request), out: make(chan answer, 1), thread: thread}
	s.timer.Stop()
	go func() {
		for r := range s.in {
			var a answer
			a.seen, a.err = v.look(ctx, r)
			s.out <- a
		}
	}()
	return s
}

// look is the view's, but for a call that does not return: then the outcome is
// Hang, or Died if the kernel says so, and the seat is of no further use.
func (s *seat) look(r request) (seen, error) {
	s.in <- r
	s.timer.Reset(s.limit)
	select {
	case a := <-s.out:
		s.timer.Stop()
		return a.seen, a.err
	case <-s.timer.C:
	}
	s.left = true
	out := seen{outcome: fault.Hang, messages: []string{fmt.Sprintf("nothing came back for %.3g s", s.limit.Seconds())}}
	if said := s.view.said(); len(said) > 0 {
		out.messages = append(said, out.messages...)
		if died(said) {
			out.outcome = fault.Died
		}
	}
	if s.thread != nil {
		if stack, err := os.ReadFile("/proc/" + s.thread() + "/stack"); err == nil && len(stack) > 0 {
			out.messages = append(out.messages, "it waits in:\n"+string(stack))
		}
	}
	return out, nil
}

// close gives the view up, if it can be.
func (s *seat) close() {
	close(s.in)
	if s.left {
		// Taking down what is in use may hang as well.
		go func() { _ = s.view.close() }()
		return
	}
	_ = s.view.close()
}
