package result

import "strings"

// Metrics of every phase, followed by those of kinds of work. Metrics has the
// unit of each.
const (
	Wall           = "wall"               // monotonic clock
	CPUUser        = "cpu.user"           // agent and its finished children
	CPUSystem      = "cpu.system"         // likewise
	CPUFilesystem  = "cpu.fs-threads"     // kernel threads named after the filesystem
	CPUKernel      = "cpu.kernel-threads" // all kernel threads, workers included
	DeviceRead     = "dev.read"
	DeviceWritten  = "dev.written"
	DeviceReads    = "dev.reads" // requests completed
	DeviceWrites   = "dev.writes"
	DeviceFlushes  = "dev.flushes"
	DeviceDiscards = "dev.discards"
	DeviceDiscard  = "dev.discarded"
	DeviceBusy     = "dev.busy" // time with at least one request in flight
	// The highest rates of any second of a phase, absent where it was shorter than one.
	DevicePeakRead    = "dev.read.peak"
	DevicePeakWritten = "dev.written.peak"
	MemFreeBefore     = "mem.free.before"
	MemFreeAfter      = "mem.free.after"
	MemSlabBefore     = "mem.slab.before"
	MemSlabAfter      = "mem.slab.after"
	MemTaken          = "mem.taken"       // by the kernel for itself, slabs, modules and other mappings, without caches of data; below 0 if it was released
	MemSlabTaken      = "mem.slab.taken"  // slab memory after less slab memory before
	KernelMessages    = "kernel.messages" // new lines in the kernel log
	AgentMallocs      = "agent.mallocs"   // allocations inside the timed section
	DataBytes         = "data"            // bytes that the workload itself read or wrote
	DataFiles         = "files"           // files, directories and links handled

	// What flash did internally during a phase, where it is simulated or raw: real cards do not
	// report it.
	FlashWritten    = "flash.written"    // sent to the device
	FlashProgrammed = "flash.programmed" // programmed, including copies
	FlashCopied     = "flash.copied"     // of these, the ones that only moved data
	FlashErased     = "flash.erased"     // erase blocks erased
	FlashMerges     = "flash.merges"     // segments or log blocks closed by copying
	FlashSpread     = "flash.spread"     // most erases of a block over the mean, since the card was new
	FlashBlocks     = "flash.blocks"     // erase blocks of the medium
	FlashBlock      = "flash.block"      // size of one
	FlashCycles     = "flash.cycles"     // rated erases of a block

	// Of raw flash (MTD) during a phase, counted in the kernel's NAND core, in
	// addition to FlashProgrammed and FlashErased.
	FlashPagesRead = "flash.pages.read" // pages read
	FlashPages     = "flash.pages"      // pages programmed
	ECCCorrected   = "ecc.corrected"    // bits
	ECCFailed      = "ecc.failed"       // reads that could not be corrected
	FlashBad       = "flash.bad"        // bad blocks when the phase ended
	UBIScrubbed    = "ubi.scrubbed"     // blocks that UBI moved because of bit flips
	FlashMost      = "flash.most"       // erases of the block that was erased most in the phase
	FlashMean      = "flash.mean"       // erases of a block in the phase, on average
	FlashUntouched = "flash.untouched"  // blocks not erased in the phase

	// Of data compared with the written data.
	FilesWhole      = "files.whole"
	FilesWrong      = "files.wrong"      // silent corruption: other bytes, without an error
	FilesUnreadable = "files.unreadable" // reading failed with an error
	FilesMissing    = "files.missing"
	FilesReturned   = "files.returned"   // names that should not exist: removed ones came back
	FilesUnfinished = "files.unfinished" // traces of work in progress at the power loss
	MountReadOnly   = "mount.readonly"   // 1 if the filesystem made itself read-only, else 0

	// Of power cuts in mid-write, whose figures are stored under the phase
	// CutPhase.
	CutsDone       = "cuts"
	CutsMounted    = "cuts.mounted"    // after which the filesystem mounted
	CutsUnfinished = "cuts.unfinished" // that left traces of work in progress
	CutsWithLoss   = "cuts.loss"       // that lost promised data
	CutsOfMerges   = "cuts.merges"     // after which the storage itself had lost flushed data: they interrupted a merge
	CutsOps        = "cuts.ops"        // promised operations, of all cuts
	CutsMount      = "cuts.mount.mean" // mount after a cut
	CutsMountMost  = "cuts.mount.longest"
	CutsAttach     = "cuts.attach.mean" // UBI's attach after a cut
	CutsAttachMost = "cuts.attach.longest"

	// Of a clock that counts instructions; Instructions also of a processor that is charged for.
	Instructions     = "instructions"      // executed for the phase
	InstructionsOp   = "instructions.op"   // per request or file
	InstructionsByte = "instructions.byte" // per byte of data

	// Of a processor whose work a guest's kernel counts and charges to the virtual clock. Its
	// Instructions are the kernel's own, of all kinds.
	Processor               = "processor" // time charged for everything below
	InstructionsOther       = "instructions.other"
	InstructionsCompressing = "instructions.compressing" // decompressing included
	InstructionsChecksums   = "instructions.checksums"
	ProcessorCopied         = "processor.copied" // copied in memory, or set
	ProcessorCRC32          = "processor.crc32"  // bytes that a CRC-32 was computed of
	ProcessorCRC32C         = "processor.crc32c" // likewise
	ProcessorCalls          = "processor.calls"  // system calls
	ProcessorInterrupts     = "processor.interrupts"
	ProcessorFaults         = "processor.faults"   // page faults
	ProcessorSwitches       = "processor.switches" // from one thread to another

	SpaceUsed  = "space.used"  // statfs blocks - free
	SpaceTotal = "space.total" // statfs blocks
	SpaceFree  = "space.free"  // statfs available to root
	SpaceSaved = "space.saved" // saved by compression, if statfs does not show it
	SpaceBlock = "space.block" // statfs block
	// SpaceAvailable is what statfs reports as available to users.
	SpaceAvailable = "space.available"
	SpaceFits      = "space.fits" // contents of files that fit until there was no space
	// SpaceOff is the largest difference between what statfs called available and
	// what still fitted, as a share of all that fits.
	SpaceOff    = "space.off"
	Inodes      = "inodes"      // statfs files
	Smallest    = "smallest"    // storage on which the filesystem can be made and used
	Able        = "able"        // 1: the ability was shown
	DatesFrom   = "dates.from"  // first year of file times
	DatesUntil  = "dates.until" // last year
	ImageSize   = "image.size"
	ModuleSize  = "module.size"   // module file and its dependencies, as stored
	ModuleOwn   = "module.own"    // the filesystem's own module file
	ModuleRAM   = "module.memory" // from /proc/modules, including dependencies
	ModuleCount = "module.count"  // number of modules that had to be loaded

	LeftOutLinks    = "left-out.symlinks" // entries that this filesystem cannot store
	LeftOutNames    = "left-out.names"
	LeftOutOwners   = "left-out.owners"
	LeftOutSpecials = "left-out.specials"
	// Extended attributes; only a copy that preserves everything counts them.
	LeftOutAttributes = "left-out.attributes"
	// Of the same copy: the time until the last file was copied, before it waits
	// for the storage.
	CopiedAfter = "copied.after"

	// Of work that consists of many operations: their number, and the latency of single ones.
	// Percentiles are absent where they were not taken.
	Ops     = "ops"
	LatP50  = "lat.p50"
	LatP95  = "lat.p95"
	LatP99  = "lat.p99"
	LatP999 = "lat.p999"
	LatMax  = "lat.max"

	// fio's own figures, over all its jobs. FioRead and the like are followed by
	// one of the Fio... suffixes: "fio.read.bw". The latencies of a direction are
	// FioRead + "." + LatP50 and so on.
	FioTime   = "fio.time"       // of the I/O alone, including an fsync at its end if the job has one
	FioUser   = "fio.cpu.user"   // of its jobs, without its own start
	FioSystem = "fio.cpu.system" // likewise
	FioAll    = "fio"            // all directions together; FioGiB only
	FioRead   = "fio.read"
	FioWrite  = "fio.write"
	FioTrim   = "fio.trim"
	FioMixed  = "fio.mixed" // if a job combines all directions
	FioBytes  = ".data"
	FioBW     = ".bw"
	FioIOPS   = ".iops"
	FioGiB    = ".gib" // time of 1 GiB at this bandwidth

	// Of a filesystem's cost and of a boot from it.
	KernelThreads  = "threads"        // kernel threads of the mounted filesystem
	MemHeld        = "mem.held"       // memory that the mounted filesystem keeps, including its module
	BootKernel     = "boot.kernel"    // from the kernel's start to its first process
	BootRoot       = "boot.root"      // from there to the first process of the root filesystem
	BootInit       = "boot.init"      // from there to the first action of that filesystem's init
	BootLogin      = "boot.login"     // from there to its login prompt
	BootSpread     = "boot.spread"    // longest boot.root or boot.login of the repetitions over the shortest, less 1
	BootRepeats    = "boot.repeats"   // number of repetitions
	SpaceFull      = "space.full"     // share of the device in use, 0 to 1
	CompressRatio  = "compress.ratio" // bytes on storage over bytes of files, 0 to 1
	CompressDisk   = "compress.disk"  // on storage
	CompressPlain  = "compress.plain" // uncompressed
	CompressNone   = "compress.none"  // of that, what is stored without compression,
	CompressZlib   = "compress.zlib"  // or by a compressor
	CompressLzo    = "compress.lzo"
	CompressZstd   = "compress.zstd"
	CompressRest   = "compress.rest" // bytes on storage over bytes of the compressed part, 0 to 1
	ExtentsRegular = "extents.regular"
	ExtentsInline  = "extents.inline"

	// Of the load of the machine that the phase ran on.
	LoadWindow   = "load.window"   // time over which it was observed: the phase with its preparation
	LoadWaited   = "load.waited"   // for which the phase's processors waited for other work
	LoadStolen   = "load.stolen"   // that a hypervisor had, of all processors together
	LoadPressure = "load.pressure" // for which any process of the machine waited for a processor

	SentinelWrite = "sentinel.write" // the fixed raw write before a trial
	SentinelRead  = "sentinel.read"

	// Of bringing the storage to a steady speed.
	PreconditionBytes     = "precondition.bytes"   // total bytes written
	PreconditionSpeed     = "precondition.speed"   // mean of the last windows
	PreconditionSteady    = "precondition.steady"  // 1 if the speed was steady, else 0
	PreconditionRewritten = "precondition.windows" // windows rewritten
)

