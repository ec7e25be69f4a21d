package qemu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// A small card is made, mounted and filled like any other, and the operations of its flash are
// reported with each phase.
func TestSimulatedCard(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,128M", Data: machinetest.TinyData(t)}).(*Session)
	if r := s.Ready(); r.Size != 128<<20 {
		t.Errorf("size %d", r.Size)
	}
	sandboxed(t, s)
	plan := append(scenario.Scenario{{Work: "discard"}}, short...)
	got := machinetest.CarryOut(t, s, "ext4", plan)
	if got.Done.Outcome != result.Done {
		t.Fatalf("%+v", got.Done)
	}
	for _, phase := range append([]string{labguest.WholeTrial}, plan.Phases()...) {
		f := got.Figures[phase]
		for _, metric := range []string{result.FlashWritten, result.FlashProgrammed, result.FlashCopied, result.FlashErased, result.FlashMerges} {
			if m, ok := f[metric]; !ok || m.Absent != "" || m.Value < 0 {
				t.Errorf("phase %s: %s is %+v", phase, metric, m)
			}
		}
	}
	whole, write := got.Figures[labguest.WholeTrial], got.Figures["write"]
	if w := write[result.FlashWritten].Value; w <= 0 || w > whole[result.FlashWritten].Value {
		t.Errorf("%v bytes were sent to the card in phase write, %v in all", w, whole[result.FlashWritten].Value)
	}
	if w := write[result.DeviceWritten].Value; w <= 0 || w > write[result.FlashWritten].Value {
		t.Errorf("the guest sent %v bytes in phase write, the card had %v", w, write[result.FlashWritten].Value)
	}
	if w, p := whole[result.FlashWritten].Value, whole[result.FlashProgrammed].Value; p < w {
		t.Errorf("%v bytes programmed for %v written", p, w)
	}
	for _, metric := range []string{result.FlashSpread, result.FlashBlocks, result.FlashBlock, result.FlashCycles} {
		if m := whole[metric]; m.Absent == "" && m.Value < 1 || m.Metric == "" {
			t.Errorf("%s is %+v", metric, m)
		}
	}
	if stats := s.guest.sim.server.Stats(); stats.Flushes == 0 {
		t.Error("no flush reached the card")
	}
	// A guest whose card is gone says nothing about the filesystem.
	if loss, ok := s.PowerCut(); !ok {
		t.Errorf("no power to cut: %+v", loss)
	}
	_, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: plan, StepLimit: wait.Patience.Seconds()}, machine.Events{})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(e.Error(), "simulated storage was lost") {
		t.Errorf("a trial without a card: %v", err)
	}
}

// QEMU is killed with requests in flight: nothing of the session is left.
func TestSimulatedCardDisappearsWithGuest(t *testing.T) {
	files := countFiles(t)
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,64M"}).(*Session)
	over := make(chan error, 1)
	kill := func() {
		before := s.guest.sim.server.Stats().Writes
		for s.guest.sim.server.Stats().Writes < before+3 { // mkfs writes more
			time.Sleep(time.Millisecond)
		}
		over <- unix.Kill(s.guest.process.Pid(), unix.SIGKILL)
	}
	_, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: short[:2]}, machine.Events{Phase: func(name string) {
		if name == "mkfs" {
			go kill()
		}
	}})
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	machinetest.LabFailure(t, err, "killed", "the guest is up")
	_ = s.Close()
	buf := make([]byte, 1<<20)
	wait.While(t, func() string {
		stacks := buf[:runtime.Stack(buf, true)]
		if now := countFiles(t); bytes.Contains(stacks, []byte("flash/nbd.(")) || now > files {
			return fmt.Sprintf("%d open files, before it %d; goroutines:\n%s", now, files, stacks)
		}
		return ""
	})
}

func countFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestSimulatedRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("name = 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for storage, want := range map[string][2]string{
		"sim:nosuchcard":     {`there is no model "nosuchcard"`, "whichfs list models"},
		"sim:./nosuch.toml":  {"nosuch.toml", ""},
		"sim:" + bad:         {bad + ":1", ""},
		"sim:free,9000G":     {"is kept in memory, and beyond 1024 MiB in a file", "sim:free,1G"},
		"sim:free,1G,bps=1M": {"storage", ""},
	} {
		_, err := New(Options{}).plan(fakeHost(), machine.Spec{Storage: storage, Work: t.TempDir()})
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Error(), want[0]) || !strings.Contains(e.Hint, want[1]) {
			t.Errorf("%s: %+v", storage, err)
		}
	}
}

// The arguments of QEMU and the report's conditions for simulated storage.
func TestSimulatedArgv(t *testing.T) {
	for name, spec := range map[string]string{"sim-card": "sim:sd-basic,256M", "sim-nvme": "sim:nvme,1G", "sim-disk": "sim:hdd,1G", "sim-free": "sim:free,1G"} {
		h := fakeHost()
		p, err := New(Options{}).plan(h, machine.Spec{Storage: spec, Work: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.files {
			defer f.Close()
		}
		text := strings.Join(append(p.config.sim.argv(7, "disk1", "lab0", true), p.config.append...), "\n") + "\n\nprepare " + p.prepare.Storage + "\n"
		for _, c := range p.conditions() {
			value := c.Value
			if c.Name == "model digest" { // changes with every figure of a model
				value = strconv.Itoa(len(value)) + " digits"
			}
			text += fmt.Sprintf("%s: %s: %s, matters %v\n", c.Group, c.Name, value, c.Matters)
		}
		golden.Check(t, name+".txt", text)
	}
}
