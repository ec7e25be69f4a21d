package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program starts whichfs as a process of its own, with its store and cache in
// a directory.
type program struct {
	dir string
	env []string
}

func newProgram(t *testing.T, script string) *program {
	t.Helper()
	p := &program{dir: t.TempDir()}
	if err := small(filepath.Join(p.dir, "tree")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "fake.json"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "TERM=xterm", "WHICHFS_STORE="+p.store(), "WHICHFS_CACHE="+filepath.Join(p.dir, "cache"),
		"WHICHFS_FAKE="+filepath.Join(p.dir, "fake.json"))
	return p
}

func (p *program) store() string { return filepath.Join(p.dir, "results.db") }

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command("whichfs", args...)
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

// rows are all figures of the last run, without what differs between any two
// runs (its name, the time).
func (p *program) rows(t *testing.T) []string {
	t.Helper()
	text, _ := p.run(t, 0, "report", "--csv", "-")
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range all[1:] {
		rows = append(rows, strings.Join(append(r[5:10:10], r[11:]...), ","))
	}
	return rows
}

// waitFor waits until the store holds so many ended trials of a run.
func (p *program) waitFor(t *testing.T, trials int) (run string, ended []string) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if run, ended, err = progressOf(p.store()); err == nil && len(ended) >= trials {
			return run, ended
		}
	}
	t.Fatalf("%d trials after a minute instead of %d: %v", len(ended), trials, err)
	return "", nil
}

const slow = `{"delay": 0.004}`

// endless takes so long that a test on a busy machine is done with its checks
// before the run ends; hurry makes what is left of it quick.
const endless = `{"delay": 0.25}`

func (p *program) hurry(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "fake.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
}

var fourCandidates = []string{"run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--seed", "11", "--rounds", "6",
	"--candidates", "ext4; xfs; btrfs -m single; erofs"}

// A program that is killed at any moment loses no trial that had ended, and
// whoever resumes it ends with the very figures, in the very order, that the
// run would have had.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	undisturbed := newProgram(t, `{}`)
	undisturbed.run(t, 0, fourCandidates...)
	want := undisturbed.rows(t)
	_, order, err := progressOf(undisturbed.store())
	if err != nil || len(order) != 24 {
		t.Fatalf("%d trials, %v", len(order), err)
	}

	seed := rand.Uint64()
	t.Logf("moments drawn from seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	p := newProgram(t, slow)
	args, had := fourCandidates, 0
	const kills = 15
	longest := 200 * time.Millisecond
	for killed := 0; killed < kills; {
		cmd := p.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(moments.Int64N(int64(longest))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); statusOf(err) != -1 {
			t.Fatalf("it ended by itself: %v", err)
		}
		_, ended, err := progressOf(p.store())
		if err != nil {
			if had == 0 {
				longest += 50 * time.Millisecond // it had not come as far as making a run
				continue
			}
			t.Fatalf("after kill %d: %v", killed, err)
		}
		if len(ended) < had || !slices.Equal(ended, order[:len(ended)]) {
			t.Fatalf("after kill %d there are %q, which is not how %q begins; %d were there before", killed, ended, order, had)
		}
		had = len(ended)
		killed++
		args = []string{"resume"}
		if had == len(order) {
			t.Logf("finished after %d kills", killed)
			break
		}
	}
	out, _ := p.run(t, 0, "runs")
	if lines := strings.Count(out, "\n"); lines != 2 || had < len(order) && !strings.Contains(out, " killed ") {
		t.Errorf("the list of runs:\n%s", out)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "fake.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p.run(t, 0, "resume")
	if got := p.rows(t); !slices.Equal(got, want) {
		t.Errorf("%d rows instead of %d, or others: %s", len(got), len(want), firstDifference(got, want))
	}
}

func firstDifference(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("row %d is not %q", i+1, want[i])
		}
	}
	return "there is more at the end"
}

// A signal ends a run cleanly, with the command that goes on.
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
			// Meanwhile nobody else may carry it out or take it away.
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
				"  → whichfs resume " + run + " goes on where it stopped\n",
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
	// A lock that somebody else holds on the cache keeps it from beginning.
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
	for deadline := time.Now().Add(time.Minute); !hasOpen(cmd.Process.Pid, lock.Name()); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not wait for the lock")
		}
	}
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