// CutPhase is the phase of the figures of power cuts.
const CutPhase = "cut"

// ProcessorTimes are the times of processes and threads as their scheduler and fio account for them.
var ProcessorTimes = []string{CPUUser, CPUSystem, CPUFilesystem, CPUKernel, FioUser, FioSystem}

// ProcessorWork are the amounts of work for which the virtual clock charges time.
var ProcessorWork = []string{Instructions, InstructionsOther, InstructionsCompressing, InstructionsChecksums, ProcessorCopied, ProcessorCRC32, ProcessorCRC32C, ProcessorCalls, ProcessorInterrupts, ProcessorFaults, ProcessorSwitches}

// FilesLost are the figures of files and names that violate a promise.
var FilesLost = []string{FilesWrong, FilesMissing, FilesUnreadable, FilesReturned}

// Metric describes a metric.
type Metric struct {
	Name string
	Unit string // base unit: "s", "B", "1", "B/s", "1/s"
	// Head is its heading in tables; empty: its name.
	Head string
	// Shown is the unit in which it is printed, if not Unit.
	Shown string
	// Signed: the value may be below zero.
	Signed bool
}

// Metrics are all metrics except fio's of single directions, in the order of the tables of phases.
var Metrics = []Metric{
	{Name: Wall, Unit: "s", Head: "Time"},
	{Name: Instructions, Unit: "1", Head: "Instructions", Shown: "instr"},
	{Name: InstructionsOp, Unit: "1", Head: "Per file", Shown: "instr"},
	{Name: InstructionsByte, Unit: "1/B", Head: "Per byte", Shown: "instr/B"},
	{Name: Processor, Unit: "s", Head: "Processor"},
	{Name: InstructionsOther, Unit: "1", Head: "Other code", Shown: "instr"},
	{Name: InstructionsCompressing, Unit: "1", Head: "Compressing", Shown: "instr"},
	{Name: InstructionsChecksums, Unit: "1", Head: "Checksums", Shown: "instr"},
	{Name: ProcessorCopied, Unit: "B", Head: "Copied in memory"},
	{Name: ProcessorCRC32, Unit: "B", Head: "CRC-32"},
	{Name: ProcessorCRC32C, Unit: "B", Head: "CRC-32C"},
	{Name: ProcessorCalls, Unit: "1", Head: "System calls"},
	{Name: ProcessorInterrupts, Unit: "1", Head: "Interrupts"},
	{Name: ProcessorFaults, Unit: "1", Head: "Page faults"},
	{Name: ProcessorSwitches, Unit: "1", Head: "Changes of threads"},
	{Name: CPUUser, Unit: "s", Head: "Agent, user"},
	{Name: CPUSystem, Unit: "s", Head: "Agent, system"},
	{Name: CPUKernel, Unit: "s", Head: "Kernel threads"},
	{Name: CPUFilesystem, Unit: "s", Head: "Filesystem’s threads"},
	{Name: DeviceRead, Unit: "B", Head: "Device read"},
	{Name: DeviceWritten, Unit: "B", Head: "Device written"},
	{Name: DeviceReads, Unit: "1", Head: "Read requests"},
	{Name: DeviceWrites, Unit: "1", Head: "Write requests"},
	{Name: DeviceFlushes, Unit: "1", Head: "Flushes"},
	{Name: DeviceDiscards, Unit: "1", Head: "Discards"},
	{Name: DeviceDiscard, Unit: "B", Head: "Discarded"},
	{Name: DeviceBusy, Unit: "s", Head: "Device busy"},
	{Name: DevicePeakRead, Unit: "B/s", Head: "Highest rate read"},
	{Name: DevicePeakWritten, Unit: "B/s", Head: "Highest rate written"},
	{Name: MemFreeBefore, Unit: "B", Head: "Free memory before"},
	{Name: MemFreeAfter, Unit: "B", Head: "Free memory after"},
	{Name: MemSlabBefore, Unit: "B", Head: "Slab before"},
	{Name: MemSlabAfter, Unit: "B", Head: "Slab after"},
	{Name: KernelMessages, Unit: "1", Head: "Kernel messages"},
	{Name: DataBytes, Unit: "B", Head: "Data moved"},
	{Name: DataFiles, Unit: "1", Head: "Files handled"},
	{Name: Ops, Unit: "1", Head: "Operations"},
	{Name: LatP50, Unit: "s", Head: "Latency, median"},
	{Name: LatP95, Unit: "s", Head: "95 % within"},
	{Name: LatP99, Unit: "s", Head: "99 % within"},
	{Name: LatP999, Unit: "s", Head: "99.9 % within"},
	{Name: LatMax, Unit: "s", Head: "Longest"},
	{Name: SpaceUsed, Unit: "B", Head: "Space used"},
	{Name: SpaceFree, Unit: "B", Head: "Space free"},
	{Name: SpaceTotal, Unit: "B", Head: "Space in all"},
	{Name: SpaceSaved, Unit: "B", Head: "Saved by compression"},
	{Name: SpaceBlock, Unit: "B", Head: "Block"},
	{Name: SpaceAvailable, Unit: "B", Head: "Space for users"},
	{Name: SpaceFits, Unit: "B", Head: "Fits"},
	{Name: SpaceOff, Unit: "1", Head: "Answer off by"},
	{Name: Inodes, Unit: "1", Head: "Inodes"},
	{Name: Smallest, Unit: "B", Head: "Smallest storage"},
	{Name: Able, Unit: "1", Head: "Shown"},
	{Name: DatesFrom, Unit: "1", Head: "Dates from", Signed: true},
	{Name: DatesUntil, Unit: "1", Head: "Dates until"},
	{Name: ImageSize, Unit: "B", Head: "Image size"},
	{Name: SpaceFull, Unit: "1", Head: "Share in use"},
	{Name: CompressRatio, Unit: "1", Head: "Compressed to"},
	{Name: CompressDisk, Unit: "B", Head: "Disk use"},
	{Name: CompressPlain, Unit: "B", Head: "Uncompressed"},
	{Name: CompressNone, Unit: "B", Head: "Stored plain"},
	{Name: CompressZlib, Unit: "B", Head: "Stored as zlib"},
	{Name: CompressLzo, Unit: "B", Head: "Stored as lzo"},
	{Name: CompressZstd, Unit: "B", Head: "Stored as zstd"},
	{Name: CompressRest, Unit: "1", Head: "Compressed part to"},
	{Name: ExtentsRegular, Unit: "1", Head: "Regular extents"},
	{Name: ExtentsInline, Unit: "1", Head: "Inline extents"},
	{Name: KernelThreads, Unit: "1", Head: "Own kernel threads"},
	{Name: MemHeld, Unit: "B", Head: "Memory held"},
	{Name: BootKernel, Unit: "s", Head: "Boot, kernel"},
	{Name: BootRoot, Unit: "s", Head: "Boot, root"},
	{Name: BootInit, Unit: "s", Head: "Boot, init"},
	{Name: BootLogin, Unit: "s", Head: "Boot, login"},
	{Name: ModuleSize, Unit: "B", Head: "Modules, stored"},
	{Name: ModuleOwn, Unit: "B", Head: "Own module, stored"},
	{Name: ModuleRAM, Unit: "B", Head: "Modules, in memory"},
	{Name: ModuleCount, Unit: "1", Head: "Modules loaded"},
	{Name: FlashWritten, Unit: "B", Head: "Sent to the flash"},
	{Name: FlashProgrammed, Unit: "B", Head: "Programmed"},
	{Name: FlashCopied, Unit: "B", Head: "Copied inside"},
	{Name: FlashErased, Unit: "1", Head: "Blocks erased"},
	{Name: FlashMerges, Unit: "1", Head: "Merges"},
	{Name: FlashSpread, Unit: "1", Head: "Spread of erases"},
	{Name: AgentMallocs, Unit: "1", Head: "Agent’s allocations"},
	{Name: MemTaken, Unit: "B", Head: "Memory taken", Signed: true},
	{Name: MemSlabTaken, Unit: "B", Head: "Slab taken", Signed: true},
	{Name: FlashBlocks, Unit: "1", Head: "Erase blocks"},
	{Name: FlashBlock, Unit: "B", Head: "Size of an erase block"},
	{Name: FlashCycles, Unit: "1", Head: "Rated erases"},
	{Name: FlashPagesRead, Unit: "1", Head: "Pages read"},
	{Name: FlashPages, Unit: "1", Head: "Pages programmed"},
	{Name: ECCCorrected, Unit: "1", Head: "Bits corrected"},
	{Name: ECCFailed, Unit: "1", Head: "Reads beyond ECC"},
	{Name: FlashBad, Unit: "1", Head: "Bad blocks"},
	{Name: UBIScrubbed, Unit: "1", Head: "Blocks scrubbed"},
	{Name: FlashMost, Unit: "1", Head: "Erases, most worn block"},
	{Name: FlashMean, Unit: "1", Head: "Erases of a block"},
	{Name: FlashUntouched, Unit: "1", Head: "Blocks never erased"},
	{Name: FilesWhole, Unit: "1", Head: "Files whole"},
	{Name: FilesWrong, Unit: "1", Head: "Files wrong"},
	{Name: FilesUnreadable, Unit: "1", Head: "Files unreadable"},
	{Name: FilesMissing, Unit: "1", Head: "Files missing"},
	{Name: FilesReturned, Unit: "1", Head: "Files returned"},
	{Name: FilesUnfinished, Unit: "1", Head: "Files unfinished"},
	{Name: MountReadOnly, Unit: "1", Head: "Read-only"},
	{Name: CutsDone, Unit: "1", Head: "Cuts"},
	{Name: CutsMounted, Unit: "1", Head: "Mounted"},
	{Name: CutsUnfinished, Unit: "1", Head: "Unfinished work"},
	{Name: CutsWithLoss, Unit: "1", Head: "Cuts with a loss"},
	{Name: CutsOfMerges, Unit: "1", Head: "Merges cut off"},
	{Name: CutsOps, Unit: "1", Head: "Promised operations"},
	{Name: CutsMount, Unit: "s", Head: "Mount, mean"},
	{Name: CutsMountMost, Unit: "s", Head: "Mount, longest"},
	{Name: CutsAttach, Unit: "s", Head: "Attach, mean"},
	{Name: CutsAttachMost, Unit: "s", Head: "Attach, longest"},
	{Name: LeftOutLinks, Unit: "1", Head: "Symlinks left out"},
	{Name: LeftOutNames, Unit: "1", Head: "Names left out"},
	{Name: LeftOutOwners, Unit: "1", Head: "Owners left out"},
	{Name: LeftOutSpecials, Unit: "1", Head: "Special files left out"},
	{Name: LeftOutAttributes, Unit: "1", Head: "Attributes left out"},
	{Name: CopiedAfter, Unit: "s", Head: "Copied after"},
	{Name: FioTime, Unit: "s", Head: "fio, time"},
	{Name: FioUser, Unit: "s", Head: "fio, user"},
	{Name: FioSystem, Unit: "s", Head: "fio, system"},
	{Name: BootSpread, Unit: "1", Head: "Spread of boots"},
	{Name: BootRepeats, Unit: "1", Head: "Boots"},
	{Name: LoadWindow, Unit: "s", Head: "Observed"},
	{Name: LoadWaited, Unit: "s", Head: "Waited for a processor"},
	{Name: LoadStolen, Unit: "s", Head: "Taken by the hypervisor"},
	{Name: LoadPressure, Unit: "s", Head: "Others waited"},
	{Name: SentinelWrite, Unit: "s", Head: "Sentinel, write"},
	{Name: SentinelRead, Unit: "s", Head: "Sentinel, read"},
	{Name: PreconditionBytes, Unit: "B", Head: "Preconditioning"},
	{Name: PreconditionSpeed, Unit: "B/s", Head: "Its speed"},
	{Name: PreconditionSteady, Unit: "1", Head: "Steady"},
	{Name: PreconditionRewritten, Unit: "1", Head: "Windows"},
}

