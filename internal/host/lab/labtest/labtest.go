// Package labtest sets up what tests with guests need: the lab's image, an agent, and test programs
// that run in a guest. It makes nothing before a test asks for it.
package labtest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
)

// Guest makes the image of an architecture if it is missing, and returns the path of an agent for
// its guests.
func Guest(t testing.TB, a lab.Arch) (agent string) {
	t.Helper()
	needs.Guest(t)
	if _, err := lab.Build(t.Context(), a, nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build --arch %s", err, a.Name)
	}
	return Agent(t, a.GOARCH)
}

// Virtual makes the image and the kernel of the virtual lab if they are missing, and returns the path
// of an agent for its guests.
func Virtual(t testing.TB) (agent string) {
	t.Helper()
	agent = Guest(t, lab.Native())
	if _, err := virtual.Build(t.Context(), virtual.Choice{}, nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build --virtual", err)
	}
	return agent
}

// Counting does the same with the kernel that counts what its processor does.
func Counting(t testing.TB) (agent string) {
	t.Helper()
	agent = Virtual(t)
	if _, err := virtual.Build(t.Context(), virtual.Choice{Counting: true}, nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build --virtual --counting", err)
	}
	return agent
}

// Agent returns the path of an agent that no other test uses: the one built by make, or one built
// now.
func Agent(t testing.TB, goarch string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whichfs-agent")
	made := os.Getenv("WHICHFS_BIN")
	if made == "" {
		build(t, []string{"GOARCH=" + goarch, "GOARM=7"}, "build", "-o", path, "whichfs/cmd/whichfs-agent")
		return path
	}
	name := "whichfs-agent"
	if goarch != runtime.GOARCH {
		name += "-linux-" + goarch
	}
	if err := os.Symlink(filepath.Join(made, name), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Program builds a package's test program, which needs no library of the guest.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	needs.Guest(t)
	path := filepath.Join(t.TempDir(), "test")
	build(t, nil, "test", "-c", "-o", path, pkg)
	return path
}

func build(t testing.TB, env []string, words ...string) {
	t.Helper()
	if _, err := command.Run(t.Context(), command.Options{Env: append(env, "CGO_ENABLED=0")}, append([]string{"go"}, words...)...); err != nil {
		t.Fatal(err)
	}
}
