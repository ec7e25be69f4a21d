package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// The test program plays the agent itself, in the way selected by this variable.
const agentVariable = "WHICHFS_TEST_AGENT"

func TestMain(m *testing.M) {
	if agent := os.Getenv(hostVariable); agent != "" {
		fmt.Println(host(agent, os.Getenv(workVariable)))
		return
	}
	how := os.Getenv(agentVariable)
	if how == "" {
		os.Exit(m.Run())
	}
	if err := play(how); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(3)
	}
}

// play is a small agent: real storage, one made-up figure for each phase.
func play(how string) error {
	if how == "broken" {
		return errors.New("no such luck")
	}
	if os.Geteuid() == 0 && how != "broken" {
		if err := storage.PrivateMounts(); err != nil {
			return err
		}
	}
	stream := wire.New(os.Stdin, os.Stdout, nil)
	var claim *storage.Claim
	for {
		m, err := stream.Receive()
		if err == io.EOF && how == "stubborn" {
			time.Sleep(time.Hour)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch m.Kind {
		case wire.KindHello:
			fmt.Println("a line that is not a message")
			err = stream.Send(wire.KindFacts, m.ID, wire.Facts{Version: "test", Kernel: "6.1", Arch: "amd64", Processors: 1, Memory: 1 << 30})
		case wire.KindPrepare:
			var p wire.Prepare
			if err := m.Decode(&p); err != nil {
				return err
			}
			spec, err := media.Parse(p.Storage)
			if err == nil {
				claim, err = storage.Open(context.Background(), spec, p.Destroy, storage.Options{Work: p.Work})
			}
			var refusal *storage.Refusal
			if errors.As(err, &refusal) {
				err = stream.Send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused, Reason: err.Error(), Hint: refusal.Type})
			} else if err == nil {
				err = stream.Send(wire.KindReady, m.ID, wire.Ready{Identity: claim.Path(), Size: claim.Size()})
			}
			if err != nil {
				return err
			}
		case wire.KindTrial:
			if how == "dying" {
				fmt.Fprintln(os.Stderr, "last words")
				if err := stream.Send(wire.KindPhase, m.ID, wire.PhaseBegun{Phase: "mkfs"}); err != nil {
					return err
				}
				select {} // the first process of a namespace cannot kill itself
			}
			figure := result.Measurement{Phase: "mkfs", Metric: result.Wall, Unit: "s", Value: 1e-6}
			err = errors.Join(
				stream.Send(wire.KindFigures, m.ID, wire.Figures{Phase: "mkfs", Measurements: []result.Measurement{figure}}),
				stream.Send(wire.KindDone, m.ID, wire.Done{Outcome: result.Done}))
		case wire.KindBye:
			if how == "stubborn" {
				continue
			}
			return errors.Join(claim.Close(), stream.Send(wire.KindBye, m.ID, nil))
		}
		if err != nil {
			return err
		}
	}
}

func playing(how string) *Machine {
	m := New()
	m.Agent, m.Arguments, m.Environment = os.Args[0], []string{}, []string{agentVariable + "=" + how}
	return m
}

var trial = wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}}

