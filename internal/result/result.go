// Package result says what a measurement is, and everything that travels with
// one: trials, notes, conditions. It holds types only and performs no I/O; the
// SQLite store is in result/store.
//
// Units are base units throughout: seconds ("s"), bytes ("B"), counts ("1").
// They are converted only where they are printed.
package result

import "time"

// Outcome is how a trial ended. The zero value is invalid: a trial that was
// begun and never concluded has none, and is run again.
type Outcome string

const (
	// Done: every phase of the scenario was measured.
	Done Outcome = "done"
	// SubjectFailed: the filesystem under test, or one of its tools, failed.
	// That is a result.
	SubjectFailed Outcome = "subject-failed"
	// LabFailed: our own machinery failed (a guest hung, the stream broke).
	// It says nothing about the filesystem; the trial is tried again once.
	LabFailed Outcome = "lab-failed"
	// Unsupported: this kernel or machine lacks what the candidate needs.
	Unsupported Outcome = "unsupported"
	// Refused: what was asked for is impossible (a bad option, a device that
	// is too small, a tree that does not fit).
	Refused Outcome = "refused"
)

// Valid reports whether o is one of the outcomes above.
func (o Outcome) Valid() bool {
	switch o {
	case Done, SubjectFailed, LabFailed, Unsupported, Refused:
		return true
	}
	return false
}

// Measurement is one figure of one phase of one trial. If Absent is not empty
// the figure could not be had, Absent says why, and Value means nothing: an
// absent figure is never a zero.
type Measurement struct {
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Absent string  `json:"absent,omitempty"`
}

