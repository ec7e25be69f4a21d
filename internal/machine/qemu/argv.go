package qemu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/agent/pid1"
)

// config is one guest, complete. Descriptors are numbers in QEMU's process.
type config struct {
	program string
	kvm     bool
	counts  bool   // its clock counts instructions
	memory  int64  // B, a multiple of 1 MiB
	kernel  string // ELF file
	archive string // initramfs
	append  []string
	console int // descriptor of the console's stream
	agent   int // of the agent's stream; 0: the guest has no port
	disks   []disk
	sim     *simulated // behind the disk that has a stream; nil: none
}

// disk is one disk or card of a guest.
type disk struct {
	serial   string // at most 20 bytes, virtio's limit
	file     string
	readOnly bool
	card     bool // an SD card behind a host controller, else virtio
	limits   limits
	stream   int // descriptor of the simulated device's stream; 0: the disk is a file
}

// kernelLine are the parameters that make a guest start fast; none of them
// changes what a filesystem does. lpj= is not among them: it would skew the
// delays of simulated flash.
var kernelLine = []string{
	"console=ttyS0", "quiet", "loglevel=3", "panic=-1", "mitigations=off",
	"random.trust_cpu=on", "tsc=reliable", "cryptomgr.notests", "no_timer_check",
}

// argv is QEMU's argument vector.
func (c config) argv() []string {
	processor, line := []string{"-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1"}, kernelLine
	switch {
	case c.counts:
		processor, line = counting, slices.Concat(kernelLine, countingLine)
	case c.kvm:
		processor = []string{"-accel", "kvm", "-cpu", "host", "-smp", "1"}
	}
	argv := []string{
		c.program, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
		"-machine", machineType,
	}
	argv = append(argv, processor...)
	argv = append(argv,
		"-m", strconv.FormatInt(c.memory>>20, 10)+"M",
		"-kernel", c.kernel, "-initrd", c.archive,
		"-append", strings.Join(slices.Concat(line, c.append), " "),
		"-chardev", fmt.Sprintf("socket,id=console,fd=%d", c.console), "-serial", "chardev:console")
	if c.agent != 0 {
		argv = append(argv,
			"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", c.agent),
			"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name="+pid1.PortName)
	}
	for n, d := range c.disks {
		id := fmt.Sprintf("disk%d", n)
		if d.stream != 0 {
			argv = append(argv, c.sim.argv(d.stream, id, d.serial)...)
			continue
		}
		argv = append(argv, d.argv(id)...)
	}
	return argv
}

func (d disk) argv(id string) []string {
	// Limits belong to the drive and not to a throttle node below it: such a
	// node charges a discard by its bytes, and emptying 1 GiB would take as
	// long as writing it.
	drive := []string{
		"if=none", "id=" + id, "driver=raw", "discard=unmap", "detect-zeroes=off",
		// Flushes end here: the disk is thrown away with the guest, and the
		// host's own storage must not be in the figures.
		"cache.no-flush=on",
		"file.driver=file", "file.locking=off", "file.discard=unmap",
		// A comma in a value is written twice.
		"file.filename=" + strings.ReplaceAll(d.file, ",", ",,"),
	}
	if d.readOnly {
		drive = append(drive, "read-only=on")
	}
	for _, l := range d.limits.qemu() {
		drive = append(drive, fmt.Sprintf("throttling.%s=%d", l.name, l.perSecond))
	}
	argv := []string{"-drive", strings.Join(drive, ",")}
	if d.card {
		return append(argv, "-device", "sdhci-pci", "-device", "sd-card,drive="+id)
	}
	return append(argv, "-device", "virtio-blk-pci,drive="+id+",serial="+d.serial)
}