var byName = func() map[string]Metric {
	all := map[string]Metric{}
	for _, m := range Metrics {
		all[m.Name] = m
	}
	return all
}()

// fioUnits are the units of fio's figures by suffix.
var fioUnits = map[string]string{FioBytes: "B", FioBW: "B/s", FioIOPS: "1/s", FioGiB: "s"}

// MetricOf describes the metric with a name: for an unknown one, from another version, ok is false,
// and it is a count.
func MetricOf(name string) (m Metric, ok bool) {
	if m, ok := byName[name]; ok {
		return m, true
	}
	for _, direction := range []string{FioRead, FioWrite, FioTrim, FioMixed, FioAll} {
		ending, ours := strings.CutPrefix(name, direction)
		if unit := fioUnits[ending]; ours && unit != "" {
			return Metric{Name: name, Unit: unit}, true
		}
		if m, known := byName[strings.TrimPrefix(ending, ".")]; ours && known {
			m.Name, m.Head = name, ""
			return m, true
		}
	}
	return Metric{Name: name, Unit: "1"}, false
}

// In returns the measurement with a phase.
func (m Measurement) In(phase string) Measurement {
	m.Phase = phase
	return m
}

// Figure is a measurement of a metric in its base unit.
func Figure(metric string, value float64) Measurement {
	m, _ := MetricOf(metric)
	return Measurement{Metric: metric, Value: value, Unit: m.Unit}
}

// Missing is a measurement that could not be made, with the reason.
func Missing(metric, why string) Measurement {
	m, _ := MetricOf(metric)
	return Measurement{Metric: metric, Unit: m.Unit, Absent: why}
}

// FigureOr is a Figure, or Missing if there is a reason.
func FigureOr(metric string, value float64, why string) Measurement {
	if why != "" {
		return Missing(metric, why)
	}
	return Figure(metric, value)
}
