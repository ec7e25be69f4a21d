// Package workload holds the kinds of work that make up a scenario: one file per kind, one explicit
// list (all.go). The agent measures only the timed section of each.
package workload

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/storage"
)

// Kind is one kind of work. What other packages need to know of it is in scenario.Kinds.
type Kind struct {
	Name string
	// Setup allocates and prepares everything that Run needs; its time is not measured. Errors are
	// *result.Failure if the cause is known.
	Setup func(ctx context.Context, env *Env, step scenario.Step) (Job, error)
	// Program is GNU's program whose speed is measured; the zero value: none. Where it is missing, the
	// work is absent.
	Program filesystem.Tool
}

// Job is a piece of work that is ready to start.
type Job struct {
	// Run is the timed section. It allocates nothing (except in kinds that start other programs)
	// and ends when the filesystem reports the work on storage, if the work writes.
	Run func(t *Tally) error
	// After, if not nil, takes figures that belong to the phase but not into its time: space,
	// sizes, options in force.
	After func() (Extra, error)
	// Absent, if not empty, says why this work cannot be done here although nothing is wrong; Run
	// is nil then. AbsentMetrics are the figures, besides the wall time, that are absent for the
	// same reason.
	Absent        string
	AbsentMetrics []string
	// Simulates: kernel messages meanwhile come from making a simulated chip, and say nothing about
	// a filesystem, or from deliberate damage, which the work itself reports.
	Simulates bool
	// Programs: other programs' own work is what it is for, such as compressing an image.
	Programs bool
	// Computes: besides what the storage makes it wait, another program computes for so long that
	// what the kernel is charged for is no measure of it.
	Computes bool
	// Wears: how it wears each block of raw flash is what it is for.
	Wears bool
	// Given, if above zero, is the wall time in seconds of work that was done and timed earlier
	// (see ModuleLoad); Run is nil then.
	Given float64
	// Earlier is the wall time in seconds of a part of the work that was done and timed earlier; it is
	// added to that of Run.
	Earlier float64
}

// Tally holds the counts of the timed section itself.
type Tally struct {
	Bytes int64
	Files int64
	Ops   int64
}

// Extra is the result of After.
type Extra struct {
	Measurements []result.Measurement // Phase is filled in by the agent
	Notes        []result.Note
	Options      []result.Option
	Artifacts    []result.Artifact // Phase is filled in by the agent
}

// Env is the environment of a scenario.
type Env struct {
	Candidate filesystem.Candidate
	FS        filesystem.Filesystem
	Device    string // path of the block device: "/dev/vdb"
	Name      string // its kernel name: "vdb"
	Mount     string // mount point
	Work      string // directory in memory for images
	Mounted   bool
	daemon    *daemon // that runs beside it; nil: none
	Counts    bool    // the machine's clock counts instructions
	Virtual   bool    // its time passes only while it waits, or for what it counts
	// Trees and Streams are in memory, by name.
	Trees   map[string]*memory.Tree
	Streams map[string]*memory.Stream
	// TreeDir makes a tree available as a directory in memory, for tools that
	// read one (image makers), and returns its path. Made once per session.
	TreeDir func(name string) (string, error)
	// Modules is the kernel's module tree; nil where there is none.
	Modules *Modules
	// closure are modules that the filesystem needs (see needs).
	closure map[string]bool
	// AtStart are the modules that the machine loaded to start itself.
	AtStart map[string]AtStart
	// Raw: the storage is raw flash; Device is "/dev/mtd0", Name "mtd0", and Way is how the
	// filesystem gets onto it.
	Raw bool
	Way filesystem.Way
	// Chip is the simulated raw chip; nil if there is none or the chip is real.
	Chip Chip
	// journal is the disk in memory that has the journal of a candidate; nil: it is on the storage.
	journal *blockdev.Disk
	// layer is the current layer between the filesystem and the chip.
	layer layer
	// Image is the image file made by the trial of a read-only filesystem.
	Image string
	// unmounted is the state of the kernel before the mount (see Threads).
	unmounted *kernelState
	// Discard empties the storage.
	Discard func(ctx context.Context) (note string, err error)
	// Right returns the right to write to Device: no step opens it for writing itself.
	Right func(flags int) (*storage.Right, error)
	// Safe reports to the host, at once, that the survival of operation number and all before it is
	// promised; nil if there is no listener.
	Safe func(number int64) error
	// laid records what fio has laid out, by directory.
	laid map[string]fioLayout
	// Size is that of the device, or of the chip's partition, in bytes; 0: ask the kernel.
	Size int64
	// Hung: a call into a filesystem on a disk of a step's own did not return. That disk, the mount
	// on it and the modules below it stay as they are.
	Hung bool
	// filled records what directories were filled with, by directory.
	filled map[string]*layout
}

// lacks lists what the candidate's filesystem cannot hold.
func (e *Env) lacks() filesystem.Lacks {
	if e.FS.Lacks == nil {
		return filesystem.Lacks{} // whatever is mounted there, which no candidate names
	}
	return e.FS.Lacks(e.Candidate)
}

// Subject returns the failure of the filesystem under test or its tools.
func Subject(format string, args ...any) *result.Failure {
	return result.Fail(result.SubjectFailed, "", format, args...)
}

// AtRisk refuses to mount broken filesystems on a kernel that is not a guest's, unless the user has
// accepted the risk.
func AtRisk() *result.Failure {
	return result.Refuse("use --machine lab, which does the same in guests; or add --risk-this-kernel on a machine that may be lost",
		"this mounts broken filesystems, thousands of them, on this machine's own kernel: one that meets a bug there can crash this machine, or corrupt its memory and with it any data, and unsaved work is lost")
}
