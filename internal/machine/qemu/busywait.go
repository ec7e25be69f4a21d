package qemu

import (
	"bytes"
	"os"
)

// A simulated chip's delays are spent in the kernel's loop for short waits
// (delay_tsc of arch/x86/lib/delay.c), which reads the processor's clock over and
// over, with the instruction "pause" between: a hint that somebody is waiting.
// Where instructions are counted, QEMU leaves its translated code at each of them
// and looks what else there is to do. That takes a microsecond of the host's time
// for each 25 instructions of the guest's, and a delay of 200 µs takes 10 ms. So
// guests that count, and have such a chip, run a kernel whose loop has an
// instruction in its place that does nothing. The loop ends when the clock says so
// as before, and the clock counts instructions, so that delays are as long as
// they were.

var (
	pauseLoop = []byte{0xf3, 0x90, 0x65, 0xff, 0x05}                         // pause; incl %gs:preempt_count
	clockRead = []byte{0x0f, 0x31, 0x90, 0x90, 0x90, 0x48, 0xc1, 0xe2, 0x20} // rdtsc with room for its alternatives; shl $32,%rdx
)

// loopBytes is how far before the pause the clock is read.
const loopBytes = 48

// noPause is the instruction of two bytes that does nothing.
var noPause = []byte{0x66, 0x90}

// withoutPause returns the kernel's image with a loop that does not pause; ok is
// false where there is not exactly one such loop, as in kernels of other
// processors.
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

// eagerKernel gives a plan such a kernel as its next file. Where there is none
// the guest's own is used, and takes longer.
func (p *planned) eagerKernel(path string) error {
	image, err := os.ReadFile(path)
	if err != nil {
		return nil // QEMU says what is wrong with it
	}
	changed, ok := withoutPause(image)
	if !ok {
		return nil
	}
	f, err := inMemory("kernel", changed)
	if err != nil {
		return err
	}
	p.config.kernel, p.config.eager = descriptor(len(p.files)), true
	p.files = append(p.files, f)
	return nil
}
