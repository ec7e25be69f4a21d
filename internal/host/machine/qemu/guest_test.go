package qemu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
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

// A guest starts the user's programs in place of its image's.
func TestGivenPrograms(t *testing.T) {
	t.Parallel()
	machinetest.GivenPrograms(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return theLab(t, Options{}), machine.Spec{Storage: "disk:256M", Work: t.TempDir()}
	})
}

// A guest with a 32-bit ARM processor and the least memory that may be asked for has a session like any
// other, in which it also boots to the login prompt of its own BusyBox.
func TestSessionForeign(t *testing.T) {
	t.Parallel()
	a, err := lab.ArchNamed("armhf")
	must.Do(t, err)
	m := New(Options{Agent: labtest.Guest(t, a), Handshake: wait.Patience})
	machinetest.Session(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return m, machine.Spec{Storage: "disk:256M", Work: t.TempDir(), Arch: a.Name, Memory: leastForeign + 4<<20} // and the data
	})
}

// leastForeign is the least memory of armhf.
const leastForeign = 96 << 20

// A guest states its conditions; if its agent hangs, a trial can be interrupted.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{Append: []string{"whichfs.fault=hang@figures"}}), machine.Spec{Storage: "disk:64M"})
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
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Trial(ctx, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short[:2]}, machine.Events{Phase: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A card, which takes seconds to empty: QEMU erases cards block by block. Trials are carried out on it,
// and a guest boots from what the last one left.
func TestCard(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sd:64M", Data: machinetest.TinyData(t)})
	if !machinetest.HasCondition(s.Ready().Conditions, "card cid") {
		t.Errorf("no card registers: %v", s.Ready().Conditions)
	}
	machinetest.CheckTrial(t, parsed.Candidate("ext4"), machinetest.CarryOut(t, s, "ext4", machinetest.Scenario()))
	root := machinetest.RootScenario()[1:] // emptied once is enough
	if d := machinetest.CarryOut(t, s, "vfat", root).Done; d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	if got, _, d := boot(t, s, machine.Boot{Candidate: parsed.Candidate("vfat -o noatime")}); d.Outcome != result.Done || got["boot 6.1"][result.Wall].Value <= 0 {
		t.Errorf("%+v, %v", d, got)
	}
}

// The end of a guest ends its trial as a failure of the lab, with the console's last lines. The virtual
// lab has an agent's faults.
func TestGuestFaults(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	for _, c := range []struct {
		fault, console, reason string
	}{
		{"panic@figures", "Kernel panic", "Kernel panic"},
		{"off@figures", "the guest is up", "powered off"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			s := begin(t, theLab(t, Options{Append: []string{"whichfs.fault=" + c.fault}}), machine.Spec{Storage: "disk:64M", Data: data})
			_, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short}, machine.Events{})
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

// A guest that its emulator ends is started again; here the kernel prints what it would print then, as
// its command line, and has no first program.
func TestStaleCodeStartsAgain(t *testing.T) {
	t.Parallel()
	var said []string
	m := theLab(t, Options{Append: []string{"loglevel=6", `"kept=int3: 0000"`, "rdinit=/none"}, Progress: func(text string) { said = append(said, text) }})
	_, err := m.Start(t.Context(), machine.Spec{Storage: "disk:64M"})
	machinetest.LabFailure(t, err, "Unable to mount root fs", "int3: 0000")
	if len(said) != mostStarts-1 {
		t.Errorf("%q", said)
	}
}

// The smallest permitted guest makes and mounts the filesystems that hold most; the virtual lab tries
// all. The numbers are those of Linux 6.1.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:512M,bps=1G,iops=100000", Memory: labguest.LeastMemory})
	if got := s.Facts().Memory; got > labguest.LeastMemory || got < labguest.LeastMemory/2 {
		t.Errorf("the guest has %d bytes of memory", got)
	}
	plan := scenario.Scenario{{Work: "threads"}, {Work: "module-load"}, {Work: "mkfs"}, {Work: "mount"}, {Work: "threads", Phase: "threads"}, {Work: "unmount"}}
	for candidate, want := range map[string]struct{ threads, held float64 }{"btrfs": {17, 6 << 20}, "xfs": {10, 4 << 20}} {
		got := machinetest.CarryOut(t, s, candidate, plan)
		f := got.Figures["threads"]
		if n, m := f[result.KernelThreads], f[result.MemHeld]; got.Done.Outcome != result.Done || n.Value != want.threads || m.Value < want.held || m.Value > 16<<20 {
			t.Errorf("%s: %+v, threads %+v, memory held %+v", candidate, got.Done, n, m)
		}
	}
}

// A guest with a 32-bit ARM processor and the least memory that may be asked for makes, mounts and checks
// all but Btrfs.
func TestLeastMemoryForeign(t *testing.T) {
	t.Parallel()
	a, err := lab.ArchNamed("armhf")
	must.Do(t, err)
	s := begin(t, New(Options{Agent: labtest.Guest(t, a), Handshake: wait.Patience}), machine.Spec{Storage: "disk:512M,bps=1G,iops=100000", Arch: a.Name, Memory: leastForeign})
	got := s.Facts().Memory
	t.Logf("of 96 MiB the kernel leaves %.1f", float64(got)/(1<<20))
	if got > leastForeign || got < leastForeign/4 {
		t.Errorf("the guest has %d bytes of memory", got)
	}
	plan := scenario.Scenario{{Work: "discard"}, {Work: "threads"}, {Work: "module-load"}, {Work: "mkfs"}, {Work: "mount"}, {Work: "threads", Phase: "threads"}, {Work: "unmount"}, {Work: "check"}}
	for _, candidate := range []string{"xfs", "f2fs", "nilfs2", "ext4", "jfs", "reiserfs"} {
		if d := machinetest.CarryOut(t, s, candidate, plan).Done; d.Outcome != result.Done {
			t.Errorf("%s: %+v", candidate, d)
		}
	}
}

// What a guest writes to slow storage does not fill the memory that hold-memory leaves: ext4 then finds no page
// to go on with.
func TestHeldMemory(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:pandora-sdxc-64g,640M", Memory: 192 << 20})
	plan := scenario.Scenario{
		{Work: "module-load"}, {Work: "mkfs"}, {Work: "mount"}, {Work: "hold-memory", Size: 32 << 20},
		{Work: "file-write", Phase: "write", Dir: "held", Size: 64 << 20, Block: 8 << 10}, {Work: "release-memory"}, {Work: "unmount"},
	}
	if d := machinetest.CarryOut(t, s, "ext4", plan).Done; d.Outcome != result.Done {
		t.Errorf("%+v", d)
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
	// A script needs no exit at its end, and its first line is not lost. The guest has no network but its
	// own loopback. The kernel may have no driver, so the PCI bus is asked as well: network controllers are
	// of class 2 (PCI Code and ID Assignment Specification).
	var out bytes.Buffer
	script := strings.NewReader("echo $((7*7))first\necho net: $(ls /sys/class/net) .\necho pci: $(cat /sys/bus/pci/devices/*/class) .\n" +
		"echo clock: $(grep -c tsc_early_khz=[0-9][0-9][0-9][0-9] /proc/cmdline) $(dmesg | grep -c 'Unknown kernel.*tsc_early_khz') .\n" +
		"echo $((8*8))last\n")
	if err := m.Shell(t.Context(), script, &out, machine.Spec{Storage: "disk:1M", Work: t.TempDir()}); err != nil {
		t.Error(err)
	}
	text := out.String()
	if !strings.Contains(text, "49first") || !strings.Contains(text, "64last") {
		t.Errorf("screen of a script:\n%s", text)
	}
	if !strings.Contains(text, "net: lo .") || !strings.Contains(text, "pci: 0x060000 ") || strings.Contains(text, " 0x02") {
		t.Errorf("there is a network:\n%s", text)
	}
	// Its kernel was given the frequency of this host's time-stamp counter, and took it.
	if kvm, _ := KVM(t.Context()); runtime.GOARCH == "amd64" && !kvm && !strings.Contains(text, "clock: 1 0 .") {
		t.Errorf("the clock's rate is not the host's:\n%s", text)
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
