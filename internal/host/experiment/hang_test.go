package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// hanging is a machine with lasting sessions, on whose storage something hangs after the first
// trial of xfs. keeps: a later session cannot use that storage. always: something hangs after every
// trial.
type hanging struct {
	machine.Machine
	keeps, always, hung bool
}

func (m *hanging) Lasting() bool { return true }

func (m *hanging) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if m.hung && m.keeps {
		return nil, result.Refuse("", "another run of whichfs uses sdb (process 12 whichfs-agent)")
	}
	s, err := m.Machine.Start(ctx, spec)
	return &hangingSession{s, m}, err
}

type hangingSession struct {
	machine.Session
	machine *hanging
}

func (s *hangingSession) Trial(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	d, err := s.Session.Trial(ctx, t, events)
	if s.machine.always || t.Candidate.FS == "xfs" && !s.machine.hung {
		s.machine.hung = true
		d = wire.Done{Outcome: result.SubjectFailed, Phase: "mkfs", Reason: "mkfs.xfs (process 13) cannot be killed", Hangs: true}
	}
	return d, err
}

func (s *hangingSession) Close() error {
	if err := s.Session.Close(); err != nil || !s.machine.hung {
		return err
	}
	return errors.New("whichfs-agent (process 12) cannot be killed")
}

// A hang costs its trial and its session; the run continues if there is other storage, and
// otherwise names the cause.
func TestStorageThatHangs(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		e, st, m := setUp(t, fake.Script{}, "ext4", "xfs")
		e.Machine = &hanging{Machine: m, keeps: keeps}
		err := e.Carry(t.Context())
		trials := order(t, st)
		if failed := slices.IndexFunc(trials, func(s string) bool { return strings.HasSuffix(s, "xfs subject-failed") }); failed < 0 {
			t.Errorf("%q", trials)
		}
		run, loadErr := st.Run("r")
		if loadErr != nil {
			t.Fatal(loadErr)
		}
		if n := len(run.Notes); n == 0 || !strings.Contains(run.Notes[n-1].Text, "whichfs-agent (process 12) cannot be killed") {
			t.Errorf("%+v", run.Notes)
		}
		if !keeps {
			if err != nil || len(trials) != 6 || m.Sessions() != 2 {
				t.Errorf("%v, %d sessions, %q", err, m.Sessions(), trials)
			}
			continue
		}
		var stopped *result.Failure
		if !errors.As(err, &stopped) || stopped.Hint == "" || run.State != result.Interrupted {
			t.Fatalf("%v, %s", err, run.State)
		}
		for _, w := range []string{"the storage cannot be used again after xfs, round 1: mkfs.xfs (process 13) cannot be killed", "another run of whichfs uses sdb (process 12"} {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not say %q", err, w)
			}
		}
	}
}

// If everything hangs, the kernel is stuck, and the run does not try every trial.
func TestStuckKernelEndsTheRun(t *testing.T) {
	e, st, m := setUp(t, fake.Script{}, "ext4", "xfs")
	e.Machine = &hanging{Machine: m, always: true}
	err := e.Carry(t.Context())
	var stopped *result.Failure
	if !errors.As(err, &stopped) || stopped.Hint == "" || !strings.Contains(err.Error(), "one trial after another hangs") || !strings.Contains(err.Error(), "mkfs.xfs (process 13)") {
		t.Error(err)
	}
	if trials := order(t, st); len(trials) != 2 {
		t.Errorf("%q", trials)
	}
}
