package lab

import (
	"fmt"
	"runtime"
	"strings"
)

// Arch is a processor architecture that guests can have.
type Arch struct {
	Name   string // Debian's, as users write it: "armhf"
	GOARCH string
	// QEMU is the program that runs such guests, and Package Debian's with it.
	QEMU, Package string
	kernel        string // package of Debian's general kernel
	flavour       string // what the releases of that kernel end in
}

// Archs lists them.
var Archs = []Arch{
	{Name: "amd64", GOARCH: "amd64", QEMU: "qemu-system-x86_64", Package: "qemu-system-x86", kernel: "linux-image-amd64", flavour: "amd64"},
	{Name: "arm64", GOARCH: "arm64", QEMU: "qemu-system-aarch64", Package: "qemu-system-arm", kernel: "linux-image-arm64", flavour: "arm64"},
	{Name: "armhf", GOARCH: "arm", QEMU: "qemu-system-arm", Package: "qemu-system-arm", kernel: "linux-image-armmp", flavour: "armmp"},
}

// Native is this host's architecture, which need not be one that guests can
// have: Build says so.
func Native() Arch {
	for _, a := range Archs {
		if a.GOARCH == runtime.GOARCH {
			return a
		}
	}
	return Arch{Name: runtime.GOARCH, GOARCH: runtime.GOARCH}
}

// ArchNamed finds an architecture by Debian's name of it; "" is this host's.
func ArchNamed(name string) (Arch, error) {
	if name == "" {
		return Native(), nil
	}
	var known []string
	for _, a := range Archs {
		if a.Name == name {
			return a, nil
		}
		known = append(known, a.Name)
	}
	return Arch{}, fmt.Errorf("unknown architecture %q; guests can have %s", name, strings.Join(known, ", "))
}

// Foreign reports whether it is not this host's, so that guests of it are
// emulated whatever the host can do.
func (a Arch) Foreign() bool { return a.GOARCH != runtime.GOARCH }

// packed reports whether the kernel goes to QEMU as Debian packs it: it unpacks
// itself, and only an x86 kernel has another entry that saves that.
func (a Arch) packed() bool { return a.GOARCH != "amd64" }

// kernelFile is the name of the file that QEMU starts.
func (a Arch) kernelFile() string {
	if a.packed() {
		return "vmlinuz"
	}
	return "vmlinux"
}

// archOf is the architecture that a manifest names.
func archOf(goarch string) Arch {
	for _, a := range Archs {
		if a.GOARCH == goarch {
			return a
		}
	}
	return Arch{Name: goarch, GOARCH: goarch}
}
