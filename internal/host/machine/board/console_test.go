package board_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire/link"
)

// Tests of consoles mostly wait, so they run side by side where they share nothing.

// at makes the machine of a board at a serial port.
func at(t *testing.T, c *boardtest.Console, o board.Options) *board.Machine {
	t.Helper()
	o.Agent = labtest.Agent(t, runtime.GOARCH)
	if o.Progress == nil {
		o.Progress = func(text string) { t.Log(text) }
	}
	m, err := board.New(c.Name, o)
	must.Do(t, err)
	return m
}

// installed is a board that has the agent, which is not sent.
func installed(t *testing.T) board.Options {
	return board.Options{Installed: labtest.Agent(t, runtime.GOARCH)}
}

func TestConsoleContract(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	o := installed(t)
	machinetest.Suite(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return at(t, c, o), machine.Spec{Storage: "loop:64M", Work: t.TempDir()}
	})
	nothingLeft(t, c)
}

// The agent is sent once, and kept for the next session. The port is as it was.
func TestConsole(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Login: true, Password: "let me in"})
	before := c.Settings()
	var told []string
	password, storage := filepath.Join(t.TempDir(), "password"), t.TempDir()
	must.Do(t, os.WriteFile(password, []byte("let me in\n"), 0o600))
	lasting, file := filepath.Join(storage, "whichfs-agent"), filepath.Join(t.TempDir(), "board.toml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "connect = %q\n[login]\npassword_file = %q\n[agent]\npath = %q\n", c.Name, password, lasting), 0o644))
	o := board.Options{Agent: labtest.Agent(t, runtime.GOARCH), Progress: func(text string) { told = append(told, text) }}
	m, err := board.New(file, o)
	must.Do(t, err)
	s := carriedBy(t, c, m)
	said := map[string]string{}
	for _, one := range s.Facts().Conditions {
		said[one.Name] = one.Value
	}
	if said["transport"] != "serial, 115200 baud" || !strings.Contains(said["agent"], "sent for this run") {
		t.Errorf("%v", said)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "sending the agent for") {
		t.Error(all)
	}
	if len(c.Kept()) != 1 {
		t.Errorf("%q is kept", c.Kept())
	}
	if after := c.Settings(); after != before {
		t.Errorf("the port's settings were\n%s and are\n%s", before, after)
	}
	told = nil
	devices, err := m.List(t.Context())
	if err != nil || len(devices) == 0 {
		t.Errorf("%v %v", devices, err)
	}
	if all := strings.Join(told, "\n"); strings.Contains(all, "sending the agent") {
		t.Error(all)
	}
	// A board that has lost its memory has the agent in the file all the same, unless that was torn.
	content, err := os.ReadFile(lasting)
	must.Do(t, err)
	for _, torn := range []bool{false, true} {
		c.Forget()
		if torn {
			must.Do(t, os.Truncate(lasting, int64(len(content)/2)))
		}
		told = nil
		_, err = m.List(t.Context())
		must.Do(t, err)
		if all := strings.Join(told, "\n"); strings.Contains(all, "sending the agent") != torn {
			t.Error(all)
		}
		if again, err := os.ReadFile(lasting); err != nil || !bytes.Equal(again, content) {
			t.Errorf("%d bytes are kept, %v", len(again), err)
		}
	}
	c.Forget()
	must.Do(t, os.RemoveAll(storage))
	told = nil
	_, err = m.List(t.Context())
	wants(t, err, result.Refused, "cannot keep the agent as "+lasting, "section agent")
	if all := strings.Join(told, "\n"); strings.Contains(all, "sending the agent") {
		t.Error(all)
	}
	nothingLeft(t, c)
	// The login was ended, so that the next one is asked again.
	must.Do(t, os.WriteFile(password, []byte("wrong\n"), 0o600))
	wants(t, start(t, c, m), result.Refused, "refuses the login of root", password)
	wants(t, start(t, c, at(t, c, installed(t))), result.Refused, "asks for the password of root", "WHICHFS_SERIAL_PASSWORD_FILE")
}