// Metrics taken around every phase. A phase may add its own (the space and
// module figures below).
const (
	Wall           = "wall"               // s, monotonic clock
	CPUUser        = "cpu.user"           // s, agent and its finished children
	CPUSystem      = "cpu.system"         // s, likewise
	CPUFilesystem  = "cpu.fs-threads"     // s, kernel threads named after the filesystem
	CPUKernel      = "cpu.kernel-threads" // s, all kernel threads, workers included
	DeviceRead     = "dev.read"           // B
	DeviceWritten  = "dev.written"        // B
	DeviceReads    = "dev.reads"          // 1, requests completed
	DeviceWrites   = "dev.writes"         // 1
	DeviceFlushes  = "dev.flushes"        // 1
	DeviceDiscards = "dev.discards"       // 1
	DeviceDiscard  = "dev.discarded"      // B
	DeviceBusy     = "dev.busy"           // s, time with at least one request under way
	MemFreeBefore  = "mem.free.before"    // B
	MemFreeAfter   = "mem.free.after"     // B
	MemSlabBefore  = "mem.slab.before"    // B
	MemSlabAfter   = "mem.slab.after"     // B
	MemTaken       = "mem.taken"          // B, free memory before less free memory after; below 0 where memory was given back
	MemSlabTaken   = "mem.slab.taken"     // B, slab memory after less slab memory before
	KernelMessages = "kernel.messages"    // 1, new lines in the kernel log
	AgentMallocs   = "agent.mallocs"      // 1, allocations inside the timed section
	DataBytes      = "data"               // B, what the workload read or wrote itself
	DataFiles      = "files"              // 1, files, directories and links handled

	// What flash did inside during a phase, where it is simulated or raw: no real
	// card tells.
	FlashWritten    = "flash.written"    // B that the device was sent
	FlashProgrammed = "flash.programmed" // B programmed, copies included
	FlashCopied     = "flash.copied"     // B of those that only moved data about
	FlashErased     = "flash.erased"     // 1, erase blocks erased
	FlashMerges     = "flash.merges"     // 1, segments or log blocks closed by copying
	FlashSpread     = "flash.spread"     // 1, most erases of a block over the mean, since the card was new
	FlashBlocks     = "flash.blocks"     // 1, erase blocks of the medium
	FlashBlock      = "flash.block"      // B, size of one
	FlashCycles     = "flash.cycles"     // 1, erases that a block is rated for

	// Of raw flash (MTD) during a phase, as the kernel's NAND core does it.
	// FlashProgrammed and FlashErased stand beside these.
	FlashPagesRead = "flash.pages.read" // 1, pages read
	FlashPages     = "flash.pages"      // 1, pages programmed
	ECCCorrected   = "ecc.corrected"    // 1, bits
	ECCFailed      = "ecc.failed"       // 1, reads that could not be corrected
	FlashBad       = "flash.bad"        // 1, bad blocks when the phase ended
	UBIScrubbed    = "ubi.scrubbed"     // 1, blocks that UBI moved because bits had flipped

	// Of data that is compared with what was written.
	FilesWhole      = "files.whole"      // 1
	FilesWrong      = "files.wrong"      // 1, other bytes came back without an error
	FilesUnreadable = "files.unreadable" // 1, reading ended in an error
	FilesMissing    = "files.missing"    // 1
	FilesReturned   = "files.returned"   // 1, names that should not be there: removed ones came back
	FilesUnfinished = "files.unfinished" // 1, traces of work that was under way when the power went
	MountReadOnly   = "mount.readonly"   // 1, the filesystem has made itself read-only: 1, else 0

	// Of power cuts in mid-write.
	CutsDone       = "cuts"                // 1
	CutsMounted    = "cuts.mounted"        // 1, after which the filesystem could be mounted
	CutsUnfinished = "cuts.unfinished"     // 1, that left traces of the work under way
	CutsWithLoss   = "cuts.loss"           // 1, that cost something that was promised to be kept
	CutsOps        = "cuts.ops"            // 1, operations that were promised to be kept, of all cuts
	CutsMount      = "cuts.mount.mean"     // s, mount after a cut
	CutsMountMost  = "cuts.mount.longest"  // s
	CutsAttach     = "cuts.attach.mean"    // s, UBI's attach after a cut
	CutsAttachMost = "cuts.attach.longest" // s

	// Of a clock that counts instructions.
	Instructions     = "instructions"      // 1, executed for the phase
	InstructionsOp   = "instructions.op"   // 1, per request or file
	InstructionsByte = "instructions.byte" // 1/B, per byte of data

	SpaceUsed   = "space.used"    // B, statfs blocks - free
	SpaceTotal  = "space.total"   // B, statfs blocks
	SpaceFree   = "space.free"    // B, statfs available to root
	SpaceSaved  = "space.saved"   // B, saved by compression where statfs does not show it
	ImageSize   = "image.size"    // B
	ModuleSize  = "module.size"   // B, module file and those it pulls in, as stored
	ModuleOwn   = "module.own"    // B, the filesystem's own module file
	ModuleRAM   = "module.memory" // B, as /proc/modules shows it, dependencies included
	ModuleCount = "module.count"  // 1, modules that had to be loaded

	LeftOutLinks    = "left-out.symlinks" // 1, entries that this filesystem cannot hold
	LeftOutNames    = "left-out.names"
	LeftOutOwners   = "left-out.owners"
	LeftOutSpecials = "left-out.specials"
	// Extended attributes; only a copy that preserves everything counts them.
	LeftOutAttributes = "left-out.attributes"

	// Of work that consists of many operations: how many, and how long single
	// ones took. Percentiles are absent where they were not taken.
	Ops     = "ops"      // 1
	LatP50  = "lat.p50"  // s
	LatP95  = "lat.p95"  // s
	LatP99  = "lat.p99"  // s
	LatP999 = "lat.p999" // s
	LatMax  = "lat.max"  // s

	// Of fio, by its own account, over all its jobs. FioRead and the like
	// are followed by one of the Fio... endings: "fio.read.bw". The
	// latencies of a direction are FioRead + "." + LatP50 and so on.
	FioTime   = "fio.time"       // s, of the I/O alone, an fsync at its end included where the job asks for one
	FioUser   = "fio.cpu.user"   // s, of its jobs, without its own start
	FioSystem = "fio.cpu.system" // s, likewise
	FioAll    = "fio"            // all directions together; FioGiB only
	FioRead   = "fio.read"
	FioWrite  = "fio.write"
	FioTrim   = "fio.trim"
	FioMixed  = "fio.mixed" // where a job wants all directions in one
	FioBytes  = ".data"     // B
	FioBW     = ".bw"       // B/s
	FioIOPS   = ".iops"     // 1/s
	FioGiB    = ".gib"      // s, that 1 GiB takes at this bandwidth

	// Of a filesystem's cost and of a boot from it.
	KernelThreads  = "threads"         // 1, kernel threads that belong to the mounted filesystem
	MemHeld        = "mem.held"        // B, memory that the mounted filesystem keeps, module included
	BootKernel     = "boot.kernel"     // s, from the kernel's start to its first process
	BootRoot       = "boot.root"       // s, from there to the first process of the root filesystem
	BootSpread     = "boot.spread"     // 1, longest boot.root of the repetitions over the shortest, less 1
	BootRepeats    = "boot.repeats"    // 1, how many there were
	SpaceFull      = "space.full"      // 1, share of the device that was in use, 0 to 1
	CompressRatio  = "compress.ratio"  // 1, bytes on storage over bytes of files, 0 to 1
	CompressDisk   = "compress.disk"   // B, on storage
	CompressPlain  = "compress.plain"  // B, uncompressed
	ExtentsRegular = "extents.regular" // 1
	ExtentsInline  = "extents.inline"  // 1

	SentinelWrite = "sentinel.write" // s, the fixed raw write before a trial
	SentinelRead  = "sentinel.read"  // s
)

