package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"whichfs/internal/app"
	"whichfs/internal/testing/wait"
)

// lent is whichfs storage serve as a program, and what it prints.
type lent struct {
	cmd       *exec.Cmd
	out, errs string // files
}

func lend(t *testing.T, p *program, args ...string) *lent {
	t.Helper()
	l := &lent{cmd: p.command(append([]string{"storage", "serve"}, args...)...), out: filepath.Join(p.dir, "out"), errs: filepath.Join(p.dir, "err")}
	out, err := os.Create(l.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() //nolint:errcheck // the program has its own
	errs, err := os.Create(l.errs)
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close() //nolint:errcheck // likewise
	l.cmd.Stdout, l.cmd.Stderr = out, errs
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	l.says(t, "to attach it:")
	return l
}

// says waits until the program has printed a text.
func (l *lent) says(t *testing.T, text string) {
	t.Helper()
	wait.While(t, func() string {
		said, _ := os.ReadFile(l.errs)
		if strings.Contains(string(said), text) {
			return ""
		}
		return "not " + text + ", but " + string(said)
	})
}

func (l *lent) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func qemuIO(t *testing.T, dir string, commands ...string) {
	t.Helper()
	argv := []string{"-f", "raw"}
	for _, c := range commands {
		argv = append(argv, "-c", c)
	}
	cmd := exec.Command("qemu-io", append(argv, "nbd+unix:///?socket=card.sock")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "fail") {
		t.Fatalf("%v: %v\n%s", commands, err, out)
	}
}

// Simulated storage has clients of its own: what they flush outlives a power cut, a client that dies
// and a socket that a killed server left do no harm, and the counters are printed in the end.
func TestStorageServe(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "{}")
	arguments := []string{"sim:sd-basic,64M", "--nbd", "unix:card.sock", "--vhost-user", "v.sock", "--every", "0", "--json"}
	killed := lend(t, p, arguments...)
	_, errs := p.run(t, exitRefused, append([]string{"storage", "serve"}, arguments...)...)
	if !strings.Contains(errs, "another program listens on card.sock") {
		t.Error(errs)
	}
	killed.signal(t, syscall.SIGKILL)
	_ = killed.cmd.Wait() // it was killed

	l := lend(t, p, arguments...)
	dies, err := net.Dial("unix", filepath.Join(p.dir, "card.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dies.Close(); err != nil {
		t.Fatal(err)
	}
	qemuIO(t, p.dir, "write -P 5 0 64k", "flush")
	l.signal(t, syscall.SIGUSR1)
	l.says(t, "power cut after ")
	qemuIO(t, p.dir, "read -P 5 0 64k")
	l.signal(t, syscall.SIGTERM)
	if err := l.cmd.Wait(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(l.out)
	if err != nil {
		t.Fatal(err)
	}
	var got app.Served
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Clients != 3 || len(got.Cuts) != 1 || got.Written != 64<<10 || got.Read < 64<<10 || got.Flushes < 1 || got.Blocks == 0 || got.Amplification < 1 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"card.sock", "v.sock"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// On a terminal the counters are redrawn in place, and keys cut the power and end it.
func TestStorageServeOnTerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "{}")
	term := onTerminal(t, p.command("storage", "serve", "sim:sd-basic,64M", "--nbd", "unix:card.sock"))
	before := term.settings(t)
	term.waitFor(t, `nbd-client -unix card.sock /dev/nbd0`, `0 clients, 0 power cuts`, `c cuts the power`)
	qemuIO(t, p.dir, "write 0 4k")
	if _, err := term.master.Write([]byte("c")); err != nil {
		t.Fatal(err)
	}
	term.waitFor(t, `client 1 \(NBD\) left`, `power cut after \d+ s: lost`)
	if _, err := term.master.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	if status := term.status(t); status != 0 {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `1 client in all, 1 power cut`, `written 4.00 KiB in 1 request`)
	balanced(t, term, before)
}
