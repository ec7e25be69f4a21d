package workload

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/testing/parsed"
)

// beside starts a program as the one beside a filesystem.
func beside(t *testing.T, script string) (*Env, *exec.Cmd) {
	t.Helper()
	was := daemonPatience
	daemonPatience = time.Second
	t.Cleanup(func() { daemonPatience = was })
	cmd := exec.Command("sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &Env{daemon: &daemon{name: "sh", fd: fd}}, cmd
}

// However stubborn the program is, it has ended when EndDaemon returns; one that ended before is a
// failure.
func TestEndDaemon(t *testing.T) {
	for _, x := range []struct {
		name, script string
		signal       syscall.Signal
	}{
		{"obeys", "echo x; exec sleep 1000", syscall.SIGTERM},
		{"ignores", "trap '' TERM; echo x; while :; do sleep 0.1; done", syscall.SIGKILL},
	} {
		env, cmd := beside(t, x.script)
		if pid := env.daemon.pid(); pid != cmd.Process.Pid {
			t.Errorf("%s: process %d is taken for %d", x.name, cmd.Process.Pid, pid)
		}
		if err := env.EndDaemon(); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		_ = cmd.Wait()
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != x.signal || env.daemon != nil {
			t.Errorf("%s: %v", x.name, cmd.ProcessState)
		}
	}
	env, cmd := beside(t, "echo x")
	_ = cmd.Wait()
	if err := env.EndDaemon(); err == nil || !strings.Contains(err.Error(), "has ended by itself") {
		t.Errorf("%v", err)
	}
	if err := env.EndDaemon(); err != nil {
		t.Errorf("a second end: %v", err)
	}
}

// A candidate that asks for no program needs none, and starts none.
func TestNoDaemon(t *testing.T) {
	for _, c := range parsed.Candidates("ext4", "nilfs2", "nilfs2 -o cleanerd=off", "nilfs2 -o cleanerd=on,cleanerd=off") {
		if reason, _ := LacksDaemon(c); reason != "" {
			t.Errorf("%s: %s", c, reason)
		}
		env := &Env{Candidate: c, FS: filesystem.Filesystem{}}
		if err := env.startDaemon(); err != nil || env.daemon != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}
