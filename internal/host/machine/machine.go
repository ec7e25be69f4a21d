// Package machine is where trials execute: a lab guest, this host's kernel, a
// board, a fake one for tests. All of them speak the same protocol with
// the same agent; they differ in how the agent is started and what is left
// when it dies.
package machine

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/wire"
)

// Machine makes sessions.
type Machine interface {
	// Name as the user writes it: "lab", "local", "ssh:root@board", "fake".
	Name() string
	// Start brings up one agent with storage and data sets claimed. The caller closes the session.
	// Errors are *result.Failure; the outcome says whose fault it was.
	Start(ctx context.Context, spec Spec) (Session, error)
}

// Spec is what a session needs.
type Spec struct {
	Storage string // as the user wrote it
	Destroy string // ID of the device that the user allowed to be overwritten
	// Damages: broken filesystems will be mounted in the session. A machine that shares its kernel
	// with others refuses that without RiskKernel, by which the user accepts that this kernel may
	// crash.
	Damages, RiskKernel bool
	// ReadOnly storage is claimed for reading only: the device may be mounted, and trials are
	// refused.
	ReadOnly bool
	// InUse allows reading a device that is in use; only with ReadOnly.
	InUse bool
	// Instructions asks for a guest whose clock counts instructions; machines without such a clock
	// refuse.
	Instructions bool
	// Virtual asks for a guest whose time is that of its storage; machines without such a clock
	// refuse.
	Virtual bool
	// Processor is what such a guest is charged for, and without Virtual one that a guest is to have;
	// nil: it is free, or the machine's own.
	Processor *processor.Profile
	// Seed determines what such a guest draws at random: identifiers, hash seeds, where it begins to
	// allocate.
	Seed uint64
	// Untimed: nothing is timed in the session, so a guest's clock may tick as coarsely as is
	// fastest.
	Untimed bool
	// Memory of a guest in bytes; 0: as much as it needs. Machines whose memory is fixed refuse any
	// other amount.
	Memory int64
	// CPUs is the number of a guest's processors; 0: one. Machines whose processors are fixed refuse any
	// other number.
	CPUs int
	// Arch is the processor of a guest by Debian's name ("armhf"); empty: the host's. Machines
	// whose processor is fixed refuse any other.
	Arch string
	// Kernel is the version of a guest's kernel, or how it begins ("6.12"); empty: the lab's own.
	Kernel string
	// Modules are kernel module files on this host that filesystems may need.
	Modules []string
	// Given are programs on this host that take the place of the machine's, as plan.Plan has them.
	Given []string
	Data  []scenario.Data // Path: the archive on this host
	// Trees is how often the work holds each tree in memory at once, by name; of one that it lacks, three
	// times: as the archive, as a directory and as the image of a read-only filesystem.
	Trees map[string]int
	Work  string // directory for temporary files, on this host
	// Programs that the work starts, and which of them are sent to a machine that is not this host's own,
	// as plan.Plan has it.
	Programs []filesystem.Tool
	Tools    string
	// Spare are programs that the work can do without: phases that measure them are absent then.
	Spare []filesystem.Tool
}

// Session is a running agent. It is used from one goroutine.
type Session interface {
	// Facts of the machine, known from the start.
	Facts() wire.Facts
	// Ready says what the storage turned out to be.
	Ready() wire.Ready
	// Support says which candidates can run here.
	Support(ctx context.Context, candidates []filesystem.Candidate) (wire.Support, error)
	// Trial runs one trial. Events arrive in order, on the calling goroutine. An error means
	// that the machinery failed and the session is unusable; everything else is in Done. Cancelling
	// ctx ends the session.
	Trial(ctx context.Context, t wire.Trial, events Events) (wire.Done, error)
	// Close ends the agent and releases everything that the session created. It may be called more
	// than once, and after any error.
	Close() error
}

// Events receives what happens during a trial; each may be nil.
type Events struct {
	Phase   func(name string)
	Figures func(wire.Figures)
	// Safe receives the number of an operation that the filesystem has promised to keep, along with
	// all earlier ones.
	Safe func(number int64)
	// Place is where in the machine's memory the simulated raw chip is, if the trial asked for it.
	Place func(kernelmemory.ChipPlace)
}

// Consoler is implemented by sessions whose machine has a console of its own.
type Consoler interface {
	// Console returns the last lines, oldest first.
	Console() []string
}

// Lasting is implemented by machines whose sessions may serve any number of
// trials, rounds included, without a fresh start (the local kernel).
type Lasting interface{ Lasting() bool }

