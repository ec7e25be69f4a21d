package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
)

func TestArchNamed(t *testing.T) {
	for name, goarch := range map[string]string{"": Native().GOARCH, "amd64": "amd64", "arm64": "arm64", "armhf": "arm"} {
		if a, err := ArchNamed(name); err != nil || a.GOARCH != goarch || archOf(goarch) != a {
			t.Errorf("%q: %+v, %v", name, a, err)
		}
	}
	for _, name := range []string{"arm", "x86_64", "armhf "} {
		if _, err := ArchNamed(name); err == nil || !strings.Contains(err.Error(), "amd64, arm64, armhf") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// An image of another architecture is built next to the host's, with the
// kernel as Debian ships it, and lists its kernel's modules.
func TestBuildForeign(t *testing.T) {
	dir := stage(t)
	armhf := archOf("arm")
	own, err := Build(t.Context(), Native(), nil)
	if err != nil {
		t.Fatal(err)
	}
	img, err := Build(t.Context(), armhf, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := img.Manifest
	if img.Dir == own.Dir || m.Arch != "arm" || m.Kernel != "6.1.0-1-armmp" || img.Arch() != armhf {
		t.Errorf("%s: %+v", img.Dir, m)
	}
	if made := calls(t, dir); len(made) != 2 || !strings.Contains(made[1], "--architectures=armhf") || !strings.Contains(made[1], "--include=linux-image-armmp\x00") {
		t.Errorf("calls %q", made)
	}
	if kernel, _ := os.ReadFile(img.Kernel); string(kernel) != "a kernel that unpacks itself" {
		t.Errorf("kernel %q", kernel)
	}
	for module, there := range map[string]bool{"overlay": true, "erofs": true, "crc32c_generic": true, "nandsim": false} {
		if has, known := img.HasModule(module); !known || has != there {
			t.Errorf("module %s: %v, known %v", module, has, known)
		}
	}
	if slices.Contains(m.Modules, depFile) {
		t.Errorf("the boot archive carries %v", m.Modules)
	}
	// An image from before the lists existed reports that it does not
	// know.
	if err := os.Remove(filepath.Join(own.Dir, "modules", depFile)); err != nil {
		t.Fatal(err)
	}
	if _, known := own.HasModule("overlay"); known {
		t.Error("a module is known without a list")
	}
	images, err := Images()
	if err != nil || len(images) != 2 || images[0].Dir != own.Dir || images[1].Dir != img.Dir || img.Size() <= 0 {
		t.Errorf("images %v: %v", images, err)
	}
	if freed, err := Clean(); err != nil || freed <= 0 {
		t.Errorf("clean freed %d: %v", freed, err)
	}
	for _, a := range []Arch{Native(), armhf} {
		if _, err := Locate(a); !errors.Is(err, ErrNotBuilt) {
			t.Errorf("%s after clean: %v", a.Name, err)
		}
	}
}

// Kernels of one architecture do not serve another.
func TestKernelsAreOfOneArchitecture(t *testing.T) {
	stage(t)
	if _, err := FetchKernel(t.Context(), Native(), "6.12", nil); err != nil {
		t.Fatal(err)
	}
	var none *result.Failure
	if k, err := FetchKernel(t.Context(), archOf("arm"), "6.12", nil); !errors.As(err, &none) || !strings.Contains(none.Reason, "it has 6.1") {
		t.Errorf("%+v, %v", k, err)
	}
	k, err := FetchKernel(t.Context(), Native(), "6.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	arm, err := FetchKernel(t.Context(), archOf("arm"), "6.1", nil)
	if err != nil || arm.Release != "6.1.0-1-armmp" || filepath.Base(arm.File) != "vmlinuz" || arm.arch() != archOf("arm") {
		t.Errorf("%+v, %v", arm, err)
	}
	if _, err := os.Stat(k.File); err != nil {
		t.Errorf("the one architecture's own kernel replaced the other's: %v", err)
	}
}

func TestMissingForeign(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Missing(archOf("arm"))
	if err == nil || !strings.Contains(err.Error(), "for guests of architecture armhf, needs qemu-system-arm,") ||
		!strings.Contains(err.Error(), "apt-get install qemu-system-arm ") {
		t.Errorf("error %v", err)
	}
}
