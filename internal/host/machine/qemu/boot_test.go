package qemu

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
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

// Two kernels boot from a simulated card. The virtual lab's test has what cannot be booted.
func TestBootKernels(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,128M", Data: machinetest.Data(t)})
	if d := machinetest.CarryOut(t, s, "f2fs", machinetest.RootScenario()).Done; d.Outcome != result.Done {
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
}

func TestBootParameters(t *testing.T) {
	c, err := filesystem.Parse("btrfs -o compress=zstd:3,noatime")
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{plan: planned{spec: media.Storage{Kind: media.KindSD}, config: config{append: []string{"whichfs.fault=hang@phase", rotationalParameter}}}}
	want := "whichfs.root=btrfs whichfs.options=compress=zstd:3,noatime whichfs.card whichfs.rotational"
	if got := strings.Join(s.bootParameters(&labguest.BootPlan{}, c), " "); got != want {
		t.Errorf("%s", got)
	}
}
