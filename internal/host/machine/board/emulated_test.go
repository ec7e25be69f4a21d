package board_test

import (
	"testing"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest/emulated"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// emulate starts a board with a processor of its own, which has mkfs.ext4.
func emulate(t *testing.T, name string) (*emulated.Board, *board.Machine) {
	t.Helper()
	a, err := lab.ArchNamed(name)
	must.Do(t, err)
	o := board.Options{Agent: labtest.Agent(t, a.GOARCH), Progress: func(text string) { t.Log(text) }}
	with := emulated.Options{Board: name, Dir: t.TempDir(), Card: 64 << 20, Memory: 192 << 20, MakesExt4: true, Progress: o.Progress}
	if name == emulated.Serial { // sending it takes minutes
		with.Programs, o.Installed = map[string]string{"whichfs-agent": o.Agent}, "/bin/whichfs-agent"
	}
	needs.Guest(t)
	b, err := emulated.Start(t.Context(), with)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.Said())
		}
	})
	o.Config = b.Config()
	m, err := board.New(b.File(), o)
	must.Do(t, err)
	return b, m
}

// onCard is a session on the board's card, with data that the board generates.
func onCard(t *testing.T, m *board.Machine) machine.Session {
	t.Helper()
	s, err := m.Start(t.Context(), machine.Spec{Storage: "/dev/mmcblk0", Destroy: "0xdeadbeef", Data: generated(t)})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A board with another processor carries a trial out on its card. Its clock jumps by a year and back meanwhile, which
// is in no figure: all of them together are no longer than the trial was here.
func TestEmulatedOverSSH(t *testing.T) {
	t.Parallel()
	b, m := emulate(t, emulated.SSH)
	s := onCard(t, m)
	if f := s.Facts(); f.Arch != "arm64" {
		t.Errorf("%+v", f)
	}
	jump := "(while :; do date -s 2040-01-01; sleep 0.1; date -s 2039-01-01; sleep 0.1; done) >/dev/null 2>&1 &"
	_, err := command.Run(t.Context(), command.Options{}, "ssh", "-F", b.Config(), "board", jump)
	must.Do(t, err)
	begun := time.Now()
	got := machinetest.CarryOut(t, s, "ext4", trial.Scenario)
	took := time.Since(begun)
	if got.Done.Outcome != result.Done {
		t.Fatalf("%+v", got.Done)
	}
	sum := 0.0
	for phase, figures := range got.Figures {
		if one, timed := figures[result.Wall]; timed && one.Absent == "" {
			if one.Value <= 0 {
				t.Errorf("%s: %+v", phase, one)
			}
			sum += one.Value
		}
	}
	if sum == 0 || sum > took.Seconds() {
		t.Errorf("phases of %v s in a trial of %v", sum, took)
	}
	year, err := command.Run(t.Context(), command.Options{}, "ssh", "-F", b.Config(), "board", "date +%Y")
	if must.Do(t, err); year.Stdout < "2039" {
		t.Errorf("its clock never jumped: %s", year.Stdout)
	}
	must.Do(t, s.Close())
}

// A board with a serial console starts anew by itself when its power was gone. Its boot loader is stopped, and boots
// from the card as the board's file says.
func TestEmulatedOverSerial(t *testing.T) {
	t.Parallel()
	_, m := emulate(t, emulated.Serial)
	s := onCard(t, m)
	if f := s.Facts(); f.Arch != "arm" {
		t.Errorf("%+v", f)
	}
	if d := machinetest.CarryOut(t, s, "ext4", machinetest.RootScenario()).Done; d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	var f wire.Figures
	d, err := s.(machine.Booter).Boot(t.Context(), machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1}, machine.Events{Figures: func(all wire.Figures) { f = all }})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	if d.Outcome != result.Done || f.Phase != "login 6.1" {
		t.Fatalf("%+v, %+v", d, f)
	}
	for _, one := range f.Measurements {
		if one.Metric == result.BootLogin && one.Value <= 0 {
			t.Errorf("%+v", one)
		}
	}
	if _, err := s.Support(t.Context(), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	must.Do(t, s.Close())
}
