package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine/machinetest"
)

// status is the kernel's value for a process under a name.
func status(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return ""
}

// Every thread of a guest's QEMU runs under a filter of system calls (2), and
// can gain no privileges.
func sandboxed(t *testing.T, s *Session) {
	t.Helper()
	pid := s.guest.process.Pid()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	argv := strings.Split(string(line), "\x00")
	for option, value := range map[string]string{"-sandbox": sandbox, "-nic": "none"} {
		if i := slices.Index(argv, option); i < 0 || argv[i+1] != value {
			t.Errorf("%s %s is not among %q", option, value, argv)
		}
	}
	if !slices.Contains(argv, "-nodefaults") {
		t.Errorf("%q", argv)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatal(threads, err)
	}
	for _, path := range threads {
		if filter, privileges := status(t, path, "Seccomp"), status(t, path, "NoNewPrivs"); filter != "2" || privileges != "1" {
			t.Errorf("%s: seccomp %s, no new privileges %s", path, filter, privileges)
		}
	}
	if !machinetest.HasCondition(s.Facts().Conditions, "QEMU sandbox") {
		t.Error("the conditions do not say it")
	}
}

// A QEMU built without a sandbox is used without it, and that is reported; it is tested once.
func TestQEMUWithoutSandbox(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "qemu")
	script := "#!/bin/sh\necho x >>" + dir + "/asked\ncase \"$*\" in *-sandbox*) echo '-sandbox support is not enabled in this QEMU binary' >&2; exit 1;; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if why := unsandboxed(program); !strings.Contains(why, "not enabled in this QEMU binary") {
			t.Errorf("%q", why)
		}
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || string(asked) != "x\n" {
		t.Errorf("asked %q, %v", asked, err)
	}
	g, err := start(config{program: program, arch: "amd64"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer g.end()
	<-g.process.Done()
	if err := g.process.Err(); err != nil {
		t.Errorf("it was started with a sandbox that it lacks: %v", err)
	}
}
