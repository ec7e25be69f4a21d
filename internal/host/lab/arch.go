package lab

import (
	"fmt"
	"runtime"
	"strings"
)

// Arch is a processor architecture for guests.
type Arch struct {
	Name   string // Debian's name, as users write it: "armhf"
	GOARCH string
	// QEMU is the program that runs such guests, and Package the Debian
	// package that contains it.
	QEMU, Package string
	kernel        string // package of Debian's general-purpose kernel
	flavour       string // suffix of that kernel's releases
	// checksums is the module that computes CRC-32C with the processor's instructions; "": the
	// kernel does by itself. Other machines have it because udev finds it by the processor's
	// features; guests have no udev. It is of use before libcrc32c, which chooses when it is loaded.
	checksums string
}

// Archs lists the supported architectures.
var Archs = []Arch{
	{Name: "amd64", GOARCH: "amd64", QEMU: "qemu-system-x86_64", Package: "qemu-system-x86", kernel: "linux-image-amd64", flavour: "amd64", checksums: "crc32c_intel"},
	{Name: "arm64", GOARCH: "arm64", QEMU: "qemu-system-aarch64", Package: "qemu-system-arm", kernel: "linux-image-arm64", flavour: "arm64"},
	{Name: "armhf", GOARCH: "arm", QEMU: "qemu-system-arm", Package: "qemu-system-arm", kernel: "linux-image-armmp", flavour: "armmp"},
}

// Native is this host's architecture. Guests may not support it: Build reports
// that.
func Native() Arch {
	for _, a := range Archs {
		if a.GOARCH == runtime.GOARCH {
			return a
		}
	}
	return Arch{Name: runtime.GOARCH, GOARCH: runtime.GOARCH}
}

// ArchNamed finds an architecture by Debian's name; "" is this host's.
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

// Foreign reports whether it differs from this host's, so that its guests are
// emulated whatever the host supports.
func (a Arch) Foreign() bool { return a.GOARCH != runtime.GOARCH }

// packed reports whether QEMU gets the compressed kernel as Debian ships it:
// it decompresses itself, and only an x86 kernel has another entry point that
// avoids that.
func (a Arch) packed() bool { return a.GOARCH != "amd64" }

// kernelFile is the name of the file that QEMU boots.
func (a Arch) kernelFile() string {
	if a.packed() {
		return packedFile
	}
	return "vmlinux"
}

// packedFile is the name of a kernel that decompresses itself.
const packedFile = "vmlinuz"

// archOf returns the architecture that a manifest names.
func archOf(goarch string) Arch {
	for _, a := range Archs {
		if a.GOARCH == goarch {
			return a
		}
	}
	return Arch{Name: goarch, GOARCH: goarch}
}
