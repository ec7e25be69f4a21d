package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/command/commandtest"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// The test program plays the host of a real agent, with this binary of it and this work directory.
const (
	hostVariable = "WHICHFS_TEST_HOST"
	workVariable = "WHICHFS_TEST_WORK"
)

// writing are four forked jobs that write until they are killed.
var writing = wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{
	{Work: "discard"}, {Work: "mkfs", Phase: "mkfs"}, {Work: "mount", Phase: "mount"},
	{Work: "fio", Phase: "fio", Dir: "fio", Job: "[global]\nioengine=psync\nrw=randwrite\nbs=4k\nsize=2m\ntime_based=1\nruntime=7200\n[job]\nnumjobs=4\n"},
}}

// host runs a trial that does not end by itself.
func host(agent, work string) error {
	m := New()
	m.Agent = agent
	s, err := m.Start(context.Background(), machine.Spec{Storage: "loop:64M", Work: work})
	if err != nil {
		return err
	}
	done, err := s.Trial(context.Background(), writing, machine.Events{})
	return errors.Join(err, s.Close(), fmt.Errorf("done: %+v", done))
}

// left lists the remains of a run in a work directory.
func left(work string) []string {
	var all []string
	for _, pid := range commandtest.Processes(work) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		all = append(all, fmt.Sprintf("process %s: %q", pid, line))
	}
	mounts, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, path := range mounts {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), work) {
			all = append(all, "a mount in "+path)
		}
	}
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, path := range files {
		if text, _ := os.ReadFile(path); strings.HasPrefix(string(text), work) {
			all = append(all, path)
		}
	}
	return all
}

// Whichever is killed, agent or host, no writer survives, nor do the mount and the loop device.
func TestKilledLeavesNoWriter(t *testing.T) {
	needs.Devices(t)
	agent := labtest.Agent(t, runtime.GOARCH)
	for _, victim := range []string{"agent", "host"} {
		t.Run(victim, func(t *testing.T) {
			work := t.TempDir()
			out, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close() //nolint:errcheck // read only
			p, err := command.Start(command.Options{Stdout: theirs, Env: []string{hostVariable + "=" + agent, workVariable + "=" + work}}, os.Args[0])
			_ = theirs.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill() //nolint:errcheck // it has ended, or the test has failed
			// The test kills whatever it does not see disappear.
			defer func() {
				for _, pid := range commandtest.Processes(work) {
					n := 0
					if _, err := fmt.Sscan(pid, &n); err == nil {
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				}
			}()
			wait.Until(t, "fio and its jobs write", func() bool {
				select {
				case <-p.Done():
					said, _ := bufio.NewReader(out).ReadString(0)
					t.Fatalf("the host ended: %v %s", p.Err(), said)
				default:
				}
				return len(commandtest.Processes("fio.job")) >= 5 && len(commandtest.Processes(work)) >= 5
			})
			pid := p.Pid()
			if victim == "agent" {
				if _, err := fmt.Sscan(commandtest.Processes(agent + "\x00serve")[0], &pid); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			defer func() {
				if t.Failed() {
					t.Log(left(work))
				}
			}()
			wait.Until(t, "all is gone", func() bool { return len(left(work)) == 0 })
		})
	}
}

// An agent that cannot be killed, because a tool of its trial cannot, is named and not waited for;
// other storage is used meanwhile, and everything disappears in the end.
func TestStuckAgentIsNotWaitedFor(t *testing.T) {
	needs.Devices(t)
	agent := labtest.Agent(t, runtime.GOARCH)
	defer func(was time.Duration) { patience = was }(patience)
	patience = time.Second
	f := commandtest.Mount(t)
	m := New()
	m.Agent = agent
	mkfs := func(s machine.Session, limit float64) wire.Done {
		t.Helper()
		d, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}, StepLimit: limit}, machine.Events{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ends := func(s machine.Session) error {
		t.Helper()
		over := make(chan error, 1)
		go func() { over <- s.Close() }()
		return wait.For(t, "the session's end", over)
	}
	s, err := m.Start(t.Context(), machine.Spec{Storage: "loop:16M", Work: f.Dir})
	if err != nil {
		t.Fatal(err)
	}
	f.Freeze()
	// By then mkfs has come to its first write, also where others keep the processors busy.
	if d := mkfs(s, 10); d.Outcome != result.SubjectFailed || !d.Hangs || !strings.Contains(d.Reason, "mkfs.ext4 (process ") {
		t.Errorf("%+v", d)
	}
	if err := ends(s); err == nil || !strings.Contains(err.Error(), "the agent did not end within 1s: mkfs.ext4 (process ") ||
		!strings.Contains(err.Error(), ") cannot be killed: it is in uninterruptible sleep") {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	other, err := m.Start(soon, machine.Spec{Storage: "loop:16M", Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if d := mkfs(other, 600); d.Outcome != result.Done {
		t.Errorf("%+v", d)
	}
	if err := ends(other); err != nil {
		t.Error(err)
	}
	f.Thaw()
	wait.Until(t, "all is gone", func() bool { return len(commandtest.Processes(agent)) == 0 })
}
