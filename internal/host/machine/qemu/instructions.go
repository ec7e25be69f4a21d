package qemu

import (
	"os"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
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
	countingLine = []string{"nokaslr", "norandmaps", "nowatchdog", "transparent_hugepage=never"}
)

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
