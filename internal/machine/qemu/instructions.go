package qemu

import (
	"os"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// How a guest is started whose clock counts instructions. Everything that
// would make two guests differ is taken away: time passes by instructions
// alone, one processor executes them one after the other, the random numbers
// of host and processor are not asked for, and no address is drawn by lot.
var (
	// counting is the processor's clock: 2^1 ns an instruction
	// (meter.Instruction); while the guest waits, its clock follows real time to
	// the next timer.
	counting = []string{
		"-icount", "shift=1,sleep=on", "-rtc", "base=2020-01-01T00:00:00,clock=vm", "-seed", "1",
	}
	// countingLine is added to the kernel's parameters.
	countingLine = []string{"nokaslr", "norandmaps", "nowatchdog", "transparent_hugepage=never"}
)

// slower is how many times as long as a guest of the other clock one may take
// for anything, on the host.
const slower = 8

func slowerBy(counting bool) float64 {
	if counting {
		return slower
	}
	return 1
}

// memoryFor is what a disk in memory of a size takes, in bytes, the tree that
// the kernel finds its pages by included; a multiple of 1 MiB.
func memoryFor(size int64) int64 { return (size + size/32 + 1<<20 - 1) &^ (1<<20 - 1) }

// inMemory is a plan that needs no file of the host for its storage.
func (p planned) inMemory(h *host) (planned, error) {
	archive, err := inMemory("archive", h.archive)
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
