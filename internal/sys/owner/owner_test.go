package owner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// deadName returns a name of a process that has ended.
func deadName(t *testing.T, kind string) string {
	t.Helper()
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	// Our own number, used by an earlier process.
	return fmt.Sprintf("whichfs-%s-%d-%d-%d-%d", kind, me.PID, me.Start-1, me.Space, made.Add(1))
}

func TestSelf(t *testing.T) {
	me, err := Self()
	if err != nil || me.PID != os.Getpid() || me.Start == 0 || me.Space == 0 {
		t.Fatalf("%+v, %v", me, err)
	}
	if me.Dead("/proc") {
		t.Error("this process counts as dead")
	}
	for name, other := range map[string]Owner{
		"earlier process with our number": {me.PID, me.Start - 1, me.Space}, "process that never existed": {1 << 30, me.Start, me.Space},
	} {
		if !other.Dead("/proc") {
			t.Errorf("the process %s is alive", name)
		}
	}
	if (Owner{1 << 30, 1, me.Space + 1}).Dead("/proc") {
		t.Error("a process in another namespace counts as known")
	}
}

// A killed process counts as dead before and after its parent notices.
func TestKilled(t *testing.T) {
	p, err := command.Start(command.Options{}, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	process, err := read("/proc", p.Pid())
	me, _ := Self()
	o := Owner{p.Pid(), process.Started, me.Space}
	if err != nil || o.Dead("/proc") {
		t.Errorf("it lives: %v", err)
	}
	p.Kill()
	if !o.Dead("/proc") {
		t.Error("a killed process counts as alive")
	}
}

const helperVariable = "WHICHFS_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	name, err := Name("test")
	fmt.Println(name, os.Getpid(), err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// A process that is number 1 in its own namespace but sees the host's /proc
// uses the host's number in its names.
func TestNamespace(t *testing.T) {
	needs.Devices(t)
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	p, err := command.Start(command.Options{Stdin: in, Stdout: out, Env: []string{helperVariable + "=1"}}, "unshare", "--pid", "--fork", "--kill-child", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	_ = out.Close()
	line, err := bufio.NewReader(said).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 || words[1] != "1" {
		t.Fatalf("%q, %v", line, err)
	}
	me, _ := Self()
	_, o, ok := Of(words[0])
	if process, err := read("/proc", o.PID); !ok || err != nil || process.Started != o.Start || o.Space != me.Space || o.PID == 1 || o.Dead("/proc") {
		t.Errorf("%s: %+v started at %d, %v; we are %+v", words[0], o, process.Started, err, me)
	}
	p.Kill()
	wait.Until(t, "it is dead after its end", func() bool { return o.Dead("/proc") })
}

// fakeProc is a /proc of one process.
func fakeProc(t *testing.T, pid int, stat string, threads int) string {
	t.Helper()
	proc := t.TempDir()
	dir := filepath.Join(proc, strconv.Itoa(pid))
	for n := range threads {
		if err := os.MkdirAll(filepath.Join(dir, "task", strconv.Itoa(pid+n)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := os.MkdirAll(filepath.Join(proc, "1"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600)
	}
	if err == nil {
		err = os.Symlink(strconv.Itoa(pid), filepath.Join(proc, "self"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return proc
}

func TestStates(t *testing.T) {
	const rest = " 1 4242 4242 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 7 0 8230417 1 1"
	for stat, dead := range map[string][2]bool{ // with one thread, with two
		"4242 (whichfs-agent) S" + rest:  {false, false},
		"4242 (odd) Z (name) D" + rest:   {false, false},
		"4242 (whichfs-agent) Z" + rest:  {true, false},
		"4242 (whichfs-agent) X" + rest:  {true, false},
		"4242 (whichfs-agent) Z 1 2 3\n": {false, false}, // the state alone does not say
	} {
		for i, want := range dead {
			proc := fakeProc(t, 4242, stat, i+1)
			here, err := space(proc)
			if err != nil {
				t.Fatal(err)
			}
			if got := (Owner{4242, 8230417, here}).Dead(proc); got != want {
				t.Errorf("%q with %d threads: dead %v", stat, i+1, got)
			}
			if o, err := self(proc); strings.HasSuffix(stat, rest) && o != (Owner{4242, 8230417, here}) {
				t.Errorf("%+v, %v", o, err)
			}
		}
	}
}

// Where others' processes are hidden, no process is known to be dead.
func TestHidden(t *testing.T) {
	proc := t.TempDir()
	here, err := space(proc)
	if err != nil {
		t.Fatal(err)
	}
	o := Owner{4242, 1, here}
	if o.Dead(proc) {
		t.Error("a hidden process counts as dead")
	}
	if err := os.Mkdir(filepath.Join(proc, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !o.Dead(proc) {
		t.Error("a process that does not exist counts as alive")
	}
}

func TestName(t *testing.T) {
	me, _ := Self()
	one, err := Name("disk")
	other, _ := Name("disk")
	if kind, o, ok := Of(one); err != nil || !ok || kind != "disk" || o != me || one == other {
		t.Errorf("%s, %s: %s %+v %v %v", one, other, kind, o, ok, err)
	}
	const tenYears = 10 * 365 * 24 * 3600 * 100 // clock ticks
	longest := fmt.Sprintf("whichfs-%s-%d-%d-%d-%d", "partition", 1<<22, tenYears, uint32(1<<32-1), 99999)
	if _, _, ok := Of(longest); !ok || len(longest) > 63 {
		t.Errorf("%s has %d bytes", longest, len(longest))
	}
	for _, foreign := range []string{"", "whichfs", "whichfs-12-3", "whichfs-agent-1234", one + "x", "x" + one, one + "-1", "whichfs-disk-99999999999999999999-1-1-1", strings.ToUpper(one)} {
		if _, _, ok := Of(foreign); ok {
			t.Errorf("%q passes for ours", foreign)
		}
	}
}
