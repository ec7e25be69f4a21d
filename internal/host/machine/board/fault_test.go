package board_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// The test program plays a host that is killed.
const hostVariable = "WHICHFS_TEST_BOARD"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(hostVariable)); len(words) == 4 {
		fmt.Println(host(words[0], words[1], words[2], words[3]))
		return
	}
	// They mostly wait, and share nothing.
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// host runs a trial that does not end by itself.
func host(name, config, agent, work string) error {
	o := board.Options{Config: config, Agent: agent}
	if at, ok := strings.CutPrefix(config, "-"); ok { // at a serial port
		o = board.Options{Installed: at, Agent: agent, Silence: 18 * time.Second}
	}
	m, err := board.New(name, o)
	if err != nil {
		return err
	}
	s, err := m.Start(context.Background(), machine.Spec{Storage: "loop:64M", Work: work})
	if err != nil {
		return err
	}
	_, err = s.Trial(context.Background(), long, machine.Events{Phase: func(phase string) { fmt.Println(phase) }})
	return err
}

var trial = wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: machinetest.Scenario()}

// long writes until it is ended, and leaves the processors to other tests.
var long = wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: trial.Scenario[:4:4]}

func init() {
	step := trial.Scenario[0]
	step.Work, step.Phase, step.Dir = "fio", "fio", "fio"
	step.Job = "[global]\nioengine=psync\nrw=randwrite\nbs=4k\nsize=2m\ntime_based=1\nruntime=7200\nrate_iops=100\n[job]\nnumjobs=2\n"
	long.Scenario = append(long.Scenario, step)
}

// on makes the machine of a board.
func on(t *testing.T, b *boardtest.Board, progress func(string)) *board.Machine {
	t.Helper()
	m, err := board.New(b.Name, board.Options{Config: b.Config, Agent: labtest.Agent(t, runtime.GOARCH), Progress: progress})
	must.Do(t, err)
	return m
}

func spec(t *testing.T) machine.Spec {
	return machine.Spec{Storage: "loop:64M", Work: t.TempDir(), Data: machinetest.Data(t)}
}

