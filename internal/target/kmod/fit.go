package kmod

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/result"
)

// Kernel is the kernel that is to load a module.
type Kernel struct {
	Release string // uname -r
	Arch    string // GOARCH of user space: a 64-bit kernel may run 32-bit programs
	// Vermagic is that of the kernel's own modules; "" if it has none.
	Vermagic string
	// Versions are symbol checksums that the kernel's own modules were
	// built against; checksums of other symbols are unknown.
	Versions map[string]uint64
	// Machine is the architecture of the kernel's own modules; 0 if it has
	// none.
	Machine elf.Machine
}

// machines maps GOARCH to ELF machines.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "riscv64": elf.EM_RISCV, "386": elf.EM_386,
	"mips": elf.EM_MIPS, "mipsle": elf.EM_MIPS, "ppc64": elf.EM_PPC64, "ppc64le": elf.EM_PPC64,
}

// debian are Debian's names of architectures.
var debian = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_ARM: "armhf", elf.EM_RISCV: "riscv64", elf.EM_386: "i386",
	elf.EM_MIPS: "mipsel", elf.EM_PPC64: "ppc64el", elf.EM_PPC: "powerpc", elf.EM_S390: "s390x",
}

func archName(m elf.Machine) string {
	if name, ok := debian[m]; ok {
		return name
	}
	return strings.TrimPrefix(m.String(), "EM_")
}

// FitsProcessor returns a failure if the module contains code for another
// architecture than arch (a GOARCH); nil if it matches or arch is unknown
// here.
func (f File) FitsProcessor(arch string) *result.Failure {
	return f.fits(machines[arch])
}

func (f File) fits(want elf.Machine) *result.Failure {
	if want == elf.EM_NONE || f.Machine == want {
		return nil
	}
	return result.Refuse("build it for "+archName(want),
		"%s is built for %s, and this machine is %s", f.Base, archName(f.Machine), archName(want))
}

// Fit says why the kernel would refuse the module; nil if no reason is known.
// It checks what the kernel itself checks (same_magic and check_version in
// kernel/module): a module with symbol checksums may come from another release
// if the rest of its version magic is the same and no symbol has changed.
func (f File) Fit(k Kernel) *result.Failure {
	machine := k.Machine
	if machine == elf.EM_NONE {
		machine = machines[k.Arch]
	}
	if u := f.fits(machine); u != nil {
		return u
	}
	hint := "build it against the headers of the running kernel: apt install linux-headers-" + k.Release +
		", then make -C /lib/modules/" + k.Release + "/build M=DIRECTORY modules"
	built := fmt.Sprintf("%s is built for kernel %s, but %s is running", f.Base, f.Release(), k.Release)
	ours, want := flags(f.Vermagic), flags(k.Vermagic)
	switch {
	case f.Versions == nil && f.Release() != k.Release:
		return result.Refuse(hint, "%s", built)
	case k.Vermagic != "" && !slices.Equal(ours, want):
		if f.Release() == k.Release {
			built = fmt.Sprintf("%s is built for kernel %s with other settings than the running one", f.Base, f.Release())
		}
		return result.Refuse(hint, "%s (%q instead of %q)", built, strings.Join(ours, " "), strings.Join(want, " "))
	}
	changed := f.changed(k)
	if len(changed) == 0 {
		return nil
	}
	if f.Release() == k.Release {
		built = fmt.Sprintf("%s is built for a different kernel %s than the running one", f.Base, f.Release())
	}
	return result.Refuse(hint, "%s: kernel symbols differ (%s)", built, few(changed))
}

// flags returns the words of a version magic that follow the release.
func flags(vermagic string) []string {
	words := strings.Fields(vermagic)
	return words[min(1, len(words)):]
}

// changed returns the symbols whose checksums are known on both sides and
// differ.
func (f File) changed(k Kernel) []string {
	var out []string
	for name, sum := range f.Versions {
		if other, ok := k.Versions[name]; ok && other != sum {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// few lists at most a few of the names.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Know records what one of the kernel's own modules reveals about the kernel.
func (k *Kernel) Know(own Module) {
	if k.Vermagic == "" {
		k.Vermagic, k.Machine = own.Vermagic, own.Machine
	}
	if k.Versions == nil {
		k.Versions = map[string]uint64{}
	}
	maps.Copy(k.Versions, own.Versions)
}
