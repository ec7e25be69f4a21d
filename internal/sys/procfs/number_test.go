package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const helperVariable = "WHICHFS_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		numbers()
		return
	}
	os.Exit(m.Run())
}

// numbers prints how this process and a program of its own are called in the outer procfs, and how
// they should be.
func numbers() {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	self, err := Self("/proc")
	number, nerr := Number("/proc", sleep.Process.Pid)
	text, rerr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", number))
	p, perr := ParseProcess(text)
	_, gone := Number("/proc", 1<<22-1)
	fmt.Println(os.Getpid(), self != 1, number != sleep.Process.Pid, p.Name, p.Parent == self, err, nerr, rerr, perr, gone)
}

// In a process-id namespace the machine's procfs calls processes by other numbers.
func TestNumberElsewhere(t *testing.T) {
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"=1")
	helper.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		helper.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	said, err := helper.CombinedOutput()
	if err != nil && len(said) == 0 && os.Geteuid() != 0 {
		t.Logf("an ordinary user may have no process-id namespace here: %v", err)
		return
	}
	if want := "1 true true sleep true <nil> <nil> <nil> <nil> no such process\n"; string(said) != want {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestNumberHere(t *testing.T) {
	if self, err := Self("/proc"); err != nil || self != os.Getpid() {
		t.Errorf("%d, %v", self, err)
	}
	if number, err := Number("/proc", 1); err != nil || number != 1 {
		t.Errorf("%d, %v", number, err)
	}
	proc := t.TempDir()
	if self, err := Self(proc); err == nil {
		t.Error(self)
	}
	if err := os.Symlink("12x", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	if number, err := Number(proc, 1); err == nil {
		t.Error(number)
	}
}
