package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whichfs/internal/machine"
)

// A program that is killed while it works on this machine's own kernel leaves
// nothing mounted and nothing attached, and the next one clears away its
// directory. To others than root the kernel is refused.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	p.env = append(p.env, machine.AgentVariable+"="+agent(t))
	work := filepath.Join(p.dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	begin := []string{"run", "bootlin-2023", "--machine", "local", "--storage", "loop:512M", "--work", work, "--data", "tree",
		"--rounds", "3", "--seed", "5", "--candidates", "ext4; btrfs; erofs"}
	if os.Geteuid() != 0 {
		if _, text := p.run(t, exitRefused, begin...); !strings.Contains(text, "needs root") {
			t.Error(text)
		}
		return
	}
	seed := rand.Uint64()
	t.Logf("moments drawn from seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	for i := range 10 {
		args := []string{"resume", "--work", work}
		_, _, err := progressOf(p.store())
		if err != nil {
			args = begin
		}
		unsaved := err != nil && i >= 5 // it has been killed early often enough
		cmd := p.command(args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); unsaved && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			_, _, err := progressOf(p.store())
			unsaved = err != nil
		}
		time.Sleep(time.Duration(moments.Int64N(int64(300 * time.Millisecond))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); statusOf(err) != -1 {
			if _, ended, err := progressOf(p.store()); err == nil && len(ended) == 9 {
				break // it was done
			}
			t.Fatalf("kill %d: %v\n%s", i, err, errs.String())
		}
		if err := afterKill(work); err != nil {
			t.Errorf("kill %d: %v", i, err)
		}
	}
	out, _ := p.run(t, 0, "resume", "--work", work, "--rounds", "4")
	if !strings.Contains(out, "12 of 12 trials done") {
		t.Errorf("after resume:\n%s", out)
	}
	if err := leftovers(work); err != nil {
		t.Error(err)
	}
}

// afterKill waits for what a killed agent held: the kernel ends it at once, and
// it needs a moment to unmount.
func afterKill(work string) error {
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = leftovers(work); err == nil || onlyDirectories(work, err) {
			return nil
		}
	}
	return errors.Join(errors.New("20 s after the end"), err)
}

// onlyDirectories reports whether all that is left are empty directories.
func onlyDirectories(work string, err error) bool {
	if text := err.Error(); strings.Contains(text, "mount ") || strings.Contains(text, "loop device") {
		return false
	}
	entries, err := os.ReadDir(work)
	if err != nil {
		return false
	}
	for _, e := range entries {
		inside, err := os.ReadDir(filepath.Join(work, e.Name()))
		if err != nil || len(inside) > 0 {
			return false
		}
	}
	return true
}
