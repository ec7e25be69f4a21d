// Package workload holds the kinds of work that a scenario is made of: one
// file per kind, one explicit list (all.go). Each is measured by the agent
// around its timed section alone.
package workload

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/storage"
)

// Kind is one kind of work. What others must know of it stands in
// scenario.Kinds.
type Kind struct {
	Name string
	// Setup allocates and prepares everything that Run needs; its time is not
	// measured. Errors are *result.Failure where the fault is known.
	Setup func(ctx context.Context, env *Env, step scenario.Step) (Job, error)
}

// Job is a piece of work that is ready to start.
type Job struct {
	// Run is the timed section. It allocates nothing (kinds that start other
	// programs excepted) and ends when the filesystem says that the work is on
	// storage, where the work writes.
	Run func(t *Tally) error
	// After, if not nil, takes figures that belong to the phase and not into
	// its time: space, sizes, options in force.
	After func() (Extra, error)
	// Absent, if not empty, says why this work cannot be done here although
	// nothing is wrong; Run is nil then. AbsentMetrics are the figures, besides
	// the wall time, that are absent for the same reason.
	Absent        string
	AbsentMetrics []string
	// Simulates: what the kernel says meanwhile comes from making a simulated
	// chip, which is nothing that anybody need know of a filesystem, or of damage
	// that is done on purpose, of which the work gives account itself.
	Simulates bool
	// Given, if above zero, is the wall time in seconds of work that was done
	// and timed earlier (see ModuleLoad); Run is nil then.
	Given float64
}

// Tally counts what the timed section did itself.
type Tally struct {
	Bytes int64
	Files int64
	Ops   int64
}

// Extra is what After found.
type Extra struct {
	Measurements []result.Measurement // Phase is filled in by the agent
	Notes        []result.Note
	Options      []result.Option
	Artifacts    []result.Artifact // Phase is filled in by the agent
}

// Env is where a scenario is carried out.
type Env struct {
	Candidate filesystem.Candidate
	FS        filesystem.Filesystem
	Device    string // path of the block device: "/dev/vdb"
	Name      string // its kernel name: "vdb"
	Mount     string // mount point
	Work      string // directory in memory for images
	Mounted   bool
	Counts    bool // the machine's clock counts instructions
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
	// Raw says that the storage is raw flash: Device is "/dev/mtd0", Name "mtd0",
	// and the filesystem gets onto it by Way.
	Raw bool
	Way filesystem.Way
	// Chip is the simulated raw chip; nil where the chip is none or a real one.
	Chip Chip
	// layer is what lies between the filesystem and the chip just now.
	layer layer
	// Image is the image file that a read-only filesystem's trial has made.
	Image string
	// unmounted is what the kernel had before the filesystem came (see Threads).
	unmounted *kernelState
	// Discard empties the storage.
	Discard func(ctx context.Context) (note string, err error)
	// Right hands out the right to write to Device: no step opens it for writing
	// itself.
	Right func(flags int) (*storage.Right, error)
	// Safe tells the host, at once, that operation number and all before it are
	// promised to be kept; nil where nobody listens.
	Safe func(number int64) error
	// laid is what fio has laid out, by directory.
	laid map[string]fioLayout
	// Size is that of the device, or of the chip's partition, in bytes; 0: ask the
	// kernel.
	Size int64
	// Hung: a call into a filesystem on a disk of a step's own did not return. That
	// disk, what is mounted from it and the modules below it stay as they are.
	Hung bool
	// filled is what directories were filled with, by directory.
	filled map[string]*layout
}

// lacks says what the candidate's filesystem cannot hold.
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

// AtRisk refuses to mount broken filesystems on a kernel that is not a guest's,
// where nobody has said that it may be risked.
func AtRisk() *result.Failure {
	return result.Refuse("use --machine lab, which does the same in guests; or add --risk-this-kernel on a machine that may be lost",
		"this mounts broken filesystems, thousands of them, on this machine's own kernel: one that meets a bug there can crash this machine, or corrupt its memory and with it any data, and unsaved work is lost")
}
