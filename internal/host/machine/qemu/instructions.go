package qemu

import (
	"fmt"
	"os"
	"strings"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
)

// How to start a guest whose clock counts instructions. Everything that would make two guests
// differ is removed: only instructions advance time, a single processor executes them, there are no
// random numbers from host or processor, and addresses are not randomised.
var (
	// counting is the processor's clock: 2^1 ns per instruction (meter.Instruction); while the
	// guest is idle, its clock follows real time to the next timer.
	counting = []string{
		"-icount", "shift=1,sleep=on", "-rtc", "base=2020-01-01T00:00:00,clock=vm", "-seed", "1",
	}
	// countingLine is added to the kernel parameters.
	countingLine = []string{"nokaslr", "norandmaps", "nowatchdog", "transparent_hugepage=never", "whichfs.random"}
)

// The paces of a processor of a fixed speed: the emulator gives each instruction 2^pace nanoseconds of
// the guest's clock, and keeps that clock in step with real time. So it costs a guest nothing that the
// emulator translates code before it runs it the first time, and the host's speed matters only where
// it falls behind; while the guest waits for storage, real time passes.
const (
	fastest = 1 // 500 MIPS
	slowest = 6 // 15.625 MIPS
)

// Where instructions are counted, QEMU 7.2 translates no memory barriers either (OneProcessor): disks work in the
// thread of the processor, so that they need none.
func pace(n int) []string {
	return []string{
		"-icount", fmt.Sprintf("shift=%d,sleep=on,align=on", n),
		"-global", "virtio-blk-pci.ioeventfd=off", "-global", "virtio-serial-pci.ioeventfd=off",
	}
}

// speedAt is a pace in instructions per second.
func speedAt(pace int) float64 { return 1e9 / float64(int(1)<<pace) }

// paceOf is the pace of a processor; 0: none is.
func paceOf(p processor.Profile) int {
	for n := fastest; n <= slowest; n++ {
		if same, err := processor.Parse(p.Name); err == nil && p == same && p.Other == speedAt(n) {
			return n
		}
	}
	return 0
}

// paces names the processors that guests can have.
func paces() string {
	var names []string
	for n := slowest; n >= fastest; n-- {
		names = append(names, fmt.Sprintf("%gMIPS", speedAt(n)/1e6))
	}
	return strings.Join(names, ", ")
}

// slower is the factor by which the host's time limits grow for such a guest.
const slower = 8

func slowerBy(counting bool) float64 {
	if counting {
		return slower
	}
	return 1
}

// inMemory is a plan whose storage needs no file on the host.
func (p planned) inMemory(h *host) (planned, error) {
	archive, err := labguest.InMemory("archive", h.archive)
	if err != nil {
		return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "no memory for the boot archive", Err: err}
	}
	p.files = []*os.File{archive}
	if p.config.counts && p.spec.Kind == media.KindNAND {
		if err := p.eagerKernel(h.image.Kernel); err != nil {
			_ = archive.Close()
			return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "no memory for the guest's kernel", Err: err}
		}
	}
	return p, nil
}