// Lent is implemented by machines that may be somebody else's, from whom the first session acquires them.
type Lent interface {
	// GiveBack gives the machine back after its last session. It may be called at any time, and more than
	// once.
	GiveBack() error
}

// Checker is implemented by machines that can tell without starting anything that a spec cannot
// work; its data sets need not exist yet. Errors are *result.Failure.
type Checker interface{ Check(spec Spec) error }

// Lister is implemented by machines whose own storage can be listed. Errors are *result.Failure.
type Lister interface {
	List(ctx context.Context) ([]wire.Device, error)
}

// Shared is implemented by machines whose processors do other work as well, and whose load changes
// figures.
type Shared interface {
	// Busy tries for about a second for what share of the time, 0 to 1, work that begins now has to
	// wait for a processor. Nothing is measured meanwhile.
	Busy(ctx context.Context) float64
}

// Emulator is implemented by sessions whose processor may be emulated: figures
// from there show order and ratio, not speed.
type Emulator interface{ Emulated() bool }

// Prober is implemented by sessions that can probe their storage. progress may be nil and is called
// on the calling goroutine. Errors are as for Trial, except that the report returned with them has
// the results so far, and that a failed device is a *result.Failure that leaves the session usable.
// Cancelling ctx ends the probe, with an error that wraps context.Canceled, and the session.
type Prober interface {
	Probe(ctx context.Context, p wire.Probe, progress func(wire.Progress)) (probe.Report, error)
}

// Booter is implemented by sessions that can boot a separate guest from the session's storage, on
// which a trial has just left a root filesystem. Events and errors are as for Trial; a guest that
// does not boot because of the filesystem is reported in Done.
type Booter interface {
	Boot(ctx context.Context, b Boot, events Events) (wire.Done, error)
}

// Boot says what to boot: each kernel to the first process of the root filesystem, in phase "boot
// KERNEL", with the requested version, and to a login prompt, in phase "login KERNEL". One set
// of figures per repetition would be too many, so they are geometric means and their spread.
type Boot struct {
	Candidate filesystem.Candidate
	Variant   scenario.Variant
	Repeats   int
	Kernels   []string // as plan.Boots has them
}

// NoInstructions is the refusal of a machine whose clock cannot count
// instructions.
func NoInstructions(m Machine) error {
	return result.Refuse("use --machine lab, or --clock wall",
		"%s", "machine "+m.Name()+" has no clock that counts instructions: only emulated processors do")
}

// NoVirtual is the refusal of a machine whose clock is the real one.
func NoVirtual(m Machine) error {
	return result.Refuse("use --machine lab, or --clock wall",
		"%s", "machine "+m.Name()+" has no virtual clock: only guests of the lab do")
}

// NoProcessor is the refusal of a machine that has its own processor.
func NoProcessor(m Machine) error {
	return result.Refuse("leave --cpu out, or use --machine lab",
		"%s", "machine "+m.Name()+" has its own processor")
}

// FixedArch is the refusal of a machine whose processor is fixed.
func FixedArch(m Machine, asked, has string) error {
	return result.Refuse("use --machine lab, whose guests can be of another architecture, or leave --arch out",
		"the architecture of machine %s is fixed: it is %s, not %s", m.Name(), has, asked)
}

// FixedCPUs is the refusal of a machine that cannot be given more processors.
func FixedCPUs(m Machine, asked int) error {
	return result.Refuse("use --machine lab with --clock wall, or leave --cpus out",
		"machine %s cannot be given %d processors: their number is fixed", m.Name(), asked)
}

// FixedMemory is the refusal of a machine whose memory is fixed.
func FixedMemory(m Machine, asked int64) error {
	return result.Refuse("use --machine lab, or leave the memory out",
		"machine %s cannot be given %d MiB of memory: its memory is fixed", m.Name(), asked>>20)
}

// Explorer is implemented by sessions that can explore crash states. Errors are as for Trial.
// Cancelling ctx ends the session. given are the files that the order names: "log", "base",
// "finding".
type Explorer interface {
	Explore(ctx context.Context, order wire.Explore, given map[string][]byte, events ExploreEvents) (wire.Explored, error)
}

// ExploreEvents are called on the calling goroutine; each may be nil.
type ExploreEvents struct {
	Looking  func(wire.Looking)
	Found    func(wire.Found)
	Recorded func(wire.Recorded)
	Tallied  func(wire.Tallied)
}