// start starts a session on a loop file.
func start(t *testing.T, how string) (machine.Session, *session) {
	t.Helper()
	needs.Devices(t)
	s, err := playing(how).Start(context.Background(), machine.Spec{Storage: "loop:16M", Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, s.(*session)
}

func wants(t *testing.T, err error, outcome result.Outcome, words ...string) *result.Failure {
	t.Helper()
	var e *result.Failure
	if !errors.As(err, &e) {
		t.Fatalf("%v is not an error of a machine", err)
	}
	text := e.Error() + " " + e.Hint + " " + strings.Join(e.Console, "\n")
	for _, w := range words {
		if e.Outcome != outcome || !strings.Contains(text, w) {
			t.Errorf("%s %q does not say %q", e.Outcome, text, w)
		}
	}
	return e
}

func TestTrial(t *testing.T) {
	s, inner := start(t, "well")
	if s.Facts().Version != "test" || s.Ready().Size != 16<<20 {
		t.Errorf("%+v %+v", s.Facts(), s.Ready())
	}
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", inner.process.Pid()))
	if err != nil || theirs == ours {
		t.Errorf("the agent's mounts are ours: %s %v", theirs, err)
	}
	for range 3 {
		figures := 0
		d, err := s.Trial(context.Background(), trial, machine.Events{Figures: func(wire.Figures) { figures++ }})
		if err != nil || d.Outcome != result.Done || figures != 1 {
			t.Fatalf("%+v %d %v", d, figures, err)
		}
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	<-inner.process.Done()
}

func TestAgentDies(t *testing.T) {
	s, inner := start(t, "dying")
	device := s.Ready().Identity
	_, err := s.Trial(context.Background(), trial, machine.Events{Phase: func(string) { _ = unix.Kill(inner.process.Pid(), unix.SIGKILL) }})
	wants(t, err, result.LabFailed, "died", "killed", "last words", "a line that is not a message")
	_ = s.Close()
	if _, err := os.Stat("/sys/class/block/" + strings.TrimPrefix(device, "/dev/")); err != nil {
		t.Fatal(err)
	}
}

func TestAgentDoesNotEnd(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 10 * time.Millisecond
	s, inner := start(t, "stubborn")
	// Interrupted in a request, the session sends no goodbye.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Trial(ctx, trial, machine.Events{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Error(err)
	}
	<-inner.process.Done()
}

func TestAgentDoesNotStart(t *testing.T) {
	m := playing("broken")
	m.euid = func() int { return 0 }
	_, err := m.Start(context.Background(), machine.Spec{Storage: "loop:16M"})
	wants(t, err, result.LabFailed, "no such luck")
	m.Agent = "/nonexistent/agent"
	_, err = m.Start(context.Background(), machine.Spec{Storage: "loop:16M"})
	wants(t, err, result.LabFailed, "cannot start the agent /nonexistent/agent")
	t.Setenv(machine.AgentVariable, "/nonexistent/agent")
	m.Agent = ""
	_, err = m.Start(context.Background(), machine.Spec{Storage: "loop:16M"})
	wants(t, err, result.Refused, machine.AgentVariable)
}

func TestRefused(t *testing.T) {
	m := playing("well")
	m.euid = func() int { return 1000 }
	_, err := m.Start(context.Background(), machine.Spec{Storage: "loop:16M"})
	wants(t, err, result.Refused, "needs root", "sudo", "--machine lab")
	for text, want := range map[string]string{"disk:1G": "only in the lab", "sd:1G": "loop:1G", "nand:128M": "only in the lab", "": "no storage given"} {
		_, err = m.Start(context.Background(), machine.Spec{Storage: text})
		wants(t, err, result.Refused, want)
	}
	_, err = m.Start(context.Background(), machine.Spec{Storage: "loop:16M", Memory: 128 << 20})
	wants(t, err, result.Refused, "machine local cannot be given 128 MiB of memory", "--machine lab")
	_, err = m.Start(context.Background(), machine.Spec{Storage: "loop:16M", CPUs: 2})
	wants(t, err, result.Refused, "machine local cannot be given 2 processors", "--machine lab")
	m.euid = func() int { return 0 }
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err = m.Start(ctx, machine.Spec{Storage: "loop:16M"}); !errors.Is(err, stop) {
		t.Error(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	_, err = m.Start(context.Background(), machine.Spec{Storage: "/dev/null"})
	wants(t, err, result.Refused, "not a block device")
	if m.Name() != "local" || !machine.Lasting(m).Lasting() {
		t.Error(m.Name())
	}
}

// A kernel that others use is risked only with the user's consent.
func TestRisk(t *testing.T) {
	m := &Machine{euid: func() int { return 0 }}
	err := m.Check(machine.Spec{Storage: "loop:64M", Damages: true})
	wants(t, err, result.Refused, "broken filesystems")
	for _, spec := range []machine.Spec{{Storage: "loop:64M", Damages: true, RiskKernel: true}, {Storage: "loop:64M"}} {
		if err := m.Check(spec); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}
