package usermode

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	kernels "whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

func TestMain(m *testing.M) {
	if work := os.Getenv("USERMODE_TEST_WORK"); work != "" {
		leaveAGuestBehind(work)
	}
	os.Exit(m.Run())
}

func theLab(t *testing.T, o Options) *Machine {
	t.Helper()
	o.Agent, o.Handshake = labtest.Virtual(t), wait.Patience
	return New(o)
}

func begin(t *testing.T, m *Machine, spec machine.Spec) machine.Session {
	t.Helper()
	spec.Work, spec.Virtual = t.TempDir(), true
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
	{Work: "tree-read", Phase: "read"},
	{Work: "unmount", Phase: "unmount"},
	{Work: "check", Phase: "check"},
}

func TestContract(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	machinetest.Suite(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return m, machine.Spec{Storage: "sim:sd-basic,256M", Work: t.TempDir(), Virtual: true, Seed: 1}
	})
}

// A guest starts the user's programs in place of its image's.
func TestGivenPrograms(t *testing.T) {
	t.Parallel()
	machinetest.GivenPrograms(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,256M", Work: t.TempDir(), Virtual: true, Seed: 1}
	})
}

// trial carries a trial out and returns its figures, in order.
func trial(t *testing.T, s machine.Session, candidate string, work scenario.Scenario) result.Trial {
	t.Helper()
	c, err := filesystem.Parse(candidate)
	if err != nil {
		t.Fatal(err)
	}
	out := result.Trial{Round: 1, Candidate: candidate}
	d, err := s.Trial(t.Context(), wire.Trial{Candidate: c, Scenario: work, StepLimit: 3600}, machine.Events{Figures: func(f wire.Figures) {
		out.Measurements = append(out.Measurements, f.Measurements...)
	}})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	if d.Outcome != result.Done {
		t.Fatalf("%s ended %s in %s: %s", candidate, d.Outcome, d.Phase, d.Reason)
	}
	out.Outcome = d.Outcome
	return out
}

// difference is the first figure in which two trials differ.
func difference(a, b result.Trial) string {
	for i, m := range a.Measurements {
		if i >= len(b.Measurements) {
			return fmt.Sprintf("%s %s is missing", m.Phase, m.Metric)
		}
		if m != b.Measurements[i] {
			return fmt.Sprintf("%+v\n%+v", m, b.Measurements[i])
		}
	}
	return ""
}

// busy is other work on this host until rest is called: bursts on every processor, longer than what a guest
// does between two of its stops, with twice as much rest, so that they begin and end in the middle of
// everything.
func busy(t *testing.T) (rest func()) {
	t.Helper()
	ctx, rest := context.WithCancel(t.Context())
	for range runtime.NumCPU() {
		go func() {
			for ctx.Err() == nil {
				burst := rand.N(3 * time.Millisecond)
				for begun := time.Now(); time.Since(begun) < burst; {
				}
				time.Sleep(2 * burst)
			}
		}()
	}
	return rest
}

// Two guests with the same seed measure the same to the last bit, one of them beside other work on
// this host; another seed gives other figures.
func TestRepeats(t *testing.T) {
	m := theLab(t, Options{})
	data := machinetest.Data(t)
	for candidate, work := range map[string]scenario.Scenario{
		"ext4": short, "btrfs": short, "f2fs": short, "jffs2": machinetest.OnJffs2, "ubifs": machinetest.OnUBI,
	} {
		storage := "sim:sd-basic,256M"
		if parsed.Candidate(candidate).Filesystem().Raw {
			storage = "nand:16M"
		}
		run := func(seed uint64) result.Trial {
			s := begin(t, m, machine.Spec{Storage: storage, Data: data, Seed: seed})
			defer s.Close()
			return trial(t, s, candidate, work)
		}
		first := run(7)
		rest := busy(t)
		second := run(7)
		rest()
		if a, b := result.Digest([]result.Trial{first}), result.Digest([]result.Trial{second}); a != b {
			t.Errorf("%s: %s, then %s:\n%s", candidate, a, b, difference(first, second))
		}
		if difference(first, run(8)) == "" {
			t.Errorf("%s: another seed changes nothing", candidate)
		}
	}
}

