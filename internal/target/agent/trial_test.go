package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

func TestFailureQuotesKernelMessages(t *testing.T) {
	notes := []result.Note{
		{Level: result.Warning, Text: "kernel: of the phase before"},
		{Phase: "mount", Level: result.Info, Text: "2 kernel threads ended"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: ext4: Unknown parameter 'x'"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: two"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: three"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: four"},
	}
	failed := workload.Subject("mount: invalid argument")
	for _, c := range []struct {
		err   error
		notes []result.Note
		own   []string // of the driver
		want  string
	}{
		{failed, notes, nil, "mount: invalid argument (the kernel: ext4: Unknown parameter 'x'; two; three)"},
		{failed, notes, []string{"said before", "two"}, "mount: invalid argument (the kernel: ext4: Unknown parameter 'x'; two; three)"},
		{failed, notes, []string{"a", "b", "c", "d"}, "mount: invalid argument (the kernel: b; c; d)"},
		{failed, notes[:2], []string{"only"}, "mount: invalid argument (the kernel: only)"},
		{failed, notes[:2], nil, "mount: invalid argument"},
		{result.Refuse("", "no room"), notes, nil, "no room"},
		{errors.New("a fault of ours"), notes, []string{"a"}, "a fault of ours"},
	} {
		if got := withKernel(c.err, c.notes, c.own).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if failed.Reason != "mount: invalid argument" {
		t.Errorf("the failure itself was changed: %q", failed.Reason)
	}
}

// Where the processor takes no time, a trial has no times of it.
func TestTrialWithoutProcessorTimes(t *testing.T) {
	needs.Devices(t)
	for _, virtual := range []bool{false, true} {
		c, err := host(t, wire.Prepare{Storage: "loop:16M", Virtual: virtual}, Options{})
		must.Do(t, err)
		figures := map[string]result.Measurement{}
		d, err := c.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}, StepLimit: wait.Patience.Seconds()},
			machine.Events{Figures: func(f wire.Figures) {
				for _, m := range f.Measurements {
					figures[m.Metric] = m
				}
			}})
		must.Do(t, err)
		if d.Outcome != result.Done {
			t.Fatalf("%+v", d)
		}
		if m := figures[result.Wall]; m.Absent != "" || m.Value <= 0 {
			t.Errorf("%+v", m)
		}
		if m, there := figures[result.CPUSystem]; !there || virtual != (m.Absent != "") {
			t.Errorf("virtual %v: %+v", virtual, m)
		}
		must.Do(t, c.Close())
	}
}

// A paced trial does nothing before the host has received what was said so far.
func TestPaced(t *testing.T) {
	needs.Devices(t)
	theirs, ours := io.Pipe()
	in, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- Serve(context.Background(), wire.New(theirs, out, nil), Options{}) }()
	c := wire.New(in, ours, nil)
	request := func(id uint64, kind string, body any, answer string) wire.Message {
		t.Helper()
		must.Do(t, c.Send(kind, id, body))
		m, err := c.Receive()
		must.Do(t, err)
		if m.Kind != answer {
			t.Fatalf("%s: %s", m.Kind, m.Body)
		}
		return m
	}
	request(1, wire.KindPrepare, wire.Prepare{Storage: "loop:16M", Work: t.TempDir()}, wire.KindReady)
	step := scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}
	for _, stray := range []uint64{1, 9} { // the trial with the second number is told to go
		id := 8 + stray/9
		request(id, wire.KindTrial, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: step, Paced: true}, wire.KindPhase)
		must.Do(t, c.Send(wire.KindStop, 0, nil))
		must.Do(t, c.Send(wire.KindGo, stray, nil))
		m, err := c.Receive()
		must.Do(t, err)
		figures := m.Kind == wire.KindFigures
		for m.Kind == wire.KindFigures {
			m, err = c.Receive()
			must.Do(t, err)
		}
		var d wire.Done
		must.Do(t, m.Decode(&d))
		if went := d.Outcome == result.Done; went != (stray == id) || figures != went {
			t.Errorf("told to go with %d of %d: %+v", stray, id, d)
		}
	}
	request(10, wire.KindBye, nil, wire.KindBye)
	must.Do(t, ours.Close())
	must.Do(t, <-over)
}

// A phase waits for other work that ends, and not for one that does not.
func TestSettle(t *testing.T) {
	var over atomic.Bool
	defer over.Store(true)
	for range runtime.NumCPU() + 1 {
		go func() {
			for !over.Load() {
			}
		}()
	}
	wait.Until(t, "other threads run", others)
	settle()
}

// A filesystem that another program unmounts during a trial is noticed: work in its place would be
// work in memory.
func TestUnmountedByAnother(t *testing.T) {
	needs.Devices(t)
	env := &workload.Env{Mount: filepath.Join(t.TempDir(), "mnt"), Mounted: true}
	must.Do(t, os.Mkdir(env.Mount, 0o755))
	must.Do(t, unix.Mount("none", env.Mount, "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(env.Mount, unix.MNT_DETACH) })
	must.Do(t, unmounted(env))
	must.Do(t, unix.Unmount(env.Mount, 0))
	if err := unmounted(env); err == nil || !strings.Contains(err.Error(), "another program has unmounted "+env.Mount) {
		t.Error(err)
	}
	env.Mounted = false
	must.Do(t, unmounted(env))
}
