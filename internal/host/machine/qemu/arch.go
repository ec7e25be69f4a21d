package qemu

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// platform is how QEMU makes guests of an architecture: a machine with PCI,
// which disks and the SD host controller sit on, and a processor.
type platform struct {
	machine string // QEMU's, with its settings
	title   string // of machine and processor, for reports
	// translated is the processor of a guest whose clock is real time, counted that of one whose
	// clock counts instructions. Those for x86 have every feature except the fast string
	// instructions. With these the kernel copies by rep movsb, which QEMU executes byte by byte:
	// 0.85 instead of 3.5 GB/s from /dev/zero, and 2 µs a byte into a page that once held executed
	// code (workload.KeepPrograms), so that now and then reading 8 MiB took 15 s, whatever the
	// filesystem; and where instructions are counted, each byte costs one, where hardware needs a
	// fraction of one. Counted processors have no random number instructions either.
	translated, counted string
	line                []string // kernel parameters
	memory              int64    // maximum memory of a guest, B; 0: no limit
	cpus                int      // maximum number of processors
}

// kernelLine are the parameters that make a guest start fast, whatever its
// processor; none of them changes what a filesystem does. lpj= is not among them: it
// would skew the delays of simulated flash.
var kernelLine = []string{"quiet", "loglevel=3", "panic=-1", "mitigations=off"}

// coarseLine is added where nothing is timed: an emulated guest that reprograms its timer for every
// sleep wakes QEMU thousands of times a second, and two such guests slow each other down.
var coarseLine = []string{"highres=off", "nohz=off"}

var platforms = map[string]platform{
	"amd64": {
		machine: "q35", title: "machine q35", translated: "max,-erms,-fsrm", counted: "max,-rdrand,-rdseed,-erms,-fsrm",
		line: parameters("ttyS0", "random.trust_cpu=on", "tsc=reliable", "cryptomgr.notests", "no_timer_check"), cpus: 255,
	},
	"arm64": {
		machine: "virt", title: "machine virt, processor cortex-a53", translated: "cortex-a53", counted: "cortex-a53",
		line: parameters("ttyAMA0", "cryptomgr.notests"), cpus: 8, // of its interrupt controller, a GICv2
	},
	// The kernel of a 32-bit processor sees only devices below 4 GiB, and memory
	// begins at 1 GiB.
	"arm": {
		machine: "virt,highmem=off", title: "machine virt, processor cortex-a7", translated: "cortex-a7", counted: "cortex-a7",
		line: parameters("ttyAMA0", "cryptomgr.notests"), memory: 3 << 30, cpus: 8,
	},
}

func parameters(console string, more ...string) []string {
	return append(append([]string{"console=" + console}, kernelLine...), more...)
}

// archOf is the architecture that a spec requests.
func archOf(spec machine.Spec) (lab.Arch, error) {
	a, err := lab.ArchNamed(spec.Arch)
	if err != nil {
		return a, result.Refuse("", "%v", err)
	}
	return a, nil
}

// processors checks that a guest can have as many of them as the spec needs. More than the host has would
// wait for each other, and figures would contain that.
func (m *Machine) processors(spec machine.Spec) error {
	n := spec.CPUs
	if n <= 1 {
		return nil
	}
	a, err := archOf(spec)
	if err != nil {
		return err
	}
	most := min(platforms[a.GOARCH].cpus, cmp.Or(m.o.processors, runtime.NumCPU()))
	switch {
	case spec.Instructions:
		return result.Refuse("use --clock wall, or --cpus 1", "a guest whose clock counts instructions has one processor, not %d", n)
	case spec.Processor != nil:
		return result.Refuse("leave --cpu out, or use --cpus 1", "a guest with a processor of a fixed speed has one, not %d", n)
	case n > most:
		return result.Refuse(fmt.Sprintf("use --cpus %d", most), "a guest of architecture %s can have at most %s on this host, not %d", a.Name, units.Count(most, "processor"), n)
	}
	return nil
}

// fits checks that a guest of the spec's architecture can have the processors and the memory that the
// spec needs.
func (m *Machine) fits(spec machine.Spec, s media.Storage) error {
	a, err := archOf(spec)
	if err != nil {
		return err
	}
	if err := m.processors(spec); err != nil {
		return err
	}
	memory, err := m.memory(spec, s)
	if err != nil {
		return err
	}
	if most := platforms[a.GOARCH].memory; most > 0 && memory > most {
		return result.Refuse("use smaller data sets or smaller storage, or --arch arm64",
			"the guest needs %s of memory, but one of architecture %s can have at most %s",
			media.FormatSize(memory), a.Name, media.FormatSize(most))
	}
	return nil
}

// foreseen says what a guest of the spec's architecture cannot be or have on this host, as far as
// that is known before anything is started.
func foreseen(spec machine.Spec, s media.Storage) error {
	a, err := archOf(spec)
	if err != nil {
		return err
	}
	if a.Foreign() {
		if err := lab.Missing(a); err != nil {
			return result.Fail(result.Unsupported, "whichfs doctor", "%v", err)
		}
	}
	image, err := lab.Locate(a)
	if err != nil || spec.Kernel != "" {
		return nil //nolint:nilerr // once the image is built and the kernel fetched, more is known
	}
	return (&host{image: image}).provides(s)
}

// needs are the kernel modules for storage that is not attached through virtio, and what is
// impossible without them.
var needs = map[string]struct{ module, lacking string }{
	media.KindNAND: {"nandsim", "raw flash cannot be simulated"},
	media.KindSD:   {"sdhci_pci", "there can be no SD card"},
	media.KindRAM:  {"brd", "there can be no disk in memory"},
}

// provides checks in the module list of the image that the guests' kernel supports the storage; the
// agent checks it again once it runs.
func (h *host) provides(s media.Storage) error {
	n, special := needs[s.Kind]
	if !special {
		return nil
	}
	if has, known := h.image.HasModule(n.module); has || !known {
		return nil
	}
	if h.modules != "" {
		return result.Fail(result.Unsupported, "leave --kernel and --kernels out",
			"of kernel %s the lab keeps no %s, so %s", h.image.Manifest.Kernel, n.module, n.lacking)
	}
	var others []string
	for _, a := range lab.Archs {
		// Only images that exist can be asked.
		if i, err := lab.Locate(a); err == nil && a != h.image.Arch() {
			if has, known := i.HasModule(n.module); has || !known {
				others = append(others, a.Name)
			}
		}
	}
	hint := "use another --arch"
	if len(others) > 0 {
		hint = "use --arch " + strings.Join(others, " or ")
	}
	return result.Fail(result.Unsupported, hint,
		"Debian's kernel %s for %s has no %s, so %s", h.image.Manifest.Kernel, h.image.Arch().Name, n.module, n.lacking)
}