// Consoles that a user may find: other shells, and boards with little.
func TestConsoleShells(t *testing.T) {
	t.Parallel()
	poor := []string{"cat", "chmod", "cp", "grep", "id", "ln", "md5sum", "mkdir", "mv", "readlink", "rm", "sleep", "tail", "uname"}
	for name, o := range map[string]boardtest.ConsoleOptions{
		"bash":     {Shell: []string{"bash", "--norc", "-i"}},
		"no login": {Login: true},
		"poor":     {Options: boardtest.Options{BusyBox: append([]string{"stty", "head", "sha256sum"}, poor...), Only: []string{"busybox"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := boardtest.StartConsole(t, o)
			with := installed(t)
			if name == "poor" {
				with = board.Options{}
			}
			_, err := at(t, c, with).List(t.Context())
			if err != nil {
				t.Fatal(machinetest.Explain(err))
			}
			nothingLeft(t, c)
		})
	}
}

// Bytes arrive over any cable and on any board: as they are, with blocks again where the cable disturbs
// some, in text where it does not pass every byte, and with nothing but a shell's printf.
func TestConsoleSends(t *testing.T) {
	t.Parallel()
	content := noise(100_000)
	poor := boardtest.Options{BusyBox: []string{"cat", "grep", "id", "md5sum", "mkdir", "rm", "stty", "tail", "uname"}, Only: []string{"busybox"}}
	for name, one := range map[string]struct {
		o      boardtest.ConsoleOptions
		size   int
		inText bool
	}{
		"raw":       {boardtest.ConsoleOptions{}, 100_000, false},
		"disturbed": {boardtest.ConsoleOptions{Damage: 0.00005, Kernel: 50 * time.Millisecond}, 100_000, false},
		"base64":    {boardtest.ConsoleOptions{SevenBits: true}, 30_000, true},
		"octal":     {boardtest.ConsoleOptions{Options: poor}, 5000, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := boardtest.StartConsole(t, one.o)
			c.Disturb(one.o.Damage > 0)
			digest, told, err := board.Send(t.Context(), c.Name, content[:one.size])
			if err != nil {
				t.Fatal(machinetest.Explain(err))
			}
			if want := fmt.Sprintf("%x  -", md5.Sum(content[:one.size])); digest != want {
				t.Errorf("%s arrived, and not %s", digest, want)
			}
			if got := strings.Contains(strings.Join(told, "\n"), "sent in text"); got != one.inText {
				t.Errorf("in text: %v; %q", got, told)
			}
		})
	}
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// What cannot be a board is refused with what helps.
func TestNoConsole(t *testing.T) {
	t.Parallel()
	needs.Devices(t)
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for name, words := range map[string][]string{
		"serial:/dev/no-such-port": {"there is no device /dev/no-such-port", "plugged in"},
		"serial:" + file:           {"is not a serial port", "/dev/ttyUSB0"},
	} {
		m, err := board.New(name, board.Options{Agent: "/bin/true"})
		must.Do(t, err)
		_, err = m.Start(t.Context(), machine.Spec{Storage: "loop:64M"})
		wants(t, err, result.Refused, words...)
	}
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	other, err := os.OpenFile(c.Device, os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	must.Do(t, unix.Flock(int(other.Fd()), unix.LOCK_EX))
	wants(t, start(t, c, at(t, c, board.Options{})), result.Refused, "another program has "+c.Device, "fuser")
	must.Do(t, other.Close())
	for name, one := range map[string]struct {
		shell   string
		outcome result.Outcome
		words   []string
	}{
		"mute":       {"stty -echo; exec sleep 1000", result.LabFailed, []string{"nothing arrives from machine serial:", "115200 baud", "picocom -b 115200"}},
		"no shell":   {"echo hello; while read -r x; do echo what; done", result.LabFailed, []string{"neither a login nor a shell's prompt", "what"}},
		"boot":       {"stty -echo; printf '\nU-Boot 2023.01\n=> '; while read -r x; do printf '=> '; done", result.Refused, []string{"is in its boot loader", "boot"}},
		"other baud": {`stty -echo; while read -r x; do printf '\370\200\377\340\200\371'; done`, result.Refused, []string{"is not text", "not 115200 baud", "@BAUD"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c", one.shell}})
			m := at(t, c, board.Options{})
			m.Impatient(6 * time.Second)
			if name == "other baud" || name == "no shell" {
				m.Impatient(12 * time.Second)
			}
			wants(t, start(t, c, m), one.outcome, one.words...)
		})
	}
}

func TestUnfitConsole(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		tools   map[string]string
		outcome result.Outcome
		words   []string
	}{
		"no rights": {map[string]string{"id": "#!/bin/sh\necho 1000\n", "sudo": "#!/bin/sh\nexit 1\n", "doas": "#!/bin/sh\nexit 1\n"}, result.Refused, []string{"no root rights"}},
		"processor": {map[string]string{"uname": "#!/bin/sh\necho sparc64\n"}, result.Unsupported, []string{`uname -m is "sparc64"`}},
		"no room":   {map[string]string{"df": "#!/bin/sh\necho tmpfs 1024 1023 1 100% $2\n"}, result.Refused, []string{"too little room"}},
		"full":      {map[string]string{"xz": "#!/bin/sh\necho 'xz: No space left on device' >&2\nexit 1\n"}, result.Refused, []string{"filesystem in memory", "is full"}},
		"damaged":   {map[string]string{"xz": "#!/bin/sh\nxzcat | tr a b\n"}, result.LabFailed, []string{"did not arrive intact", "should be"}},
		"no md5sum": {map[string]string{"md5sum": "#!/bin/sh\nexit 1\n"}, result.Unsupported, []string{"no md5sum"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Options: boardtest.Options{Tools: one.tools}})
			wants(t, start(t, c, at(t, c, board.Options{})), one.outcome, one.words...)
		})
	}
	t.Run("other agent", func(t *testing.T) {
		c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
		other := filepath.Join(c.Dir, "other")
		must.Do(t, os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755))
		wants(t, start(t, c, at(t, c, board.Options{Installed: other})), result.Refused, "is not the agent of this whichfs", "leave --agent-path out")
		wants(t, start(t, c, at(t, c, board.Options{Installed: "/no/such/agent"})), result.Refused, "there is no agent /no/such/agent")
	})
}

