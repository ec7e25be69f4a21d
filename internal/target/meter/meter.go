// Package meter takes the figures around a phase: wall time, processor time of
// this process and of the kernel's threads, traffic of the device, memory,
// kernel messages.
//
// Everything is a difference between two snapshots, taken outside of the wall time that they
// surround and cheap enough for a guest under emulation, where a system call costs microseconds:
// plain reads into reused buffers. Figures that cannot be read are absent with the reason.
package meter

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Config says what to read. Only Device and Threads differ between trials.
type Config struct {
	// ProcRoot is the root of procfs; "/proc" when empty.
	ProcRoot string
	// SysRoot is the root of sysfs; "/sys" when empty.
	SysRoot string
	// DevRoot is the directory of device nodes; "/dev" when empty.
	DevRoot string
	// KernelLog is the device with the kernel's messages; "/dev/kmsg" when empty.
	KernelLog string
	// Device is the kernel name of the storage, "vdb" or "mmcblk0p3"; empty for storage that is not
	// a block device, whose traffic is not counted.
	Device string
	// Uncounted says why the traffic of Device is not counted; empty: the kernel counts it.
	Uncounted string
	// Raw: Device is an MTD ("mtd0"), whose operations are counted if the kernel's NAND core drives
	// it; unlike block devices it has no counters of its own.
	Raw bool
	// Instructions: the machine's clock counts instructions, so the processor's work is counted in
	// instructions, and there are no times.
	Instructions bool
	// Virtual: time passes only while the machine waits, and for the work that its kernel charges, if
	// it does (a file of ProcRoot says so).
	Virtual bool
	// Modelled: the storage's delays pass in that clock's time, so there are times nevertheless.
	Modelled bool
	// Load: the machine's load is a figure of every phase.
	Load bool
	// Threads are glob patterns (path.Match) of the kernel threads that belong
	// to the filesystem; "%d" stands for Device. Empty: it has none of its own.
	Threads []string
}

// Meter takes figures. It is used from one goroutine; Close releases its resources.
type Meter struct {
	device   string // path of its counters; empty if there are none
	silent   error  // why there are none
	modelled bool
	counts   bool // instructions, and no time
	virtual  bool
	meminfo  string
	// refresh is read to have the kernel add up what its processors count.
	refresh string
	threads *threads
	// processor is nil where the kernel charges no work to the clock.
	processor *processor
	flash     *flash // nil: the storage is not raw flash
	log       *kernelLog
	logged    []string // see Logged
	load      *loaded  // nil: load is not observed
	buf       []byte
}

// New makes a meter. What it cannot open results in absent figures later.
func New(c Config) *Meter {
	set := func(s *string, otherwise string) {
		if *s == "" {
			*s = otherwise
		}
	}
	set(&c.ProcRoot, "/proc")
	set(&c.SysRoot, "/sys")
	set(&c.DevRoot, "/dev")
	set(&c.KernelLog, "/dev/kmsg")
	settle()
	m := &Meter{
		virtual: c.Virtual,
		meminfo: filepath.Join(c.ProcRoot, "meminfo"),
		refresh: filepath.Join(c.ProcRoot, "sys/vm/stat_refresh"),
		threads: newThreads(c.ProcRoot, c.Device, c.Threads),
		log:     openLog(c.KernelLog),
		buf:     make([]byte, 16<<10),
	}
	if c.Raw {
		c.Uncounted = noStatistics
		m.flash = newFlash(c.ProcRoot, c.SysRoot, c.DevRoot, c.Device)
	}
	if !c.Instructions {
		m.processor = newProcessor(c.ProcRoot)
	}
	if c.Load {
		m.load = newLoaded(c.ProcRoot)
	}
	m.silent, m.counts, m.modelled = uncounted(c.Uncounted), c.Instructions, c.Instructions && c.Modelled
	if c.Device != "" && c.Uncounted == "" {
		m.device = filepath.Join(c.SysRoot, "class/block", c.Device, "stat")
	}
	return m
}

// Close closes the meter's descriptors.
func (m *Meter) Close() {
	m.threads.close()
	m.processor.close()
	m.flash.close()
	m.log.close()
}

// snapshot holds all values at one moment. Each part has its own error.
type snapshot struct {
	disk      disk
	diskErr   error
	memory    memory
	memoryErr error
	usage     usage
	usageErr  error
	flash     flashCounts
}

type usage struct{ user, system time.Duration }

