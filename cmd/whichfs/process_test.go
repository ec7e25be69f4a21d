package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whichfs/internal/testing/wait"
)

// program starts whichfs as a separate process, with its store and cache in a
// directory.
type program struct {
	path string // of whichfs
	dir  string
	env  []string
}

// itself is the path of the program that users have. The test binary can be it, too, but with the race
// detector it takes many times as long.
func itself() string {
	return filepath.Join(cmp.Or(os.Getenv("WHICHFS_BIN"), filepath.Join("..", "..", "bin")), "whichfs")
}

func newProgram(t *testing.T, script string) *program {
	t.Helper()
	p, err := programIn(t.TempDir(), script)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// programIn is a program with this directory.
func programIn(dir, script string) (*program, error) {
	p := &program{path: "whichfs", dir: dir}
	if err := small(filepath.Join(dir, "tree")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "fake.json"), []byte(script), 0o644); err != nil {
		return nil, err
	}
	p.env = append(os.Environ(), "TERM=xterm", "WHICHFS_RETAKE=false", // tests run beside each other
		"WHICHFS_STORE="+p.store(), "WHICHFS_CACHE="+filepath.Join(dir, "cache"),
		"WHICHFS_FAKE="+filepath.Join(dir, "fake.json"))
	return p, nil
}

func (p *program) store() string { return filepath.Join(p.dir, "results.db") }

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run runs it to its end, which must have this status.
func (p *program) run(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if got := statusOf(err); got != status {
		t.Fatalf("whichfs %s: status %d instead of %d (%v)\n%s%s", strings.Join(args, " "), got, status, err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// statusOf is an exit status; -1 for a program that was killed.
func statusOf(err error) int {
	if err == nil {
		return 0
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return -2
}

// waitFor waits until the store holds the given number of ended trials of a
// run.
func (p *program) waitFor(t *testing.T, trials int) (run string, ended []string) {
	t.Helper()
	wait.While(t, func() string {
		var err error
		if run, ended, err = progressOf(p.store()); err == nil && len(ended) >= trials {
			return ""
		}
		return fmt.Sprintf("%d trials instead of %d: %v", len(ended), trials, err)
	})
	return run, ended
}

// endless takes so long that a test on a busy machine finishes its checks
// before the run ends; hurry makes the rest of it quick.
const endless = `{"delay": 0.25}`

func (p *program) hurry(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "fake.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
}

var fourCandidates = []string{"run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--seed", "11", "--rounds", "6",
	"--candidates", "ext4; xfs; btrfs -m single; erofs"}

// A signal ends a run cleanly, and the message names the command that continues
// it.
func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, endless)
			cmd := p.command(fourCandidates...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			run, _ := p.waitFor(t, 1)
			// Meanwhile no other process may carry it out or delete it.
			for _, args := range [][]string{{"resume"}, {"runs", "--delete", run}} {
				if _, text := p.run(t, exitRefused, args...); !strings.Contains(text, "another process is carrying out run "+run) {
					t.Errorf("%s: %s", args, text)
				}
			}
			if list, _ := p.run(t, 0, "runs"); !strings.Contains(list, " running ") {
				t.Errorf("the list of runs:\n%s", list)
			}
			p.run(t, 0, "report", "--summary")
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); statusOf(err) != exitInterrupted {
				t.Fatalf("%v\n%s", err, errs.String())
			}
			for _, want := range []string{
				"whichfs: interrupted; every finished trial is stored\n",
				"  → whichfs resume " + run + " continues where it stopped\n",
			} {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("%q is not in:\n%s", want, errs.String())
				}
			}
			if list, _ := p.run(t, 0, "runs"); !strings.Contains(list, " interrupted ") {
				t.Errorf("the list of runs:\n%s", list)
			}
			p.hurry(t)
			out2, _ := p.run(t, 0, "resume", run)
			if !strings.Contains(out2, "24 of 24 trials done.") {
				t.Errorf("after resume:\n%s", out2)
			}
		})
	}
}

// Before a run has begun there is nothing to resume.
func TestInterruptedBeforeTheRun(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	// Another process's lock on the cache keeps it from starting.
	data := filepath.Join(p.dir, "cache", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(data, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // empty
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cmd := p.command(fourCandidates...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It waits for the lock once it has the file open.
	wait.Until(t, "it waits for the lock", func() bool { return hasOpen(cmd.Process.Pid, lock.Name()) })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); statusOf(err) != exitInterrupted || errs.String() != "whichfs: interrupted\n" {
		t.Fatalf("%v\n%s", err, errs.String())
	}
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, path string) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(f string) bool {
		target, err := os.Readlink(f)
		return err == nil && target == path
	})
}