// Level of a note.
type Level string

const (
	Info    Level = "info"
	Warning Level = "warning"
)

// Note is something a reader of the figures must know: a kernel message, an
// option that did not take effect, data that was left out.
type Note struct {
	Phase string `json:"phase,omitempty"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// OptionState says whether an option that was asked for is in force.
type OptionState string

const (
	InForce    OptionState = "in force"     // the mounted filesystem or the image shows it
	Altered    OptionState = "altered"      // it shows something else instead
	Ignored    OptionState = "ignored"      // it was accepted and is not in force
	Unverified OptionState = "not verified" // nothing shows it either way
)

// Option is one option of a candidate with the proof of its state.
type Option struct {
	Text     string      `json:"text"`
	State    OptionState `json:"state"`
	Evidence string      `json:"evidence"`
}

// Trial is one scenario of one candidate on one storage, once.
type Trial struct {
	ID        int64  `json:"id"`    // in the store
	Round     int    `json:"round"` // from 1
	Place     int    `json:"place"` // position in the round, from 1
	Candidate string `json:"candidate"`
	// Variant is the level of a factor that the trial has; "" is the reference.
	Variant string    `json:"variant,omitempty"`
	Attempt int       `json:"attempt"` // from 1; 0 for a trial not yet begun
	Outcome Outcome   `json:"outcome,omitempty"`
	Phase   string    `json:"phase,omitempty"`  // where it ended, unless Done
	Reason  string    `json:"reason,omitempty"` // why, unless Done
	Hint    string    `json:"hint,omitempty"`   // what would help
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Overhead is the wall time of the trial outside its measured phases, in
	// seconds, guest start included.
	Overhead     float64       `json:"overhead"`
	Measurements []Measurement `json:"measurements,omitempty"`
	Notes        []Note        `json:"notes,omitempty"`
	Options      []Option      `json:"options,omitempty"`
	Console      []string      `json:"console,omitempty"` // last lines, when the lab failed
	// Artifacts are what other programs wrote, kept whole. The store returns
	// them only when asked for them.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Named is the trial's candidate as people tell it from its other variants:
// "ext4", "ext4 [noatime]".
func (t Trial) Named() string {
	if t.Variant == "" {
		return t.Candidate
	}
	return t.Candidate + " [" + t.Variant + "]"
}

// Artifact is a text that another program wrote during a phase, kept as it is
// for whoever wants more than our figures.
type Artifact struct {
	Phase string `json:"phase"`
	Name  string `json:"name"` // as a file would be called: "fio.json"
	Text  string `json:"text"`
}

// Condition is one fact under which a run was made: kernel, tools, storage,
// digest of a data set. Group orders them in reports.
type Condition struct {
	Group string `json:"group"` // "machine", "storage", "tools", "data", "run"
	Name  string `json:"name"`
	Value string `json:"value"`
	// Matters: two runs that differ in it must not be compared silently.
	Matters bool `json:"matters,omitempty"`
}

// Run is a plan carried out.
type Run struct {
	ID      string `json:"id"`
	Study   string `json:"study"`
	Scale   string `json:"scale"` // "quick", "full"
	Machine string `json:"machine"`
	Storage string `json:"storage"` // as the user wrote it
	// Clock that figures were taken with; empty in runs before there were two:
	// ClockWall.
	Clock      string      `json:"clock,omitempty"`
	Seed       uint64      `json:"seed"`
	Rounds     int         `json:"rounds"`     // planned
	Candidates []string    `json:"candidates"` // in plan order
	Margin     float64     `json:"margin"`     // of interest, 0.10 is 10 %
	Plan       []byte      `json:"-"`          // the whole plan, JSON
	Version    string      `json:"version"`    // of whichfs
	Emulated   bool        `json:"emulated"`
	Started    time.Time   `json:"started"`
	Ended      time.Time   `json:"ended"` // zero while unfinished
	State      RunState    `json:"state"`
	Conditions []Condition `json:"conditions"`
	Notes      []Note      `json:"notes,omitempty"`
	// Series joins the runs of one study on several storages: the ID of the
	// first of them. Empty: the run stands alone.
	Series string `json:"series,omitempty"`
	// Active is the wall time spent running so far, in seconds; a run that was
	// resumed has several stretches of it.
	Active float64 `json:"active"`
}

// RunState is how far a run has come.
type RunState string

const (
	Running     RunState = "running"     // or killed: nobody said otherwise
	Interrupted RunState = "interrupted" // ended by the user or its budget
	Finished    RunState = "finished"
)
