package agent

import (
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command/commandtest"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// onFrozen opens a session on a loop device whose file is on a filesystem that can be frozen.
func onFrozen(t *testing.T) (*machine.Client, *commandtest.Frozen) {
	t.Helper()
	f := commandtest.Mount(t)
	c, err := host(t, wire.Prepare{Storage: "loop:16M", Work: f.Dir}, Options{})
	must.Do(t, err)
	return c, f
}

func hangs(t *testing.T, d wire.Done, err error, words ...string) {
	t.Helper()
	must.Do(t, err)
	if d.Outcome != result.SubjectFailed || !d.Hangs {
		t.Errorf("%+v", d)
	}
	for _, w := range words {
		if !strings.Contains(d.Reason, w) {
			t.Errorf("%q does not say %q", d.Reason, w)
		}
	}
}

// leftAlone checks that the session runs no further trial, and that it ends without waiting.
func leftAlone(t *testing.T, c *machine.Client, words string) {
	t.Helper()
	d, err := c.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}, StepLimit: wait.Patience.Seconds()}, machine.Events{})
	must.Do(t, err)
	if d.Outcome != result.LabFailed || !strings.Contains(d.Reason, "the storage is left alone: "+words) {
		t.Errorf("%+v", d)
	}
	over := make(chan error, 1)
	go func() { over <- c.Close() }()
	must.Do(t, wait.For(t, "the session's end, which does not wait for the storage", over))
}

// A tool that cannot be killed fails its trial, and is named.
func TestTrialWithAToolThatHangs(t *testing.T) {
	needs.Devices(t)
	c, f := onFrozen(t)
	f.Freeze()
	d, err := c.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}, StepLimit: 1}, machine.Events{})
	hangs(t, d, err, "not finished after 1s, and mkfs.ext4 (process ", ") cannot be killed: it is in uninterruptible sleep")
	if d.Phase != "mkfs" {
		t.Errorf("%+v", d)
	}
	leftAlone(t, c, "mkfs.ext4 (process ")
}

// A system call of the agent itself that does not return fails its trial, too.
func TestTrialWithACallThatHangs(t *testing.T) {
	needs.Devices(t)
	was := stepPatience
	stepPatience = 3 * time.Second
	t.Cleanup(func() { stepPatience = was })
	c, f := onFrozen(t)
	d, err := c.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}, StepLimit: 600}, machine.Events{})
	must.Do(t, err)
	if d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	f.Freeze()
	d, err = c.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mount", Phase: "mount"}}, StepLimit: 1}, machine.Events{})
	hangs(t, d, err, "not finished after 1s, and cannot be stopped: the agent's own system call is in uninterruptible sleep")
	leftAlone(t, c, "the agent's own system call is in uninterruptible sleep")
}
