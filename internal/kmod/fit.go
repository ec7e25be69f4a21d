package kmod

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"
	"whichfs/internal/result"
)

// Kernel is one that is to take a module.
type Kernel struct {
	Release string // uname -r
	Arch    string // GOARCH of what runs on it: a kernel of 64 bits may run 32
	// Vermagic is what modules of its own tree have; "" where it has no tree.
	Vermagic string
	// Versions are checksums of symbols that modules of its own tree were built
	// against: what is not among them is not known.
	Versions map[string]uint64
	// Machine is what modules of its own tree are for; 0 where it has no tree.
	Machine elf.Machine
}

// machines are processors by GOARCH.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "riscv64": elf.EM_RISCV, "386": elf.EM_386,
}

// debian are Debian's names of processors.
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

// FitsProcessor says why code for a processor (a GOARCH) is not what is in the
// module; nil where it is, or the processor is not known here.
func (f File) FitsProcessor(arch string) *result.Failure {
	return f.fits(machines[arch])
}

func (f File) fits(want elf.Machine) *result.Failure {
	if want == elf.EM_NONE || f.Machine == want {
		return nil
	}
	return result.Refuse("build it for "+archName(want),
		"%s is built for %s processors, and this machine is %s", f.Base, archName(f.Machine), archName(want))
}

// Fit says why the kernel would not take the module; nil where nothing speaks
// against it. It looks at what the kernel itself will look at (same_magic and
// check_version in kernel/module): a module with checksums of symbols may come
// from another release, if everything else of its version magic is the same
// and no symbol has changed.
func (f File) Fit(k Kernel) *result.Failure {
	machine := k.Machine
	if machine == elf.EM_NONE {
		machine = machines[k.Arch]
	}
	if u := f.fits(machine); u != nil {
		return u
	}
	hint := "build it against the headers of the kernel that runs: apt install linux-headers-" + k.Release +
		", then make -C /lib/modules/" + k.Release + "/build M=DIRECTORY modules"
	built := fmt.Sprintf("%s is built for kernel %s, and %s runs here", f.Base, f.Release(), k.Release)
	ours, want := flags(f.Vermagic), flags(k.Vermagic)
	switch {
	case f.Versions == nil && f.Release() != k.Release:
		return result.Refuse(hint, "%s", built)
	case k.Vermagic != "" && !slices.Equal(ours, want):
		if f.Release() == k.Release {
			built = fmt.Sprintf("%s is built for kernel %s with other settings than the one that runs here", f.Base, f.Release())
		}
		return result.Refuse(hint, "%s (%q, and here it is %q)", built, strings.Join(ours, " "), strings.Join(want, " "))
	}
	changed := f.changed(k)
	if len(changed) == 0 {
		return nil
	}
	if f.Release() == k.Release {
		built = fmt.Sprintf("%s is built for a kernel %s that is not the one that runs here", f.Base, f.Release())
	}
	return result.Refuse(hint, "%s: the kernel's symbols have changed between them (%s)", built, few(changed))
}

// flags are the words of a version magic that follow the release.
func flags(vermagic string) []string {
	words := strings.Fields(vermagic)
	return words[min(1, len(words)):]
}

// changed are the symbols whose checksums are known of both, and differ.
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

// few names some of many.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Know adds what a module of the kernel's own tree shows of the kernel.
func (k *Kernel) Know(own Module) {
	if k.Vermagic == "" {
		k.Vermagic, k.Machine = own.Vermagic, own.Machine
	}
	if k.Versions == nil {
		k.Versions = map[string]uint64{}
	}
	maps.Copy(k.Versions, own.Versions)
}
