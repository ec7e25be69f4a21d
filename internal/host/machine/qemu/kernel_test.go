package qemu

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/pid1"
)

// A guest on another kernel has a disk with its modules, and storage that the lab keeps the drivers for.
func TestPlanOnAnotherKernel(t *testing.T) {
	h := fakeHost()
	h.image.Dir, h.image.Manifest.Kernel, h.modules = t.TempDir(), "6.12.1", "/cache/modules.erofs"
	p, err := New(Options{}).plan(h, machine.Spec{Storage: "disk:64M", Kernel: "6.12", Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.files {
		defer f.Close()
	}
	if !slices.ContainsFunc(p.config.disks, func(d disk) bool {
		return d.serial == pid1.ModulesSerial && d.file == "/cache/modules.erofs" && d.readOnly
	}) {
		t.Errorf("%+v", p.config.disks)
	}
	_, err = New(Options{}).plan(h, machine.Spec{Storage: "ram:64M", Kernel: "6.12", Instructions: true})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, "has only the lab's own kernel, not 6.12") {
		t.Errorf("instructions: %v", err)
	}
}

// Trials work on another kernel, with its own modules and on two processors, and a version that means the
// lab's own kernel is that.
func TestAnotherKernel(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	spec := machine.Spec{Storage: "sim:nvme,256M", Kernel: "6.12", CPUs: min(2, runtime.NumCPU()), Data: machinetest.Data(t)}
	s := begin(t, m, spec)
	if f := s.Facts(); !strings.HasPrefix(f.Kernel, "6.12.") || f.Processors != spec.CPUs {
		t.Errorf("%+v", f)
	}
	for _, candidate := range []string{"ext4", "btrfs -o compress=zstd", "f2fs"} {
		if d := machinetest.CarryOut(t, s, candidate, short).Done; d.Outcome != result.Done {
			t.Errorf("%s: %+v", candidate, d)
		}
	}
	spec.Kernel, spec.CPUs = "6.1", 0
	if f := begin(t, m, spec).Facts(); !strings.HasPrefix(f.Kernel, "6.1.0-") || f.Processors != 1 {
		t.Errorf("%+v", f)
	}
	spec.Kernel = "9.9"
	_, err := m.Start(t.Context(), spec)
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, "no kernel \"9.9\"") {
		t.Errorf("%v", err)
	}
	spec.Kernel, spec.Storage = "6.12", "nand:64M"
	if _, err := m.Start(t.Context(), spec); !errors.As(err, &e) || e.Outcome != result.Unsupported || !strings.Contains(e.Reason, "keeps no nandsim") {
		t.Errorf("%v", err)
	}
}
