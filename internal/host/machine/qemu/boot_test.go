package qemu

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/target/workload"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// boot boots and returns the figures by phase and metric.
func boot(t *testing.T, s machine.Session, b machine.Boot) (map[string]map[string]result.Measurement, []result.Note, wire.Done) {
	t.Helper()
	got := map[string]map[string]result.Measurement{}
	var notes []result.Note
	b.Repeats = 1
	d, err := s.(machine.Booter).Boot(t.Context(), b, machine.Events{Figures: func(f wire.Figures) {
		got[f.Phase] = map[string]result.Measurement{}
		for _, m := range f.Measurements {
			got[f.Phase][m.Metric] = m
		}
		notes = append(notes, f.Notes...)
	}})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	return got, notes, d
}

// Two kernels boot from a simulated card, and then none does: with another filesystem's driver,
// without a first process, by a kernel that does not exist.
func TestBootKernels(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,128M", Data: machinetest.Data(t)})
	root := machinetest.RootScenario()
	if d := machinetest.CarryOut(t, s, "f2fs", root).Done; d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	kernels := []string{"6.1", "6.12"}
	got, notes, d := boot(t, s, machine.Boot{Candidate: parsed.Candidate("f2fs"), Kernels: kernels})
	if d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	for i, k := range kernels {
		f := got["boot "+k]
		for _, metric := range []string{result.Wall, result.BootRoot, result.BootKernel, result.ModuleSize, result.ModuleOwn} {
			if m := f[metric]; m.Absent != "" || m.Value <= 0 {
				t.Errorf("kernel %s: %s is %+v", k, metric, m)
			}
		}
		if m := f[result.BootSpread]; m.Absent == "" {
			t.Errorf("kernel %s: one boot has a spread: %+v", k, m)
		}
		if i >= len(notes) || !strings.Contains(notes[i].Text, "kernel "+k+".") {
			t.Errorf("notes %+v", notes)
		}
	}
	if got["boot 6.1"][result.ModuleOwn].Value == got["boot 6.12"][result.ModuleOwn].Value {
		t.Error("both kernels have the same module")
	}
	if _, _, d := boot(t, s, machine.Boot{Candidate: parsed.Candidate("vfat")}); d.Outcome != result.SubjectFailed || !strings.Contains(d.Reason, "mount -t vfat") || !strings.Contains(d.Reason, "console's last lines") {
		t.Errorf("vfat where f2fs is: %+v", d)
	}
	if _, _, d := boot(t, s, machine.Boot{Candidate: parsed.Candidate("f2fs"), Kernels: []string{"6.1", "9.9"}}); d.Outcome != result.Refused || !strings.Contains(d.Reason, "6.1, 6.12") {
		t.Errorf("kernel 9.9: %+v", d)
	}
	none := slices.Concat(root[:3], scenario.Scenario{{Work: "unmount"}})
	if d := machinetest.CarryOut(t, s, "ext4", none).Done; d.Outcome != result.Done {
		t.Fatalf("%+v", d)
	}
	if _, _, d := boot(t, s, machine.Boot{Candidate: parsed.Candidate("ext4")}); d.Outcome != result.SubjectFailed || !strings.Contains(d.Reason, "start /"+workload.FirstProcess+": no such file") {
		t.Errorf("without a first process: %+v", d)
	}
}

func TestNotBootable(t *testing.T) {
	s := &Session{plan: planned{spec: media.Storage{Kind: media.KindDisk}}}
	for _, c := range []struct {
		boot machine.Boot
		kind string
		want result.Outcome
		text string
	}{
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1, Variant: scenario.Variant{Part: &scenario.Part{}}}, want: result.Refused, text: "part of the storage"},
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4 -o 'a b'"), Repeats: 1}, want: result.Refused, text: "command line"},
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1}, kind: media.KindRAM, want: result.Unsupported, text: "memory"},
		{boot: machine.Boot{Candidate: parsed.Candidate("erofs"), Repeats: 1}, want: result.Unsupported, text: "image"},
	} {
		s.plan.spec.Kind = media.KindDisk
		if c.kind != "" {
			s.plan.spec.Kind = c.kind
		}
		if _, d := s.bootable(c.boot); d.Outcome != c.want || !strings.Contains(d.Reason, c.text) {
			t.Errorf("%+v: %+v", c.boot, d)
		}
	}
}