// Around runs f and measures it. Meanwhile the garbage collector is off and the goroutine stays on
// its thread. The figures are complete whether or not f fails; its error is returned as it is.
//
// Kernel messages are counted from the end of the previous phase: warnings that came in between
// become notes without a phase.
func (m *Meter) Around(phase string, f func() error) ([]result.Measurement, []result.Note, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	between := m.log.drain()
	m.load.before()
	var before, after snapshot
	var heap, heapAfter runtime.MemStats
	m.addUp() // not between the two readings of the threads' times
	m.threads.before()
	if m.flash != nil { // before reading memory: reading these takes some
		m.flash.prepare()
		m.flash.take(&before.flash)
		copy(m.flash.begun, m.flash.erases)
	}
	m.take(&before)
	m.takeMemory(&before)
	runtime.ReadMemStats(&heap)
	before.usage, before.usageErr = readUsage()

	var began, ended work
	if m.counts {
		quieten()
		hush()
		stacks()
		runtime.ReadMemStats(&heap)
		align()
		began.begin()
	}
	var peak *peak
	if m.device != "" && before.diskErr == nil && !m.counts {
		peak = watchPeak(m.device, before.disk)
		runtime.ReadMemStats(&heap) // without what watching has allocated
	}
	if peak != nil || m.processor != nil { // to read the heap wakes other threads, too
		rest(m.processor != nil)
	}
	m.processor.starts()
	start := time.Now()
	err := f()
	wall := time.Since(start)
	m.processor.stops()
	if peak != nil {
		peak.stop()
	}
	if m.counts {
		ended.end()
	}

	after.usage, after.usageErr = readUsage()
	runtime.ReadMemStats(&heapAfter)
	m.take(&after)
	if m.flash != nil {
		m.flash.take(&after.flash)
	}
	cpu := m.threads.after()
	m.addUp()
	m.takeMemory(&after)
	messages := m.log.drain()
	m.logged = messages.last

	fig := figures{phase: phase}
	fig.add(result.Wall, wall.Seconds(), nil)
	if m.device == "" {
		before.diskErr = m.silent
	}
	fig.take(&before, &after, cpu)
	fig.peaks(peak, first(before.diskErr, after.diskErr))
	if m.flash != nil {
		fig.flash(&before.flash, &after.flash, messages)
	}
	fig.add(result.KernelMessages, float64(messages.count), messages.err)
	fig.add(result.AgentMallocs, float64(heapAfter.Mallocs-heap.Mallocs), nil)
	fig.processor(m.processor)
	m.load.after(&fig, cpu)
	if m.counts {
		fig.instructions(began, ended, m.modelled)
	}
	if heapAfter.NumGC != heap.NumGC {
		fig.note(result.Warning, "the agent's garbage collector ran in the timed section")
	}
	fig.messages("", between)
	fig.messages(phase, messages)
	return fig.all, fig.notes, err
}

// Logged are the kernel's last messages, of any level, during the last Around.
func (m *Meter) Logged() []string { return m.logged }

// take reads values that are cheap and independent of order.
func (m *Meter) take(s *snapshot) {
	if m.device != "" {
		var text []byte
		if text, s.diskErr = readInto(m.device, m.buf); s.diskErr == nil {
			s.disk, s.diskErr = parseDisk(text)
		}
	}
}

// addUp has the kernel add up its counters of memory, of which every processor
// keeps a few dozen pages to itself. Where it does not (a user without rights, a
// kernel before 4.8), the figures are that much off.
func (m *Meter) addUp() { _, _ = readInto(m.refresh, m.buf) }

func (m *Meter) takeMemory(s *snapshot) {
	var text []byte
	if text, s.memoryErr = readInto(m.meminfo, m.buf); s.memoryErr == nil {
		s.memory, s.memoryErr = parseMeminfo(text)
	}
}

// readUsage returns the processor time of this process and of its children
// that have ended.
func readUsage() (usage, error) {
	var u usage
	for _, who := range [...]int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return usage{}, fmt.Errorf("getrusage: %w", err)
		}
		u.user += time.Duration(r.Utime.Nano())
		u.system += time.Duration(r.Stime.Nano())
	}
	return u, nil
}

// readInto reads a file of /proc or /sys into buf, or as much as fits.
func readInto(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return readAll(fd, path, buf)
}

// readAll reads what is open at fd, and closes it.
func readAll(fd int, path string, buf []byte) ([]byte, error) {
	defer unix.Close(fd) //nolint:errcheck // read only
	n := 0
	for n < len(buf) {
		k, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR { //nolint:errorlint // an errno as it is
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if k == 0 {
			break
		}
		n += k
	}
	return buf[:n], nil
}
