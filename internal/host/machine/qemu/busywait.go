package qemu

import (
	"bytes"
	"os"
	"whichfs/internal/host/machine/labguest"
)

// A simulated chip's delays are spent in the kernel's loop for short waits (delay_tsc of
// arch/x86/lib/delay.c), which reads the processor's clock over and over, with the instruction
// "pause" in between, a hint that this is a busy-wait. Where instructions are counted, QEMU leaves
// its translated code at each pause and checks for other work. That costs a microsecond of host
// time for every 25 guest instructions, and a delay of 200 µs takes 10 ms. So guests that count
// instructions and have such a chip run a kernel whose loop has a no-op in place of the pause. The
// loop still ends when the clock says so, and the clock counts instructions, so delays keep their
// length.

var (
	pauseLoop = []byte{0xf3, 0x90, 0x65, 0xff, 0x05}                         // pause; incl %gs:preempt_count
	clockRead = []byte{0x0f, 0x31, 0x90, 0x90, 0x90, 0x48, 0xc1, 0xe2, 0x20} // rdtsc with room for its alternatives; shl $32,%rdx
)

// loopBytes is how far before the pause the loop reads the clock.
const loopBytes = 48

// noPause is a two-byte no-op.
var noPause = []byte{0x66, 0x90}

// withoutPause returns the kernel's image with a loop that does not pause; ok is false unless there
// is exactly one such loop, as in kernels for other processors.
func withoutPause(image []byte) (changed []byte, ok bool) {
	found := -1
	for at := 0; ; {
		i := bytes.Index(image[at:], pauseLoop)
		if i < 0 {
			break
		}
		at += i
		if bytes.Contains(image[max(0, at-loopBytes):at], clockRead) {
			if found >= 0 {
				return nil, false
			}
			found = at
		}
		at++
	}
	if found < 0 {
		return nil, false
	}
	changed = bytes.Clone(image)
	copy(changed[found:], noPause)
	return changed, true
}

// eagerKernel adds such a kernel to a plan as its next file. If there is none, the guest's own
// kernel is used, and takes longer.
func (p *planned) eagerKernel(path string) error {
	image, err := os.ReadFile(path)
	if err != nil {
		return nil // QEMU will report what is wrong with it
	}
	changed, ok := withoutPause(image)
	if !ok {
		return nil
	}
	f, err := labguest.InMemory("kernel", changed)
	if err != nil {
		return err
	}
	p.config.kernel, p.config.eager = descriptor(len(p.files)), true
	p.files = append(p.files, f)
	return nil
}