// during starts a long trial and does something in its midst. It returns the trial's error.
func during(t *testing.T, s machine.Session, do func()) error {
	t.Helper()
	done := false
	_, err := s.Trial(t.Context(), long, machine.Events{Phase: func(phase string) {
		if phase == "fio" && !done {
			done = true
			do()
		}
	}})
	return err
}

// A board that restarts costs what was under way, and the next session logs in again.
func TestConsoleRestarts(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Login: true})
	m := at(t, c, installed(t))
	s := begin(t, m)
	wants(t, during(t, s, c.Restart), result.LabFailed, "the board has restarted", "Linux version")
	_ = s.Close()
	carriedBy(t, c, m)
	sending := at(t, c, board.Options{Progress: func(text string) {
		if strings.HasPrefix(text, "sending the agent") {
			go c.Restart()
		}
	}})
	c.Forget()
	wants(t, start(t, c, sending), result.LabFailed, "serial:")
}

// A board's file says what is typed into a boot loader, how a login is asked for, and where the password
// is.
func TestConsoleEntry(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c",
		`printf 'MX> '; while read -r x; do [ "$x" = "run it" ] && break; printf 'MX> '; done
		while printf 'Kennung? '; do read -r u; printf 'Passwort: '; stty -echo; read -r p; stty echo; echo; [ "$u $p" = "pi geheim" ] && exec busybox sh -i; echo Nein.; done`}})
	file := filepath.Join(t.TempDir(), "board.toml")
	named := fmt.Sprintf("connect = %q\n[boot_loader]\nprompt = \"MX>\"\nboot = [\"setup\", \"run it\"]\n[login]\nuser = \"pi\"\nprompt = \"Kennung? \"\n", c.Name)
	try := func(password string) error {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(file), "password"), []byte(password+"\n"), 0o600))
		must.Do(t, os.WriteFile(file, []byte(named+`password_file = "password"`), 0o644))
		o := installed(t)
		o.Agent = o.Installed
		m, err := board.New(file, o)
		must.Do(t, err)
		_, err = m.List(t.Context())
		return err
	}
	wants(t, try("falsch"), result.Refused, "refuses the login of pi", "password")
	if err := try("geheim"); err != nil {
		t.Error(machinetest.Explain(err))
	}
	nothingLeft(t, c)
}

