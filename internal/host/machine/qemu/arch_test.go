package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/wait"
)

// foreignHost is fakeHost for guests of an architecture.
func foreignHost(t *testing.T, name string) *host {
	t.Helper()
	a, err := lab.ArchNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	h := fakeHost()
	h.program, h.noKVM = "/usr/bin/"+a.QEMU, "another architecture"
	h.image.Kernel, h.image.Manifest.Arch, h.image.Manifest.Kernel = "/cache/vmlinuz", a.GOARCH, "6.1.0-1-"+name
	return h
}

// QEMU's arguments for guests of other architectures contain nothing specific to x86.
func TestArgvOfArchitectures(t *testing.T) {
	for name, c := range map[string]struct {
		arch, storage string
		counts        bool
	}{
		"armhf-card":         {arch: "armhf", storage: "sd:256M"},
		"armhf-instructions": {arch: "armhf", storage: "ram:64M", counts: true},
		"arm64-disk":         {arch: "arm64", storage: "disk:256M"},
		"arm64-instructions": {arch: "arm64", storage: "ram:64M", counts: true},
	} {
		h := foreignHost(t, c.arch)
		p, err := New(Options{}).plan(h, machine.Spec{Storage: c.storage, Arch: c.arch, Instructions: c.counts, Work: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.files {
			defer f.Close()
		}
		p.config.console, p.config.agent = 5, 6
		text := strings.Join(p.config.argv(), "\n") + "\n"
		for _, c := range h.conditions(p) {
			text += fmt.Sprintf("%s: %s: %s\n", c.Group, c.Name, c.Value)
		}
		for _, word := range []string{"tsc", "no_timer_check", "rdrand", "erms", "q35", "ttyS0"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %s is of x86", name, word)
			}
		}
		golden.Check(t, name+".txt", text)
	}
}

func TestPlanRefusesForArchitectures(t *testing.T) {
	for _, c := range []struct {
		spec      machine.Spec
		want, how string
	}{
		{machine.Spec{Storage: "disk:1G", Arch: "mips"}, `unknown architecture "mips"; guests can have amd64, arm64, armhf`, ""},
		{machine.Spec{Storage: "disk:64M", Arch: "armhf", Memory: 3<<30 + 1}, "needs 3073M of memory, but one of architecture armhf can have at most 3G", "--arch arm64"},
		{machine.Spec{Storage: "ram:3G", Arch: "armhf"}, "can have at most 3G", "smaller storage"},
		{machine.Spec{Storage: "disk:64M", Arch: "armhf", CPUs: 9}, "a guest of architecture armhf can have at most ", "--cpus "},
	} {
		_, err := New(Options{}).plan(foreignHost(t, "armhf"), c.spec)
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint, c.how) {
			t.Errorf("%v: %+v", c.spec, err)
		}
	}
}

// A kernel without the driver for the storage is reported from its image's own list, before a guest
// is started.
func TestKernelWithoutTheDriver(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	h := foreignHost(t, "arm64")
	h.image.Dir = t.TempDir()
	nand, card := machine.Spec{Storage: "nand:64M", Arch: "arm64"}, machine.Spec{Storage: "sd:64M", Arch: "arm64", Work: t.TempDir()}
	ask := func(spec machine.Spec) error {
		p, err := New(Options{}).plan(h, spec)
		for _, f := range p.files {
			_ = f.Close()
		}
		return err
	}
	if err := ask(nand); err != nil {
		t.Errorf("without a list: %v", err)
	}
	if err := os.Mkdir(filepath.Join(h.image.Dir, "modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	list := func(name, text string) {
		if err := os.WriteFile(filepath.Join(h.image.Dir, "modules", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list("modules.builtin", "kernel/drivers/mmc/host/sdhci-pci.ko\n")
	list("modules.dep", "kernel/drivers/mtd/mtd.ko:\n")
	var e *result.Failure
	err := ask(nand)
	if !errors.As(err, &e) || e.Outcome != result.Unsupported || e.Hint == "" ||
		e.Error() != "Debian's kernel 6.1.0-1-arm64 for arm64 has no nandsim, so raw flash cannot be simulated" {
		t.Errorf("with a list that lacks it: %v", err)
	}
	if err := ask(card); err != nil {
		t.Errorf("built in: %v", err)
	}
	list("modules.dep", "kernel/drivers/mtd/nand/raw/nandsim.ko:\n")
	if err := ask(nand); err != nil {
		t.Errorf("with a list that has it: %v", err)
	}
}

var onTheChip = scenario.Scenario{
	{Work: "discard"},
	{Work: "module-load", Phase: "module-load"},
	{Work: "mount", Phase: "mount"},
	{Work: "tree-copy", Phase: "write", Data: "tree"},
	{Work: "remount"},
	{Work: "tree-read", Phase: "read", Data: "tree"},
	{Work: "unmount", Phase: "unmount"},
}

// A guest with a 32-bit ARM processor, emulated, with raw flash and the clock that counts
// instructions: everything that differs from the host at once.
func TestForeignGuest(t *testing.T) {
	t.Parallel()
	a, err := lab.ArchNamed("armhf")
	if err != nil {
		t.Fatal(err)
	}
	agent := labtest.Guest(t, a)
	begun := time.Now()
	s := begin(t, New(Options{Agent: agent, Handshake: wait.Patience}), machine.Spec{Storage: "nand:16M", Data: machinetest.Data(t), Instructions: true, Arch: "armhf"})
	t.Logf("up after %.1f s", time.Since(begun).Seconds())
	f := s.Facts()
	if f.Arch != "arm" || !strings.HasSuffix(f.Kernel, "-armmp") {
		t.Errorf("a guest of %s with kernel %s", f.Arch, f.Kernel)
	}
	for name, want := range map[string]string{"architecture": "arm", "processor": "ARMv7", "emulated": "yes", "QEMU": "cortex-a7"} {
		ok := false
		for _, c := range f.Conditions {
			ok = ok || c.Name == name && c.Matters && strings.Contains(c.Value, want)
		}
		if !ok {
			t.Errorf("no condition %s of %s that matters: %v", name, want, f.Conditions)
		}
	}
	if e, ok := s.(machine.Emulator); !ok || !e.Emulated() {
		t.Error("it is not said to be emulated")
	}
	got := machinetest.CarryOut(t, s, "jffs2", onTheChip)
	if got.Done.Outcome != result.Done {
		t.Fatalf("%+v", got.Done)
	}
	for _, phase := range onTheChip.Phases() {
		if m := got.Figures[phase][result.Instructions]; m.Absent != "" || m.Value <= 0 {
			t.Errorf("phase %s: %+v", phase, m)
		}
	}
	t.Logf("and its trial after %.1f s", time.Since(begun).Seconds())
}
