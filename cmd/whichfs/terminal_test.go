package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"whichfs/internal/testing/wait"
)

// terminal is a pseudo-terminal with whichfs on it, and everything shown on it.
type terminal struct {
	master, slave *os.File
	cmd           *exec.Cmd
	ended         chan error

	mu    sync.Mutex
	shown strings.Builder
}

// onTerminal starts a command on its own terminal.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 110}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave, cmd: cmd, ended: make(chan error, 1)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(term, master) // ends with an error when the terminal goes
	}()
	go func() { term.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = slave.Close()
		_ = master.Close()
		<-read
	})
	return term
}

func (term *terminal) Write(p []byte) (int, error) {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.Write(p)
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// waitFor waits until the terminal has shown all of these.
func (term *terminal) waitFor(t *testing.T, patterns ...string) {
	t.Helper()
	wait.While(t, func() string {
		shown := words(term.text())
		for _, p := range patterns {
			if !regexp.MustCompile(p).MatchString(shown) {
				return fmt.Sprintf("%q was not shown, but this:\n%s", p, shown)
			}
		}
		return ""
	})
}

// status waits for the program's end.
func (term *terminal) status(t *testing.T) int {
	t.Helper()
	return statusOf(wait.For(t, "the program's end", term.ended))
}

func (term *terminal) settings(t *testing.T) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

var controls = regexp.MustCompile(`\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[()][A-Z0-9]|\x1b[=>78M]`)

// words is the text shown, without cursor movement and colours.
func words(shown string) string { return controls.ReplaceAllString(shown, "") }

// balanced fails unless the terminal was restored: the cursor visible, and all
// modes reset.
func balanced(t *testing.T, term *terminal, before unix.Termios) {
	t.Helper()
	if after := term.settings(t); after != before {
		t.Errorf("the terminal's settings were %+v and are %+v", before, after)
	}
	last := map[string]string{}
	for _, m := range regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`).FindAllStringSubmatch(term.text(), -1) {
		last[m[1]] = m[2]
	}
	for mode, state := range last {
		if want := map[bool]string{true: "h", false: "l"}[mode == "25" || mode == "7"]; state != want {
			t.Errorf("mode %s was left %q", mode, state)
		}
	}
}

func TestLiveDisplay(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{"delay": 0.01, "unsupported": {"jfs": "this kernel has no driver for JFS"}}`)
	term := onTerminal(t, p.command("run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "3",
		"--candidates", "ext4; jfs; btrfs -m single"))
	before := term.settings(t)
	term.waitFor(t, `trial \d of 6, round 1 of 3`, `about \d+ (s|min) left`, `Ctrl-C ends cleanly; whichfs resume continues\.`,
		`candidate +rounds +mount`, `●○`, ` 104 ms`, `btrfs -m single`, `jfs: unsupported: this kernel has no driver for JFS`)
	if status := term.status(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `6 of 6 trials done`) // the report follows, on the same terminal
	balanced(t, term, before)
}

// The key, not the signal: a terminal in raw mode sends none.
func TestInterruptKey(t *testing.T) {
	t.Parallel()
	p := newProgram(t, endless)
	term := onTerminal(t, p.command(fourCandidates...))
	before := term.settings(t)
	run, _ := p.waitFor(t, 1)
	term.waitFor(t, `Ctrl-C ends cleanly`)
	if _, err := term.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if status := term.status(t); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `whichfs: interrupted; every finished trial is stored`, `→ whichfs resume `+run+` continues where it stopped`)
	balanced(t, term, before)
	p.hurry(t)
	if out, _ := p.run(t, 0, "resume"); !strings.Contains(out, "24 of 24 trials done.") {
		t.Errorf("after resume:\n%s", out)
	}
}

// A terminal that disappears ends the run like any other interruption.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	p := newProgram(t, endless)
	term := onTerminal(t, p.command(fourCandidates...))
	p.waitFor(t, 1)
	_ = term.slave.Close()
	_ = term.master.Close()
	if status := term.status(t); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	if list, _ := p.run(t, 0, "runs"); !strings.Contains(list, " interrupted ") {
		t.Errorf("the list of runs:\n%s", list)
	}
	p.hurry(t)
	p.run(t, 0, "resume")
}

// Dumb terminals, and files, get plain lines.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	p.env = append(p.env, "TERM=dumb")
	term := onTerminal(t, p.command("run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "1",
		"--candidates", "ext4; xfs"))
	if status := term.status(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `\[2/2\] round 1`, `2 of 2 trials done`)
	for _, r := range term.text() {
		if r > 0x7e || r < ' ' && r != '\n' && r != '\r' {
			t.Fatalf("%q was shown to a terminal that cannot do that:\n%q", r, term.text())
		}
	}
}