// Nothing is typed on a board that starts before its shell waits, or its boot loader would stop.
func TestConsoleOfBootLoader(t *testing.T) {
	t.Parallel()
	once, noticed := filepath.Join(t.TempDir(), "once"), filepath.Join(t.TempDir(), "noticed")
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c",
		`if [ -e "$1" ]; then stty -echo; while [ ! -e "$2" ] || read -r -n 1 -t 0.1 x; do sleep 0.05; done; echo; echo loader 1.0; if read -r -n 1 -t 2.5 x; then while echo stopped; do read -r x; done; fi; stty echo; fi; touch "$1"; exec busybox sh -i`, "bash", once, noticed}})
	m := at(t, c, installed(t))
	m.Unhurried(wait.Patience)
	s := begin(t, m)
	wants(t, during(t, s, c.Restart), result.LabFailed, "the board has restarted")
	_ = s.Close()
	must.Do(t, os.WriteFile(noticed, nil, 0o600)) // what the session still sent is not for the boot loader
	_, err := m.List(t.Context())
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	nothingLeft(t, c)
}

// A port that is pulled is noticed at once, and a cable that is cut after the silence. The board's agent
// notices, too, and gives the console back to the next session.
func TestConsoleCut(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	o := installed(t)
	o.Silence = 18 * time.Second
	m := at(t, c, o)
	s := begin(t, m)
	wants(t, during(t, s, c.Freeze), result.LabFailed, "the connection to "+c.Name+" was lost", "nothing arrives from the other end")
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the board removes it when it notices") {
		t.Errorf("close: %v", err)
	}
	c.Thaw()
	carriedBy(t, c, m)
	s = begin(t, m)
	wants(t, during(t, s, c.Unplug), result.LabFailed, "the connection to "+c.Name+" was lost", "is gone")
	_ = s.Close()
	nothingLeft(t, c)
}

// A whichfs that is killed leaves nothing on the board but the console as it was.
func TestConsoleOfKilledHost(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	o := installed(t)
	play := exec.Command(os.Args[0])
	play.Env = append(os.Environ(), hostVariable+"="+strings.Join([]string{c.Name, "-" + o.Installed, labtest.Agent(t, runtime.GOARCH), t.TempDir()}, " "))
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
	must.Do(t, play.Process.Kill())
	_ = play.Wait()
	c.Release()
	// The next one waits until the agent has noticed, unless it has by now.
	if _, err = at(t, c, o).List(t.Context()); err != nil {
		t.Error(machinetest.Explain(err))
	}
	nothingLeft(t, c)
}

// writes has the first of what is written.
type writes chan string

func (w writes) Write(p []byte) (int, error) {
	select {
	case w <- string(p):
	default:
	}
	return len(p), nil
}

// A console on which the agent of an earlier session still speaks is waited for.
func TestConsoleHeld(t *testing.T) {
	t.Parallel()
	frames := make(writes, 1)
	other := link.New(frames, link.Options{Key: "another session's"})
	frame := <-frames // an agent's sign of life
	_ = other.Close(0)
	free := filepath.Join(t.TempDir(), "free")
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c",
		`stty -echo; until [ -e "$2" ]; do echo "$1"; read -r -t 2 x; done; stty echo; exec busybox sh -i`, "bash", frame, free}})
	o := installed(t)
	told := 0
	o.Progress = func(text string) {
		if strings.HasPrefix(text, "the agent of an earlier session still has the console of "+c.Name) {
			told++
			must.Do(t, os.WriteFile(free, nil, 0o600))
		}
	}
	if _, err := at(t, c, o).List(t.Context()); err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
	nothingLeft(t, c)
}

// Whoever gives up leaves the console to the shell.
func TestConsoleGivenUp(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Baud: 115200})
	c.Disturb(true)
	for _, when := range []string{"connecting", "sending the agent"} {
		ctx, cancel := context.WithCancel(t.Context())
		m := at(t, c, board.Options{Progress: func(text string) {
			if strings.HasPrefix(text, when) {
				cancel()
			}
		}})
		if _, err := m.Start(ctx, spec(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", when, err)
		}
		nothingLeft(t, c)
	}
	_, err := at(t, c, installed(t)).List(t.Context())
	must.Do(t, err)
}