// wants checks that an error is a failure with an outcome that says all the words.
func wants(t *testing.T, err error, outcome result.Outcome, words ...string) {
	t.Helper()
	f := result.FailureOf(err)
	if f == nil || f.Outcome != outcome {
		t.Fatalf("%v is no failure of outcome %s", err, outcome)
	}
	for _, word := range words {
		if text := err.Error() + "\n" + f.Hint; !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}

// leaver is a board, by whatever way it is reached.
type leaver interface{ Left() []string }

// nothingLeft waits until the board is as it was, but for an agent that is kept for a while.
func nothingLeft(t *testing.T, b leaver) {
	t.Helper()
	wait.While(t, func() string { return strings.Join(b.Left(), " ") })
}

// begin starts a session that must start.
func begin(t *testing.T, m *board.Machine) machine.Session {
	t.Helper()
	s, err := m.Start(t.Context(), spec(t))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// start is the error of a session that cannot start.
func start(t *testing.T, b leaver, m *board.Machine) error {
	t.Helper()
	s, err := m.Start(t.Context(), spec(t))
	if err == nil {
		_ = s.Close()
		t.Fatal("a session started")
	}
	nothingLeft(t, b)
	return err
}

// carried checks that a board carries a trial out.
func carried(t *testing.T, b *boardtest.Board) machine.Session {
	t.Helper()
	return carriedBy(t, b, on(t, b, nil))
}

// carriedBy is carried with the board's machine.
func carriedBy(t *testing.T, b leaver, m *board.Machine) machine.Session {
	t.Helper()
	s := begin(t, m)
	d, err := s.Trial(t.Context(), trial, machine.Events{})
	if err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v %v", d, err)
	}
	must.Do(t, s.Close())
	nothingLeft(t, b)
	return s
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	other := filepath.Join(t.TempDir(), "other")
	_, err := command.Run(t.Context(), command.Options{}, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)
	must.Do(t, err)
	public, err := os.ReadFile(other + ".pub")
	must.Do(t, err)
	known := filepath.Join(b.Dir, "known")
	right, err := os.ReadFile(known)
	must.Do(t, err)
	set := func(path, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	set(known, "")
	wants(t, start(t, b, on(t, b, nil)), result.Refused, "the host key of ssh:board is not known", "ssh board")
	set(known, fmt.Sprintf("[127.0.0.1]:%d %s", b.Port, public))
	wants(t, start(t, b, on(t, b, nil)), result.Refused, "the host key of ssh:board is not the one", "ssh-keygen -R")
	set(known, string(right))
	set(filepath.Join(b.Dir, "authorized"), string(public))
	wants(t, start(t, b, on(t, b, nil)), result.Refused, "ssh:board refuses the login", "Permission denied", "never asks for passwords")
	set(b.Config, "NoSuchOption yes\n")
	wants(t, start(t, b, on(t, b, nil)), result.Refused, "ssh refuses its configuration", "ssh board")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{Client: "Host away\n HostName 127.0.0.1\n Port 1\n\nHost nowhere\n HostName no-such-host.invalid\n"})
	for name, want := range map[string]struct {
		outcome result.Outcome
		says    string
	}{
		"ssh:away":    {result.LabFailed, "ssh:away cannot be reached"},
		"ssh:nowhere": {result.Refused, "no host is known by the name"},
	} {
		m, err := board.New(name, board.Options{Config: b.Config, Agent: "/bin/true"})
		must.Do(t, err)
		wants(t, start(t, b, m), want.outcome, want.says)
	}
}

func TestUnfitBoard(t *testing.T) {
	t.Parallel()
	user := map[string]string{"id": "#!/bin/sh\necho 1000\n", "sudo": "#!/bin/sh\nexit 1\n", "doas": "#!/bin/sh\nexit 1\n"}
	uname := map[string]string{"uname": "#!/bin/sh\necho sparc64\n"}
	full := map[string]string{"df": "#!/bin/sh\necho tmpfs 1024 1023 1 100% $2\n"}
	filled := map[string]string{"gzip": "#!/bin/sh\ncat >/dev/null\necho 'gzip: write error: No space left on device' >&2\nexit 1\n"}
	cut := map[string]string{"gzip": "#!/bin/sh\n/usr/bin/gzip -dc | head -c 1000\n"}
	damaged := map[string]string{"gzip": "#!/bin/sh\n/usr/bin/gzip -dc | tr a b\n"}
	for name, one := range map[string]struct {
		tools   map[string]string
		outcome result.Outcome
		words   []string
	}{
		"no rights":    {user, result.Refused, []string{"no root rights", "log in as root", "NOPASSWD"}},
		"processor":    {uname, result.Unsupported, []string{`uname -m is "sparc64"`, "riscv64"}},
		"little room":  {full, result.Refused, []string{"too little room", "0 MiB are free"}},
		"full":         {filled, result.Refused, []string{"memory is full", "agent of ssh:board did not fit"}},
		"cut short":    {cut, result.LabFailed, []string{"agent did not arrive intact", "stopped reading"}},
		"damaged":      {damaged, result.LabFailed, []string{"agent did not arrive intact", "its SHA-256 is", "and should be"}},
		"no directory": {map[string]string{"mkdir": "#!/bin/sh\necho 'mkdir: no' >&2\nexit 1\n"}, result.LabFailed, []string{"mkdir: no"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := boardtest.Start(t, boardtest.Options{Tools: one.tools})
			wants(t, start(t, b, on(t, b, nil)), one.outcome, one.words...)
		})
	}
}

// Other logins than root's work with sudo or doas.
func TestRights(t *testing.T) {
	t.Parallel()
	id := "#!/bin/sh\necho 1000\n"
	for _, as := range []string{"sudo", "doas"} {
		b := boardtest.Start(t, boardtest.Options{Tools: map[string]string{"id": id, "sudo": "#!/bin/sh\nexit 1\n", "doas": "#!/bin/sh\nexit 1\n",
			as: "#!/bin/sh\n[ \"$1\" = -n ] || exit 1\nshift\nexec \"$@\"\n"}})
		carried(t, b)
	}
}

// What a login prints on its own changes nothing, in whatever shell.
func TestLoginShells(t *testing.T) {
	t.Parallel()
	for name, login := range map[string]string{
		"noisy": `printf 'welcome\n@wfs '; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
		"fish":  `exec fish -c "$SSH_ORIGINAL_COMMAND"`,
		"tcsh":  `exec tcsh -f -c "$SSH_ORIGINAL_COMMAND"`,
	} {
		t.Run(name, func(t *testing.T) {
			banner := filepath.Join(t.TempDir(), "banner")
			must.Do(t, os.WriteFile(banner, []byte("Authorised users only.\n"), 0o644))
			script := filepath.Join(t.TempDir(), "login")
			must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\n"+login+"\n"), 0o755))
			carried(t, boardtest.Start(t, boardtest.Options{Server: "Banner " + banner + "\nForceCommand " + script + "\n"}))
		})
	}
	t.Run("none", func(t *testing.T) {
		b := boardtest.Start(t, boardtest.Options{Server: "ForceCommand echo This account is not available.\n"})
		wants(t, start(t, b, on(t, b, nil)), result.LabFailed, "without an answer from /bin/sh", "This account is not available")
	})
}

// A board with little else than BusyBox, whose shell it is, and one that can neither unpack nor compute
// a digest.
func TestBusyBox(t *testing.T) {
	t.Parallel()
	applets := []string{"cat", "chmod", "grep", "gzip", "id", "mkdir", "readlink", "rm", "sha256sum", "sleep", "tail", "uname"}
	inMounts := boardtest.InMounts(`mount --bind "$(command -v busybox)" "$(readlink -f /bin/sh)" && exec "$@"`)
	carried(t, boardtest.Start(t, boardtest.Options{BusyBox: applets, Around: inMounts}))
	poor := []string{"cat", "chmod", "grep", "id", "mkdir", "readlink", "rm", "sleep", "tail", "uname"}
	carried(t, boardtest.Start(t, boardtest.Options{BusyBox: poor}))
	b := boardtest.Start(t, boardtest.Options{BusyBox: poor[1:], Tools: map[string]string{"cat": "#!/bin/sh\nexec head -c 1000\n"}, Only: []string{"head"}})
	wants(t, start(t, b, on(t, b, nil)), result.LabFailed, "agent did not arrive intact")
}

// The conditions are the board's, and say what was sent.
func TestConditions(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	m := on(t, b, nil)
	s := carried(t, b)
	said := map[string]string{}
	for _, c := range s.Facts().Conditions {
		said[c.Name] = c.Value
	}
	if said["transport"] != "ssh" || !strings.Contains(said["agent"], "bytes, sent for this run") || said["kernel"] == "" {
		t.Errorf("%v", said)
	}
	if m.Name() != "ssh:board" || !m.Lasting() {
		t.Error(m.Name())
	}
	devices, err := m.List(t.Context())
	must.Do(t, err)
	for _, d := range devices {
		if d.Path == "" || d.Usable == "" {
			t.Errorf("%+v", d)
		}
	}
	nothingLeft(t, b)
}

// A cut costs what was under way, and the next session takes the storage over.
func TestCut(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	for _, at := range []string{"sending the agent", "sending data set"} {
		err := start(t, b, on(t, b, func(text string) {
			if strings.HasPrefix(text, at) {
				b.Cut()
			}
		}))
		wants(t, err, result.LabFailed, "the connection to ssh:board was lost")
	}
	m := on(t, b, nil)
	s, err := m.Start(t.Context(), spec(t))
	must.Do(t, err)
	_, err = s.Trial(t.Context(), long, machine.Events{Phase: func(phase string) {
		if phase == "fio" {
			b.Cut()
		}
	}})
	wants(t, err, result.LabFailed, "the connection to ssh:board was lost")
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the board removes it when it notices") {
		t.Errorf("close: %v", err)
	}
	s, err = m.Start(t.Context(), spec(t))
	must.Do(t, err)
	if n := b.Agents(); n != 1 {
		t.Errorf("%d agents after a new session: %v", n, b.Left())
	}
	must.Do(t, s.Close())
	nothingLeft(t, b)
}

// A board that restarts costs the trial, in whichever of the phases, and serves the next session.
func TestRestartInPhases(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	with := installed(t)
	with.Config, with.Agent = b.Config, with.Installed
	m, err := board.New(b.Name, with)
	must.Do(t, err)
	start := func() machine.Session {
		t.Helper()
		s, err := m.Start(t.Context(), spec(t))
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		return s
	}
	// The last phase goes on until it is ended: a short one would be over before the board restarts.
	for _, at := range long.Scenario.Phases() {
		s := start()
		_, err := s.Trial(t.Context(), long, machine.Events{Phase: func(phase string) {
			if phase == at {
				b.Restart()
			}
		}})
		wants(t, err, result.LabFailed, "in phase", "the connection to ssh:board was lost")
		_ = s.Close()
	}
	s := start()
	first := trial
	first.Scenario = trial.Scenario[:4:4]
	if d, err := s.Trial(t.Context(), first, machine.Events{}); err != nil || d.Outcome != result.Done {
		t.Errorf("%+v, %v", d, err)
	}
	must.Do(t, s.Close())
	nothingLeft(t, b)
}

// A board whose root is read-only takes trials all the same: what is sent is in memory, and so is a loop device.
func TestReadOnlyRoot(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{Around: boardtest.InMounts(`mount -o remount,bind,ro / && exec "$@"`)})
	with := installed(t)
	with.Config, with.Agent = b.Config, with.Installed
	m, err := board.New(b.Name, with)
	must.Do(t, err)
	s, err := m.Start(t.Context(), machine.Spec{Storage: "loop:64M", Data: machinetest.Data(t)})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	d, err := s.Trial(t.Context(), trial, machine.Events{})
	if err != nil || d.Outcome != result.Done {
		t.Errorf("%+v %v", d, err)
	}
	must.Do(t, s.Close())
	nothingLeft(t, b)
}

// A line that is dead is noticed here. The board does not notice, but the next session ends the agent
// that is left there.
func TestDeadLine(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	m, err := board.New(b.Name, board.Options{Config: b.Config, Agent: labtest.Agent(t, runtime.GOARCH), Silence: 18 * time.Second})
	must.Do(t, err)
	s, err := m.Start(t.Context(), spec(t))
	must.Do(t, err)
	froze := false
	_, err = s.Trial(t.Context(), long, machine.Events{Phase: func(phase string) {
		if phase == "fio" && !froze {
			froze = true
			b.Freeze()
		}
	}})
	wants(t, err, result.LabFailed, "the connection to ssh:board was lost", "not responding")
	_ = s.Close()
	if left := b.Left(); len(left) == 0 {
		t.Fatal("the board has noticed")
	}
	s, err = m.Start(t.Context(), spec(t))
	must.Do(t, err)
	if n := b.Agents(); n != 1 {
		t.Errorf("%d agents after a new session: %v", n, b.Left())
	}
	must.Do(t, s.Close())
	b.Thaw()
	nothingLeft(t, b)
}

// A whichfs that is killed leaves nothing on the board.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	play := exec.Command(os.Args[0])
	play.Env = append(os.Environ(), hostVariable+"="+strings.Join([]string{b.Name, b.Config, labtest.Agent(t, runtime.GOARCH), t.TempDir()}, " "))
	out, err := play.StdoutPipe()
	must.Do(t, err)
	must.Do(t, play.Start())
	seen := ""
	for buffer := make([]byte, 100); !strings.Contains(seen, "fio"); {
		n, err := out.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			t.Fatalf("%v: %s", err, seen)
		}
	}
	if b.Agents() != 1 {
		t.Errorf("during a trial: %v", b.Left())
	}
	must.Do(t, play.Process.Kill())
	_ = play.Wait()
	nothingLeft(t, b)
}

func TestCancelledConnect(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{Tools: map[string]string{"uname": "#!/bin/sh\nexec sleep 1000\n"}})
	ctx, cancel := context.WithCancel(t.Context())
	m := on(t, b, func(string) { cancel() })
	if _, err := m.Start(ctx, spec(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nothingLeft(t, b)
}

func TestNoSSH(t *testing.T) {
	needs.Devices(t)
	t.Setenv("PATH", t.TempDir())
	m, err := board.New("ssh:board", board.Options{})
	must.Do(t, err)
	_, err = m.Start(t.Context(), machine.Spec{Storage: "loop:64M"})
	wants(t, err, result.LabFailed, "needs the program ssh", "apt-get install openssh-client")
}

// A board is examined as a run would use it, and is left as it was.
func TestExamine(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	e, err := on(t, b, nil).Examine(t.Context(), false)
	must.Do(t, err)
	names := ""
	for _, p := range e.Points {
		if names += p.Name + " "; !p.OK {
			t.Errorf("%+v", p)
		}
	}
	if names != "power connection rights memory agent clock storage filesystems " || !e.Works || e.Speed == nil || e.Step <= 0 || len(e.Conditions) == 0 || len(e.Filesystems) < 10 {
		t.Errorf("%s: %+v", names, e)
	}
	if run := board.Typed(e.Run); !strings.HasPrefix(run, "whichfs run bootlin-2023 --quick --machine ssh:board --storage ") {
		t.Error(run)
	}
	nothingLeft(t, b)
	user := map[string]string{"id": "#!/bin/sh\necho 1000\n", "sudo": "#!/bin/sh\nexit 1\n", "doas": "#!/bin/sh\nexit 1\n"}
	b = boardtest.Start(t, boardtest.Options{Tools: user})
	e, err = on(t, b, nil).Examine(t.Context(), false)
	must.Do(t, err)
	if last := e.Points[len(e.Points)-1]; e.Works || last.OK || !strings.Contains(last.Note, "no root rights") || !strings.Contains(last.Help, "NOPASSWD") || e.Run != nil {
		t.Errorf("%+v", e)
	}
	_, err = on(t, b, nil).Examine(t.Context(), true)
	wants(t, err, result.Refused, "nothing is known that switches the power of machine ssh:board", "leave --power out")
}