// What a program in the guest measures is the model's own arithmetic: the same probe, run on the model
// directly, finds the same rates, but for the times that the guest's kernel reads its clock.
func TestTimeIsTheModels(t *testing.T) {
	t.Parallel()
	order := wire.Probe{Effort: "quick", Seed: 1, Only: []string{"queue", "flush"}}
	model, err := models.Resolve("sd-basic")
	if err == nil {
		model, err = models.Sized(model, 256<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	device, err := flash.New(model)
	if err != nil {
		t.Fatal(err)
	}
	want, err := probe.Run(t.Context(), virtual.Open(device, model.Trim.Supported, virtual.Noise{}), probe.Options{Effort: order.Effort, Seed: order.Seed, Only: order.Only})
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,256M", Seed: 1})
	got, err := s.(machine.Prober).Probe(t.Context(), order, nil)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	points := 0
	for i, c := range want.Curves {
		for j, l := range c.Lines {
			for k, p := range l.Points {
				g := got.Curves[i].Lines[j].Points[k]
				if ratio := g.Y / p.Y; ratio < 0.99 || ratio > 1.001 {
					t.Errorf("%s at %v: %v in the guest, %v on the model", l.Name, p.X, g.Y, p.Y)
				}
				points++
			}
		}
	}
	if points < 5 {
		t.Errorf("%d points", points)
	}
}

// The known run has the known figures, and programs keep their vector registers.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	if err := m.SelfTest(t.Context(), kernels.Choice{}); err != nil {
		t.Error(err)
	}
	got, _, err := m.knownRun(t.Context(), kernels.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if *golden.Update {
		golden.Check(t, "../known.txt", got)
	}
	again, _, err := m.knownRun(t.Context(), kernels.Choice{Series: "6.1"}) // the same kernel by its name
	if err != nil {
		t.Fatal(err)
	}
	if again != got {
		t.Errorf("the known run has other figures the second time:\n%s\n%s", got, again)
	}
}

// Every way in which a guest can fail ends its trial as a failure of the lab, with the console's last
// lines, and nothing of the guest is left.
func TestGuestFaults(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	for _, c := range []struct{ fault, console, reason string }{
		{"die@figures", "Attempted to kill init", "Kernel panic"},
		{"off@figures", "the guest is up", "powered off"},
		{"garbage@figures", "the guest is up", "nonsense"},
		{"hang@figures", "the guest is up", "said nothing"},
		{"kill", "the guest is up", "killed"},
		{"kill a program", "Attempted to kill init", "Kernel panic"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			o := Options{Append: []string{"whichfs.fault=" + c.fault}}
			kill := strings.HasPrefix(c.fault, "kill")
			if kill {
				o.Append = []string{"whichfs.fault=hang@figures"}
			}
			if strings.HasPrefix(c.fault, "hang") {
				o.Step = 2 * time.Second
			}
			s := begin(t, theLab(t, o), machine.Spec{Storage: "sim:free,64M", Data: data})
			own := s.(*Session).guest
			family := descendants(t, own.process.Pid())
			_, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short}, machine.Events{Phase: func(string) {
				switch c.fault {
				case "kill":
					_ = unix.Kill(own.process.Pid(), unix.SIGKILL)
				case "kill a program":
					for _, pid := range family {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
				}
			}})
			machinetest.LabFailure(t, err, c.reason, c.console)
			_ = s.Close()
			gone(t, append(family, own.process.Pid()))
			if _, err := os.Stat(own.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", own.dir, err)
			}
		})
	}
}

func TestGuestThatCannotSetUp(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{Append: []string{"whichfs.fault=nonsense"}})
	_, err := m.Start(t.Context(), machine.Spec{Storage: "sim:free,16M", Work: t.TempDir(), Virtual: true})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(strings.Join(e.Console, "\n"), "cannot set up the guest: whichfs.fault=nonsense") {
		t.Error(machinetest.Explain(err))
	}
}

// A thread that waits for another without calling the kernel, so that no time passes, ends.
func TestSpins(t *testing.T) {
	t.Parallel()
	m := New(Options{Agent: labtest.Counting(t), Handshake: wait.Patience, Append: []string{"whichfs.fault=spin@facts"}})
	for _, p := range []*processor.Profile{nil, parse(t, "600MIPS")} {
		s := begin(t, m, machine.Spec{Storage: "sim:free,64M", Processor: p})
		trial(t, s, "ext4", scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}})
	}
}

// descendants are the processes of a guest: those that its kernel runs.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	all, err := processes(pid)
	if err != nil || len(all) == 0 {
		t.Fatalf("the guest's processes: %v, %v", all, err)
	}
	return all
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	wait.Until(t, "the guest's processes end", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			_, state, _ := strings.Cut(string(text), ") ")
			return err == nil && !strings.HasPrefix(state, "Z")
		})
	})
}

// leaveAGuestBehind starts a guest, prints its number and waits to be killed.
func leaveAGuestBehind(work string) {
	m := New(Options{Agent: os.Getenv("USERMODE_TEST_AGENT")})
	s, err := m.Start(context.Background(), machine.Spec{Storage: "sim:free,64M", Work: work, Virtual: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.(*Session).guest.process.Pid())
	select {}
}

// Nothing of a guest survives the whichfs that started it, however that ends: a process of a guest
// that lost its kernel would go on with the host's system calls.
func TestGuestDiesWithUs(t *testing.T) {
	t.Parallel()
	theLab(t, Options{})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "USERMODE_TEST_WORK="+t.TempDir(), "USERMODE_TEST_AGENT="+labtest.Virtual(t))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("it says %q", line)
	}
	family := descendants(t, pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, append(family, pid))
}

// A guest's kernel has none of root's rights.
func TestGuestIsNobody(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:free,64M"})
	pid := s.(*Session).guest.process.Pid()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		words := strings.Fields(value)
		switch {
		case name == "Uid" && slices.Contains(words, "0"):
			t.Errorf("it is root: %s", line)
		case (name == "CapEff" || name == "CapPrm") && strings.Trim(words[0], "0") != "":
			t.Errorf("it has privileges: %s", line)
		}
	}
	if own := s.(*Session).guest.dir; own != "" {
		if left, _ := filepath.Glob(own); len(left) > 0 {
			t.Errorf("the sockets of a guest that is up still have names: %v", left)
		}
	}
}

