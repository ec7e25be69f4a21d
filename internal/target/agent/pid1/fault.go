package pid1

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"whichfs/internal/wire"
)

// Faults that a guest can be told to have, so that the host's handling of them is tested with real
// guests.
const (
	FaultPanic   = "panic"   // the kernel panics
	FaultHang    = "hang"    // the agent falls silent
	FaultGarbage = "garbage" // a damaged message
	FaultDie     = "die"     // the agent ends, and the kernel with it
	FaultOff     = "off"     // the guest powers off in an orderly way
	FaultUnplug  = "unplug"  // the lab disk vanishes, once
	FaultSpin    = "spin"    // a thread waits for another, once, without calling the kernel
)

var faults = []string{FaultPanic, FaultHang, FaultGarbage, FaultDie, FaultOff, FaultUnplug, FaultSpin}

// withFault returns the stream with the fault that fault describes as
// FAULT@KIND: it strikes when the first message of that kind is about to be
// sent. An empty description changes nothing.
func withFault(stream io.ReadWriteCloser, fault string) (io.ReadWriteCloser, error) {
	if fault == "" {
		return stream, nil
	}
	what, kind, ok := strings.Cut(fault, "@")
	if !ok || !slices.Contains(faults, what) {
		return nil, fmt.Errorf("whichfs.fault=%s: write one of %s, @ and a kind of message", fault, strings.Join(faults, ", "))
	}
	return &faulty{ReadWriteCloser: stream, what: what, kind: kind, strike: strike}, nil
}

// faulty is a stream that fails at a chosen message.
type faulty struct {
	io.ReadWriteCloser
	what, kind string // kind is "" once the fault has struck and the stream continues
	strike     func(what string) error
}

func (f *faulty) Write(line []byte) (int, error) {
	m, err := wire.Decode(line)
	if err != nil || m.Kind != f.kind {
		return f.ReadWriteCloser.Write(line)
	}
	switch f.what {
	case FaultUnplug, FaultSpin:
		f.kind = ""
		if err := f.strike(f.what); err != nil {
			return 0, err
		}
		return f.ReadWriteCloser.Write(line)
	case FaultGarbage:
		damaged := slices.Clone(line)
		damaged[len(damaged)-2] ^= 0x20
		return f.ReadWriteCloser.Write(damaged)
	}
	return 0, f.strike(f.what)
}

// strike causes a fault. It returns only if the kernel refuses.
func strike(what string) error {
	switch what {
	case FaultPanic:
		return os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	case FaultUnplug:
		disk, err := serialNow(LabSerial)
		if err != nil {
			return err
		}
		// The PCI device above the virtio one. The path must not be cleaned: its first component is
		// a link.
		return os.WriteFile("/sys/block/"+disk+"/device/../remove", []byte("1"), 0)
	case FaultSpin:
		var over atomic.Bool
		go over.Store(true)
		for !over.Load() {
		}
		return nil
	case FaultDie:
		say("the agent ends on purpose")
		os.Exit(3)
	case FaultOff:
		return Halt()
	}
	for { // FaultHang
		_ = unix.Pause()
	}
}
