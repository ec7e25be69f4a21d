package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// onDevice starts a run with trials on partitions of its own loop device, and
// waits until the kernel has one.
func onDevice(t *testing.T) (p *program, run *exec.Cmd, args []string, partition string) {
	t.Helper()
	p = newProgram(t, `{}`)
	p.env = append(p.env, machine.AgentVariable+"="+labtest.Agent(t, runtime.GOARCH))
	image := filepath.Join(p.dir, "disk.img")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 128<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	device := losetup(t, "--find", "--show", image)
	id, err := idOf(device)
	if err != nil {
		t.Fatal(err)
	}
	args = []string{"run", "pandora-2012", "--machine", "local", "--storage", device, "--destroy", id, "--candidates", "ext4", "--rounds", "1000",
		"--seed", "3"} // which draws the shifted one first
	run = p.command(args...)
	var errs bytes.Buffer
	run.Stderr = &errs
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(device)
	partitions := func() []string {
		found, _ := filepath.Glob("/sys/block/" + name + "/*/partition") // the pattern is right
		return found
	}
	t.Cleanup(func() {
		defer losetup(t, "-d", device)
		_ = run.Process.Kill()
		_ = run.Wait()
		// The device would keep a partition for the next file, and the agent ends a moment after the run.
		wait.Until(t, "its partition can be removed", func() bool {
			if len(partitions()) > 0 {
				_ = exec.Command("delpart", device, "1").Run()
			}
			return len(partitions()) == 0
		})
	})
	for deadline := time.Now().Add(wait.Patience); partition == ""; time.Sleep(time.Millisecond) {
		if found := partitions(); len(found) > 0 {
			partition = filepath.Base(filepath.Dir(found[0]))
		} else if time.Now().After(deadline) {
			t.Fatalf("no partition of %s\n%s", name, errs.String())
		}
	}
	return p, run, args, partition
}

// freeze stops the agent of a run while the kernel has the run's partition.
func freeze(t *testing.T, run *exec.Cmd, partition string) {
	t.Helper()
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(time.Millisecond) {
		agents := children(t, run.Process.Pid)
		signal := func(s syscall.Signal) {
			for _, pid := range agents {
				_ = syscall.Kill(-pid, s) // each leads a group
			}
		}
		signal(syscall.SIGSTOP)
		for slices.ContainsFunc(agents, runs) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if _, err := os.Stat("/sys/class/block/" + partition); err == nil && len(agents) > 0 {
			return
		}
		signal(syscall.SIGCONT)
		if time.Now().After(deadline) {
			t.Fatal("no partition to stop the agent with")
		}
	}
}

// runs reports whether one of a process's threads has not stopped.
func runs(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is right
	return slices.ContainsFunc(threads, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(text), ") T ")
	})
}

// children returns the child processes of a process.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		text, _ := os.ReadFile(path) // it may have ended
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func losetup(t *testing.T, args ...string) string {
	t.Helper()
	r, err := command.Run(context.Background(), command.Options{}, append([]string{"losetup"}, args...)...)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(r.Stdout)
}

// begun begins a run, which ends with the test.
func begun(t *testing.T, p *program, args []string) *exec.Cmd {
	t.Helper()
	run := p.command(args...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	return run
}

// killed kills a run while the kernel has its partition, and waits until clean finds what it left. Where the
// trial on the partition had just ended, the run is begun again.
func killed(t *testing.T, p *program, run *exec.Cmd, args []string, partition string) (found string) {
	t.Helper()
	deadline := time.Now().Add(wait.Patience)
	until := func(what string, reached func() bool) {
		t.Helper()
		for ; !reached(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %s in\n%s", what, found)
			}
		}
	}
	for {
		_ = run.Process.Kill()
		_ = run.Wait()
		// The agent ends afterwards, and cannot be waited for.
		left := false
		until("directory", func() bool {
			_, err := os.Stat("/sys/class/block/" + partition)
			found, _ = p.run(t, 0, "clean", "--dry-run")
			left = strings.Contains(found, "found    partition "+partition+", ")
			return (left || err != nil) && strings.Contains(found, "found    directory "+p.dir)
		})
		if left {
			return found
		}
		p.run(t, 0, "clean")
		run = begun(t, p, args)
		until("partition "+partition, func() bool {
			_, err := os.Stat("/sys/class/block/" + partition)
			return err == nil
		})
	}
}

// doctor names the leftovers of a killed run, and clean or the next run on the
// same storage removes them. Objects of others, and those that a living run
// uses, stay.
func TestClean(t *testing.T) {
	needs.Devices(t)
	t.Parallel()
	_, living, _, used := onDevice(t)
	freeze(t, living, used)
	p, run, args, partition := onDevice(t)
	found := killed(t, p, run, args, partition)
	foreign := filepath.Join(p.dir, "cache", "work", "whichfs-agent-12345")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	doctor := p.command("doctor")
	said, _ := doctor.Output() // its status is that of the lab
	if !strings.Contains(string(said), "\nLeft by a killed whichfs\n") || !strings.Contains(string(said), "  left     partition "+partition+", ") ||
		!strings.Contains(string(said), "\n  → whichfs clean\n") {
		t.Errorf("doctor:\n%s", said)
	}
	ordinary := exec.Command("nobody", "clean")
	ordinary.Env = p.env
	var refused bytes.Buffer
	ordinary.Stderr = &refused
	kept, err := ordinary.Output()
	if statusOf(err) != exitRefused || !strings.Contains(string(kept), "kept     partition "+partition+", ") ||
		!strings.Contains(string(kept), ": needs root\n") || !strings.Contains(refused.String(), "could not be removed\n  → sudo whichfs clean\n") {
		t.Errorf("an ordinary user's: %v\n%s%s", err, kept, refused.String())
	}
	cleaned, _ := p.run(t, 0, "clean", "--work", filepath.Dir(p.dir))
	if !strings.Contains(cleaned, "removed  partition "+partition+", ") || !strings.Contains(cleaned, "removed  directory "+p.dir) {
		t.Errorf("clean:\n%s", cleaned)
	}
	for _, text := range []string{found, string(said), cleaned} {
		if strings.Contains(text, used+",") || strings.Contains(text, foreign) {
			t.Errorf("a living run's or somebody else's is among\n%s", text)
		}
	}
	if _, err := os.Stat("/sys/class/block/" + used); err != nil {
		t.Errorf("a living run's partition: %v", err)
	}
	if again, _ := p.run(t, 0, "clean"); strings.Contains(again, partition) || strings.Contains(again, p.dir) {
		t.Errorf("once more:\n%s", again)
	}
	if left, err := os.ReadDir(filepath.Dir(foreign)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}

	p, run, args, partition = onDevice(t)
	killed(t, p, run, args, partition)
	next := begun(t, p, args)
	// The new run's own partition has replaced the stale one.
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(10 * time.Millisecond) {
		// In this order: a partition after the removal of the stale one is a
		// different one.
		stale, _ := p.run(t, 0, "clean", "-n")
		if _, err := os.Stat("/sys/class/block/" + partition); err == nil && !strings.Contains(stale, partition+",") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the stale partition is in the way of the next run")
		}
	}
	killed(t, p, next, args, partition)
	p.run(t, 0, "clean")
	if again, _ := p.run(t, 0, "clean", "-n"); strings.Contains(again, partition) || strings.Contains(again, p.dir) {
		t.Errorf("in the end:\n%s", again)
	}
}