func TestDiffering(t *testing.T) {
	want := "ext4 mkfs 0.5 s\next4 mount 0.1 s\n"
	for got, other := range map[string]string{
		want: "",
		"ext4 mkfs 0.50002 s\next4 mount 0.09998 s\n": "",
		"ext4 mkfs 0.5001 s\next4 mount 0.1 s\n":      "expected ext4 mkfs 0.5 s, measured ext4 mkfs 0.5001 s",
		"ext4 mkfs 0.5 s\n":                           "expected ext4 mount 0.1 s",
		"ext4 mkfs 0.5 s\nxfs mount 0.1 s\n":          "expected ext4 mount 0.1 s, measured xfs mount 0.1 s",
		"":                                            "expected ext4 mkfs 0.5 s, measured \nexpected ext4 mount 0.1 s",
	} {
		if text := differing(want, got); text != other {
			t.Errorf("%q: %q, want %q", got, text, other)
		}
	}
}

func TestRefuses(t *testing.T) {
	m := New(Options{})
	for storage, want := range map[string]string{
		"disk:1G":          "whose time is modelled",
		"sd:64M":           "whose time is modelled",
		"/dev/sda":         "whose time is modelled",
		"nonsense":         "storage",
		"sim:nosuch":       "",
		"ram:64M,bps=nine": "storage",
	} {
		err := m.Check(machine.Spec{Storage: storage, Virtual: true})
		if want == "" {
			continue // found when the guest starts
		}
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Error(), want) || e.Hint == "" {
			t.Errorf("%s: %v", storage, err)
		}
	}
	for name, spec := range map[string]machine.Spec{
		"arch":         {Storage: "sim:free,64M", Arch: foreign()},
		"instructions": {Storage: "ram:64M", Instructions: true},
		"memory":       {Storage: "ram:512M", Memory: 64 << 20},
		"processors":   {Storage: "ram:64M", CPUs: 2},
	} {
		var e *result.Failure
		if err := m.Check(spec); !errors.As(err, &e) || e.Outcome != result.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run goes on only with its own processor.
func TestProcessorIsACondition(t *testing.T) {
	charged := func(p planned) []result.Condition {
		return slices.DeleteFunc((&host{}).conditions(p), func(c result.Condition) bool { return c.Name != "charged processor" || !c.Matters })
	}
	if got := charged(planned{}); len(got) > 0 {
		t.Errorf("none: %v", got)
	}
	slow, err := processor.Parse("600MIPS")
	must.Do(t, err)
	other := slow
	other.Copying++
	a, b := charged(planned{processor: &slow}), charged(planned{processor: &other})
	if len(a) != 1 || len(b) != 1 || a[0].Value == b[0].Value {
		t.Errorf("%v, %v", a, b)
	}
}

func foreign() string {
	for _, a := range lab.Archs {
		if a.Foreign() {
			return a.Name
		}
	}
	return "none"
}

// Programs in a guest behave as on this host, where the same test runs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	theLab(t, Options{})
	program := labtest.Program(t, "whichfs/internal/target/agent/pid1")
	st, err := os.Stat(program)
	must.Do(t, err)
	m := theLab(t, Options{})
	script := fmt.Sprintf("head -c %d /dev/$(basename $(dirname $(grep -lx data0 /sys/block/*/serial))) > /tmp/t; chmod +x /tmp/t; /tmp/t -test.run TestProgramsBehave", st.Size())
	spec := machine.Spec{Storage: "sim:free,64M", Virtual: true, Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
	if out := machinetest.Script(t, m, spec, script); !strings.Contains(out, "PASS") || strings.Contains(out, "FAIL") {
		t.Error(out)
	}
}

// A guest's programs are isolated by seccomp, or by ptrace where the kernel is told to, and it is of no
// consequence for any figure.
func TestIsolation(t *testing.T) {
	t.Parallel()
	data := machinetest.Data(t)
	agent := labtest.Counting(t)
	for _, p := range []*processor.Profile{nil, parse(t, "600MIPS")} {
		var first result.Trial
		for way, more := range map[string][]string{bySeccomp: nil, byPtrace: {"seccomp=off"}} {
			s := begin(t, New(Options{Agent: agent, Handshake: wait.Patience, Append: more}),
				machine.Spec{Storage: "sim:sd-basic,256M", Data: data, Seed: 7, Processor: p})
			if got, err := s.(*Session).guest.isolation(); err != nil || got != way {
				t.Errorf("%v: %s, %v, want %s", more, got, err, way)
			}
			done := trial(t, s, "btrfs", short)
			if first.Candidate == "" {
				first = done
			}
			if a, b := result.Digest([]result.Trial{first}), result.Digest([]result.Trial{done}); a != b {
				t.Errorf("%s, then %s:\n%s", a, b, difference(first, done))
			}
		}
	}
}
