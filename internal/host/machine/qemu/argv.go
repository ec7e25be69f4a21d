package qemu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/sys/ticks"
	"whichfs/internal/target/agent/pid1"
)

// config describes one guest completely. Descriptors are numbers in QEMU's process.
type config struct {
	program string
	arch    string // GOARCH
	kvm     bool
	counts  bool   // its clock counts instructions
	paced   int    // an instruction takes 2^paced ns (paces); 0: as long as the host takes for it
	ticks   int    // frequency of the guest's time-stamp counter in kHz (knownClock); 0: its kernel calibrates it
	sandbox bool   // QEMU's own; start knows whether it has one
	cpus    int    // number of processors; 0: one
	memory  int64  // B, a multiple of 1 MiB
	shared  string // file that backs the memory, of the same size; "": QEMU's own memory
	kernel  string // lab.Image.Kernel
	eager   bool   // the kernel busy-waits without pause instructions (withoutPause)
	archive string // initramfs
	append  []string
	console int // descriptor of the console's stream
	agent   int // of the agent's stream; 0: the guest has no port
	disks   []disk
	sim     *simulated // behind the disk that has a stream; nil: none
	extra   []string   // further arguments: hardware that only tests have
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

// argv is QEMU's argument vector.
func (c config) argv() []string {
	on := platforms[c.arch]
	line := append(slices.Clip(on.line), "nr_cpus="+strconv.Itoa(max(1, c.cpus)))
	if c.counts {
		line = slices.Concat(line, countingLine)
	}
	if c.ticks > 0 {
		line = append(line, "tsc_early_khz="+strconv.Itoa(c.ticks))
	}
	argv := []string{
		c.program, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
	}
	if c.sandbox {
		argv = append(argv, "-sandbox", sandbox)
	}
	argv = append(argv, c.backed(on.machine)...)
	argv = append(argv, c.processor(on)...)
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
			argv = append(argv, c.sim.argv(d.stream, id, d.serial, c.paced == 0)...)
			continue
		}
		argv = append(argv, d.argv(id)...)
	}
	return append(argv, c.extra...)
}

// knownClock adds the frequency of the guest's time-stamp counter. An emulated x86 guest reads the host's
// counter, and its kernel calibrates that at boot against 10 ms of the PIT. If the guest loses its processor
// meanwhile, the result is too low and the clock runs 2.6 to 20 times too fast; the kernel uses it even where
// the HPET disagrees (native_calibrate_tsc, pit_hpet_ptimer_calibrate_cpu).
func (c config) knownClock() config {
	if c.arch == "amd64" && !c.kvm && !c.counts && c.paced == 0 {
		c.ticks = int(ticks.PerSecond() / 1000)
	}
	return c
}

// backed is the machine with its memory: if a file backs it, the memory stays readable through that
// file after QEMU has ended.
func (c config) backed(machine string) []string {
	if c.shared == "" {
		return []string{"-machine", machine}
	}
	return []string{
		"-machine", machine + ",memory-backend=memory",
		"-object", fmt.Sprintf("memory-backend-file,id=memory,size=%d,mem-path=%s,share=on", c.memory, c.shared),
	}
}

// OneProcessor is one processor in a machine with room for two, as -smp has it. For a machine of one, QEMU before 8.1
// translates no memory barriers (tcg_gen_mb in tcg/tcg-op.c, parallel only if smp.max_cpus > 1),
// although its devices run in other threads: on rare occasions a virtio queue then misses a
// notification, and a request of the guest never completes. nr_cpus=1 on the kernel's command line
// keeps the guest's kernel as it is with one processor.
const OneProcessor = "1,maxcpus=2"

// processor is the guest's processors, with their clock. Those of an emulated guest have a thread each.
func (c config) processor(on platform) []string {
	switch {
	case c.counts:
		return append([]string{"-accel", "tcg,thread=single", "-cpu", on.counted, "-smp", "1"}, counting...)
	case c.paced != 0:
		return append([]string{"-accel", "tcg,thread=single", "-cpu", on.translated, "-smp", "1"}, pace(c.paced)...)
	case c.kvm:
		return []string{"-accel", "kvm", "-cpu", "host", "-smp", strconv.Itoa(max(1, c.cpus))}
	}
	smp := OneProcessor
	if c.cpus > 1 {
		smp = strconv.Itoa(c.cpus)
	}
	return []string{"-accel", "tcg,thread=multi", "-cpu", on.translated, "-smp", smp}
}

// wake is a timer of QEMU's that ends its main loop's sleep every 2 ms. QEMU's SD card waits for the host
// in the thread of the guest's processor, and reads whatever it is told meanwhile, from the same
// descriptor as the main loop (aio_poll of util/aio-posix.c). If the guest has just set its timer and
// the host is busy, the main loop sleeps on without knowing of it: for hours, where nothing else
// happens in the guest. The timer is a packet filter's, between two hubs that carry no packets.
var wake = []string{
	"-netdev", "hubport,id=wake0,hubid=0", "-netdev", "hubport,id=wake1,hubid=1,netdev=wake0",
	"-object", "filter-buffer,id=wake,netdev=wake0,interval=2000",
}

func (d disk) argv(id string) []string {
	// Limits belong to the drive and not to a throttle node below it: such a node charges a discard
	// by its bytes, so that emptying 1 GiB would take as long as writing it.
	drive := []string{
		"if=none", "id=" + id, "driver=raw", "discard=unmap", "detect-zeroes=off",
		// Flushes end here: the disk is discarded with the guest, and the host's own storage must
		// not affect the figures.
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
		return slices.Concat(argv, []string{"-device", "sdhci-pci", "-device", "sd-card,drive=" + id}, wake)
	}
	return append(argv, "-device", "virtio-blk-pci,drive="+id+",serial="+d.serial)
}

// Card is how QEMU gets an SD card at an SDHCI controller, with a file as its contents.
func Card(file, id string) []string { return disk{file: file, card: true}.argv(id) }
