package machine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/result"
	"whichfs/internal/sys/build"
)

func TestAgentPath(t *testing.T) {
	self := labtest.Agent(t, runtime.GOARCH)
	foreign := "arm64"
	if runtime.GOARCH == foreign {
		foreign = "amd64"
	}
	fails := func(err error, words ...string) {
		t.Helper()
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || e.Hint == "" {
			t.Fatalf("%#v", err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not say %q", err, w)
			}
		}
	}
	t.Setenv(AgentVariable, self)
	if got, err := AgentPath("", runtime.GOARCH); err != nil || got != self {
		t.Errorf("%s %v", got, err)
	}
	_, err := AgentPath("", foreign)
	fails(err, AgentVariable, "another architecture", foreign+" is needed")
	_, err = AgentPath("", "vax")
	fails(err, "no agent is built for architecture vax")
	t.Setenv(AgentVariable, filepath.Join(t.TempDir(), "none"))
	_, err = AgentPath("", runtime.GOARCH)
	fails(err, "no such file")
	t.Setenv(AgentVariable, t.TempDir())
	_, err = AgentPath("", runtime.GOARCH)
	fails(err, "is not a file")
	t.Setenv(AgentVariable, "")
	_, err = AgentPath("", foreign)
	fails(err, "no whichfs-agent-linux-"+foreign+" in ")

	dir := t.TempDir()
	_, err = agentIn([]string{t.TempDir(), dir}, runtime.GOARCH, build.Unknown)
	fails(err, "no whichfs-agent or whichfs-agent-linux-"+runtime.GOARCH+" in ", " or "+dir)
	for _, name := range []string{"whichfs-agent-linux-" + runtime.GOARCH, "whichfs-agent"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if got, err := agentIn([]string{t.TempDir(), dir}, runtime.GOARCH, build.Unknown); err != nil || got != filepath.Join(dir, name) {
			t.Errorf("%s %v", got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "whichfs-agent-linux-"+foreign), []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = agentIn([]string{t.TempDir(), dir}, foreign, build.Unknown)
	fails(err, "is not a program")
}

// A program that needs shared libraries makes a guest panic silently.
func TestAgentMustBeStatic(t *testing.T) {
	if err := checkAgent("/bin/sh", runtime.GOARCH, build.Unknown); err == nil || !strings.Contains(err.Error(), "shared libraries") {
		t.Fatalf("a dynamically linked program was taken: %v", err)
	}
}

// Another version may speak another language, and measure something else.
func TestAgentOfAnotherVersion(t *testing.T) {
	text, err := os.ReadFile(labtest.Agent(t, runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "whichfs-agent")
	// One built by hand has none; what follows a program is no part of it.
	text = bytes.ReplaceAll(text, []byte(build.AgentMark), bytes.Repeat([]byte{'#'}, len(build.AgentMark)))
	text = append(text, build.AgentMark+"v1.0............................"...)
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := agentIn([]string{dir}, runtime.GOARCH, "v1.0"); err != nil || got != path {
		t.Errorf("%s %v", got, err)
	}
	if got, err := agentIn([]string{dir}, runtime.GOARCH, build.Unknown); err != nil || got != path {
		t.Errorf("%s %v", got, err)
	}
	_, err = agentIn([]string{dir}, runtime.GOARCH, "v2.0")
	if err == nil || !strings.Contains(err.Error(), path+" has version v1.0, and this is whichfs v2.0") {
		t.Errorf("%v", err)
	}
}
