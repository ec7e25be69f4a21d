package machine

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/result"
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
	_, err = agentIn(dir, runtime.GOARCH)
	fails(err, "no whichfs-agent or whichfs-agent-linux-"+runtime.GOARCH+" in "+dir)
	for _, name := range []string{"whichfs-agent-linux-" + runtime.GOARCH, "whichfs-agent"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if got, err := agentIn(dir, runtime.GOARCH); err != nil || got != filepath.Join(dir, name) {
			t.Errorf("%s %v", got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "whichfs-agent-linux-"+foreign), []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = agentIn(dir, foreign)
	fails(err, "is not a program")
}

// A program that needs shared libraries makes a guest panic silently.
func TestAgentMustBeStatic(t *testing.T) {
	if err := checkAgent("/bin/sh", runtime.GOARCH); err == nil || !strings.Contains(err.Error(), "shared libraries") {
		t.Fatalf("a dynamically linked program was taken: %v", err)
	}
}
