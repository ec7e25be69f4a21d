package qemu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

func TestMain(m *testing.M) {
	if work := os.Getenv("QEMU_TEST_WORK"); work != "" {
		leaveAGuestBehind(work)
	}
	os.Exit(m.Run())
}

// theLab returns a machine with these options, whose guests may boot slowly.
func theLab(t *testing.T, o Options) *Machine {
	t.Helper()
	o.Agent, o.Handshake = labtest.Guest(t, lab.Native()), wait.Patience
	return New(o)
}

func begin(t *testing.T, m *Machine, spec machine.Spec) machine.Session {
	t.Helper()
	spec.Work = t.TempDir()
	s, err := m.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var short = scenario.Scenario{
	{Work: "mkfs", Phase: "mkfs"},
	{Work: "mount", Phase: "mount"},
	{Work: "tree-copy", Phase: "write", Data: "tree"},
	{Work: "remount"},
	{Work: "tree-read", Phase: "read", Data: "tree"},
	{Work: "unmount", Phase: "unmount"},
	{Work: "check", Phase: "check"},
}

func TestContract(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	machinetest.Suite(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return m, machine.Spec{Storage: "disk:256M", Work: t.TempDir()}
	})
}

func TestConditions(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:64M"})
	for _, name := range []string{"emulated", "accelerator", "QEMU", "guest memory", "lab image", "kernel"} {
		if !machinetest.HasCondition(s.Facts().Conditions, name) {
			t.Errorf("facts without %q: %v", name, s.Facts().Conditions)
		}
	}
	for _, name := range []string{"lab storage", "limits", "flushes"} {
		if !machinetest.HasCondition(s.Ready().Conditions, name) {
			t.Errorf("storage without %q: %v", name, s.Ready().Conditions)
		}
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sd:64M", Data: machinetest.Data(t)})
	if !machinetest.HasCondition(s.Ready().Conditions, "card cid") {
		t.Errorf("no card registers: %v", s.Ready().Conditions)
	}
	for _, candidate := range []string{"ext4", "vfat"} {
		d, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate(candidate), Scenario: short, StepLimit: wait.Patience.Seconds()}, machine.Events{})
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		if d.Outcome != result.Done {
			t.Errorf("%s ended %s in %s: %s", candidate, d.Outcome, d.Phase, d.Reason)
		}
	}
}

// A card of a realistic size, with a study's whole scenario: emptying it alone takes seconds, since
// QEMU erases cards block by block.
func TestCardWithAStudy(t *testing.T) {
	t.Parallel()
	st := study.Bootlin2023()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sd:256M", Data: machinetest.TinyData(t)})
	c, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	machinetest.CheckTrial(t, c, machinetest.CarryOut(t, s, "ext4", st.Scenario(false, st.Scales["quick"])))
}

// Every way in which a guest can fail ends its trial as a failure of the lab,
// with the console's last lines, and a fresh guest works.
func TestGuestFaults(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	for _, c := range []struct {
		fault, console, reason string
	}{
		{"panic@figures", "Kernel panic", "Kernel panic"},
		{"die@figures", "Attempted to kill init", "Kernel panic"},
		{"off@figures", "the guest is up", "powered off"},
		{"garbage@figures", "the guest is up", "nonsense"},
		{"hang@figures", "the guest is up", "said nothing"},
		{"kill", "the guest is up", "killed"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			o := Options{Append: []string{"whichfs.fault=" + c.fault}}
			kill := c.fault == "kill"
			if kill {
				o.Append = []string{"whichfs.fault=hang@figures"}
			}
			if strings.HasPrefix(c.fault, "hang") {
				o.Step = 2 * time.Second
			}
			s := begin(t, theLab(t, o), machine.Spec{Storage: "disk:64M", Data: data})
			_, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short}, machine.Events{Phase: func(string) {
				if kill {
					_ = unix.Kill(s.(*Session).guest.process.Pid(), unix.SIGKILL)
				}
			}})
			machinetest.LabFailure(t, err, c.reason, c.console)
			_ = s.Close()
			select {
			case <-s.(*Session).guest.process.Done():
			default:
				t.Error("QEMU is still there")
			}
		})
	}
}

