package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/database"
)

// The test binary is also the program, under these names, so that the tests
// start it as users do.
func TestMain(m *testing.M) {
	testscript.Main(database.Cleaning{Tests: m}, map[string]func(){
		"whichfs": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"nobody":  asNobody,
		"limited": withLimit,
		"hiding":  hiding,
	})
}

// asNobody is whichfs as an ordinary user, whoever runs the tests.
func asNobody() {
	if os.Geteuid() == 0 {
		must(syscall.Setgroups(nil))
		must(syscall.Setgid(65534))
		must(syscall.Setuid(65534))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// withLimit is whichfs with a file size limit, its first argument, in bytes.
func withLimit() {
	n, err := strconv.ParseUint(os.Args[1], 10, 64)
	must(err)
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}))
	os.Exit(run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
}

// hiding is whichfs without the programs in its first argument, separated by
// commas. It needs root.
func hiding() {
	runtime.LockOSThread() // the namespace is the thread's
	must(unix.Unshare(unix.CLONE_NEWNS))
	must(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, name := range strings.Split(os.Args[1], ",") {
		path, err := command.Look(name)
		must(err)
		// A directory is not a program, so it is not found; mkfs.ext4 is a link.
		path, err = filepath.EvalSymlinks(path)
		must(err)
		must(unix.Mount("/dev/null", path, "", unix.MS_BIND, ""))
	}
	self, err := command.Look("whichfs")
	must(err)
	must(unix.Exec(self, append([]string{"whichfs"}, os.Args[2:]...), os.Environ()))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Args[0]+":", err)
		os.Exit(125)
	}
}

// public is a temporary directory that every user may enter.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
