package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// Scripts that need no root, and run as the user of the tests.
func TestScripts(t *testing.T) {
	scripts(t, "testdata/script/*.txtar")
}

// Scripts on this machine's own kernel, which needs root. For other users that
// machine is refused; local.txtar tests that.
func TestRootScripts(t *testing.T) {
	if os.Geteuid() == 0 {
		needs.Devices(t)
		scripts(t, "testdata/root/*.txtar")
		return
	}
	scripts(t, "testdata/script/local.txtar")
}

func scripts(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts match %s: %v", pattern, err)
	}
	path := labtest.Agent(t, runtime.GOARCH)
	testscript.Run(t, testscript.Params{
		Files: files, WorkdirRoot: public(t), UpdateScripts: *golden.Update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("WHICHFS_STORE", filepath.Join(e.WorkDir, "results.db"))
			e.Setenv("WHICHFS_CACHE", filepath.Join(e.WorkDir, "cache"))
			e.Setenv(machine.AgentVariable, path)
			e.Setenv("TERM", "xterm")
			e.Setenv("WHICHFS_RETAKE", "false") // scripts run beside each other
			program, err := command.Look("whichfs")
			if err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(e.WorkDir, "bin"), 0o755); err != nil {
				return err
			}
			if err := os.Symlink(program, filepath.Join(e.WorkDir, "bin", "whichfs")); err != nil {
				return err
			}
			return small(filepath.Join(e.WorkDir, "tree"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": doExits, "valid": doValid, "await": doAwait, "damage": doDamage, "cut": doCut, "odd": doOdd, "whichfs-ids": doIDs,
			"loop": doLoop, "named": doNamed, "resize": doResize, "tmpfs": doTmpfs, "clean": doClean, "module": doModule, "crash-files": doCrashFiles,
		},
	})
}

// small makes a tree that takes almost no time.
func small(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "one"), []byte(strings.Repeat("one\n", 1000)), 0o644),
		os.WriteFile(filepath.Join(dir, "sub", "two"), []byte(strings.Repeat("two\n", 10)), 0o755),
		os.Symlink("sub/two", filepath.Join(dir, "link")),
	)
}

// exits STATUS PROGRAM ARGUMENT…: runs a program, which must exit with exactly
// this status, and writes its output to the files out and err, with everything
// that differs between runs made equal.
func doExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGUMENT…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended interface{ ExitCode() int }
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		status = ended.ExitCode()
	}
	if status != want {
		ts.Fatalf("exit status %d instead of %d", status, want)
	}
	for _, name := range []string{"out", "err"} {
		text := equalised(ts.ReadFile("std"+name), ts.Getenv("WORK"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

var differing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{4}\b`), "RUN"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d( UTC)?`), "DATE"},
	{regexp.MustCompile(`after \d+\.\d s`), "after T s"},
	{regexp.MustCompile(` +\d+\.\d s( +waited [0-9.]+ % in [a-z-]+)?\b`), "  T s"},
	{regexp.MustCompile(`about \d+ s left`), "about T left"},
	{regexp.MustCompile(`\d[\d.]* (ms|s) of running`), "T of running"},
	{regexp.MustCompile(`Overhead: .*`), "Overhead: T"},
	{regexp.MustCompile(`\d+ % of the running time`), "T of the running time"},
	{regexp.MustCompile(`[0-9a-f]{12}…`), "DIGEST…"},
	{regexp.MustCompile(`process \d+`), "process N"},
	{regexp.MustCompile(`--destroy \d+:[-0-9]+`), "--destroy ID"},
	{regexp.MustCompile(`/dev/loop\d+`), "/dev/loopN"},
	{regexp.MustCompile(`\bloop\d+`), "loopN"},
	{regexp.MustCompile(`(?m)^(go  +)go.*`), "${1}VERSION"},
	{regexp.MustCompile(`(?m)^(agent for \w+  +).*`), "${1}VERSION"},
}

func equalised(text, work string) string {
	text = strings.ReplaceAll(text, work, "$WORK")
	for _, d := range differing {
		text = d.pattern.ReplaceAllString(text, d.with)
	}
	return text
}

// valid json|xml FILE: the file is one well-formed document.
func doValid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid json|xml FILE")
	}
	text := ts.ReadFile(args[1])
	switch args[0] {
	case "json":
		if !json.Valid([]byte(text)) {
			ts.Fatalf("%s is not JSON", args[1])
		}
	case "xml":
		d, elements := xml.NewDecoder(strings.NewReader(text)), 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			ts.Check(err)
			if _, ok := token.(xml.StartElement); ok {
				elements++
			}
		}
		if elements == 0 {
			ts.Fatalf("%s is empty", args[1])
		}
	default:
		ts.Fatalf("unknown format %q", args[0])
	}
}

// await N: waits until N trials of the last run have ended.
func doAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		_, ended, err := progressOf(ts.Getenv("WHICHFS_STORE"))
		if err == nil && len(ended) >= want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d trials instead of %d: %v", len(ended), want, err)
		}
	}
}

// progressOf returns the last run of a store and the places of its trials that
// have ended, in order.
func progressOf(path string) (id string, ended []string, err error) {
	st, err := store.OpenReadOnly(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = st.Close() }()
	r, err := st.Run("last")
	if err != nil {
		return "", nil, err
	}
	trials, err := st.Trials(r.ID)
	for _, t := range trials {
		if t.Outcome != "" {
			ended = append(ended, strconv.Itoa(t.Round)+" "+t.Candidate)
		}
	}
	return r.ID, ended, err
}

// damage FILE OFFSET LENGTH: overwrites a part of a file. Of a directory, the
// archives in it.
func doDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: damage FILE OFFSET LENGTH")
	}
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	length, err := strconv.Atoi(args[2])
	ts.Check(err)
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file matches %s", args[0])
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		ts.Check(err)
		_, err = f.WriteAt([]byte(strings.Repeat("#", length)), offset)
		ts.Check(err)
		ts.Check(f.Close())
	}
}

// cut FILE SIZE: makes a file shorter.
func doCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE SIZE")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// whichfs-ids: sets RUN1, RUN2… to the names of the runs in the store, the
// oldest first.
func doIDs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: whichfs-ids")
	}
	st, err := store.OpenReadOnly(ts.Getenv("WHICHFS_STORE"))
	ts.Check(err)
	defer func() { _ = st.Close() }()
	runs, err := st.Runs()
	ts.Check(err)
	for i, r := range runs {
		ts.Setenv("RUN"+strconv.Itoa(len(runs)-i), r.Run.ID)
	}
}