// The smallest permitted guest makes and mounts every filesystem. The numbers, of those that hold most,
// are those of Linux 6.1; the virtual lab tries all.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:512M,bps=1G,iops=100000", Memory: labguest.LeastMemory})
	if got := s.Facts().Memory; got > labguest.LeastMemory || got < labguest.LeastMemory/2 {
		t.Errorf("the guest has %d bytes of memory", got)
	}
	plan := scenario.Scenario{{Work: "module-load"}, {Work: "mkfs"}, {Work: "mount"}, {Work: "unmount"}}
	counted := slices.Concat(scenario.Scenario{{Work: "threads"}}, plan[:3], scenario.Scenario{{Work: "threads", Phase: "threads"}}, plan[3:])
	known := map[string]struct{ threads, held float64 }{"btrfs": {17, 6 << 20}, "xfs": {10, 4 << 20}}
	for _, fs := range filesystem.All {
		if fs.Raw || fs.ReadOnly || fs.NotMainline != "" {
			continue
		}
		want, ok := known[fs.Name]
		steps := plan
		if ok {
			steps = counted
		}
		got := machinetest.CarryOut(t, s, fs.Name, steps)
		f := got.Figures["threads"]
		if n, m := f[result.KernelThreads], f[result.MemHeld]; got.Done.Outcome != result.Done || n.Value != want.threads || m.Value < want.held || m.Value > 16<<20 {
			t.Errorf("%s: %+v, threads %+v, memory held %+v", fs.Name, got.Done, n, m)
		}
	}
}

func TestGuestThatCannotSetUp(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{Append: []string{"whichfs.fault=nonsense"}})
	_, err := m.Start(t.Context(), machine.Spec{Storage: "disk:16M", Work: t.TempDir()})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(strings.Join(e.Console, "\n"), "cannot set up the guest: whichfs.fault=nonsense") {
		t.Error(machinetest.Explain(err))
	}
}

func TestGuestIsInterrupted(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{Append: []string{"whichfs.fault=hang@figures"}}), machine.Spec{Storage: "disk:64M"})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Trial(ctx, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short[:2]}, machine.Events{Phase: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// leaveAGuestBehind starts a guest, prints its number and waits to be killed.
func leaveAGuestBehind(work string) {
	m := New(Options{Agent: os.Getenv("QEMU_TEST_AGENT")})
	s, err := m.Start(context.Background(), machine.Spec{Storage: "disk:64M", Work: work})
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(strconv.Itoa(s.(*Session).guest.process.Pid()) + "\n")
	select {}
}

func TestKilledHostLeavesNothing(t *testing.T) {
	t.Parallel()
	agent := labtest.Guest(t, lab.Native())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	said, out := io.Pipe()
	p, err := command.Start(command.Options{Stdout: out, Env: []string{"QEMU_TEST_WORK=" + work, "QEMU_TEST_AGENT=" + agent}}, self)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		_ = p.Kill()
		t.Fatal(line)
	}
	if err := unix.Kill(p.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	for {
		// A dead process that has not been reaped yet is gone, too.
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if left, _ := os.ReadDir(work); len(left) > 0 {
		t.Errorf("left in the work directory: %v", left)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	stdin, keys := io.Pipe()
	var screen watcher
	screen.when("# ", func() { _, _ = io.WriteString(keys, "echo $((6*7))guests; cat /sys/block/vdb/size; exit\n") })
	if err := m.Shell(t.Context(), stdin, &screen, machine.Spec{Storage: "disk:1M", Work: t.TempDir()}); err != nil {
		t.Error(err)
	}
	if text := screen.text(); !strings.Contains(text, "42guests") || !strings.Contains(text, "2048") || !strings.Contains(text, "/dev/vdb") {
		t.Errorf("screen:\n%s", text)
	}
	// A script needs no exit at its end, and its first line is not lost.
	var out bytes.Buffer
	script := strings.NewReader("echo $((7*7))first\necho $((8*8))last\n")
	if err := m.Shell(t.Context(), script, &out, machine.Spec{Storage: "disk:1M", Work: t.TempDir()}); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.Contains(text, "49first") || !strings.Contains(text, "64last") {
		t.Errorf("screen of a script:\n%s", text)
	}
}

// watcher collects the output and acts once when it sees a text.
type watcher struct {
	mu   sync.Mutex
	b    strings.Builder
	mark string
	act  func()
}

func (w *watcher) when(mark string, act func()) { w.mark, w.act = mark, act }

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	if w.act != nil && strings.Contains(w.b.String(), w.mark) {
		go w.act()
		w.act = nil
	}
	return len(p), nil
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