func TestBootParameters(t *testing.T) {
	c, err := filesystem.Parse("btrfs -o compress=zstd:3,noatime")
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{plan: planned{spec: media.Storage{Kind: media.KindSD}, config: config{append: []string{"whichfs.fault=hang@phase", rotationalParameter}}}}
	want := "whichfs.root=btrfs whichfs.options=compress=zstd:3,noatime whichfs.card whichfs.rotational"
	if got := strings.Join(s.bootParameters(c), " "); got != want {
		t.Errorf("%s", got)
	}
}

// message is the line that a guest prints.
func message(t testing.TB, b pid1.Booted) string {
	t.Helper()
	var out bytes.Buffer
	if err := wire.New(nil, &out, nil).Send(pid1.KindBooted, 1, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The cause of a failed boot is identified.
func TestFailedBootIsAttributed(t *testing.T) {
	console := []string{"whichfs: " + pid1.RootMark, "[ 1.5] EXT4-fs error", "", strings.TrimSpace(message(t, pid1.Booted{}))}
	for _, c := range []struct {
		b    pid1.Booted
		late bool
		want result.Outcome
		text string
	}{
		{b: pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}},
		{b: pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}, late: true, want: result.SubjectFailed, text: "did not power off"},
		{b: pid1.Booted{Outcome: result.SubjectFailed, Failed: "mount: no"}, want: result.SubjectFailed, text: "mount: no (the console's last lines: [ 1.5] EXT4-fs error)"},
		{b: pid1.Booted{Outcome: result.LabFailed, Failed: "no disk"}, want: result.LabFailed, text: "no disk"},
		{b: pid1.Booted{Kernel: 1, Root: -2, Outcome: result.Done}, want: result.LabFailed, text: "times of 1 s and -2 s"},
	} {
		_, err := judge(c.b, c.late, console)
		var subject *result.Failure
		var e *result.Failure
		got := result.Outcome("")
		switch {
		case errors.As(err, &subject):
			got = subject.Outcome
		case errors.As(err, &e):
			got = e.Outcome
		}
		if got != c.want || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c.b, err)
		}
	}
}

func TestBootFigures(t *testing.T) {
	p := bootPlan{phase: "boot 6.1", kernel: lab.Kernel{Offer: lab.Offer{Release: "6.1.0-1-amd64"}}, own: "f2fs",
		sizes:  map[string]int64{"f2fs": 3, "crc32_generic": 2, "crc32_pclmul": 90},
		booted: []pid1.Booted{{Kernel: 1, Root: 2}, {Kernel: 4, Root: 8, Refused: "crc32_pclmul,x", Unclean: "it cannot be made read-only: no"}}}
	values := map[string]float64{}
	f := p.figures()
	for _, m := range f.Measurements {
		values[m.Metric] = m.Value
	}
	for metric, want := range map[string]float64{result.Wall: 4, result.BootRoot: 4, result.BootKernel: 2, result.BootSpread: 3,
		result.BootRepeats: 2, result.ModuleSize: 5, result.ModuleOwn: 3} {
		if math.Abs(values[metric]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", metric, values[metric], want)
		}
	}
	if text := fmt.Sprint(f.Notes); !strings.Contains(text, "6.1.0-1-amd64") || !strings.Contains(text, "before power-off it cannot be made read-only") {
		t.Error(text)
	}
	p.sizes = nil
	for _, m := range p.figures().Measurements {
		if strings.HasPrefix(m.Metric, "module.") != (m.Absent != "") {
			t.Errorf("%+v", m)
		}
	}
}

func FuzzBootedLine(f *testing.F) {
	f.Add("[  1.0] noise " + message(f, pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}))
	f.Add("@wfs 2 00000000 {}")
	f.Fuzz(func(t *testing.T, line string) {
		if b, ok := bootedLine(line); ok {
			if again, ok := bootedLine(message(t, b)); !ok || again != b {
				t.Errorf("%+v became %+v", b, again)
			}
		}
	})
}
