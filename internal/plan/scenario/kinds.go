package scenario

import "slices"

// Kind is the static description of a kind of work. Package workload carries it out; verdicts and
// the fake machine ask this table and never the name.
type Kind struct {
	Name string
	// Uses: it works on or beside the mounted filesystem. If any other kind fails, there is no
	// filesystem to use.
	Uses bool
	// Reads: it reads back what is stored, so a failure is a read error. Cold is the least fraction
	// of the data that the device must deliver for the read to count as cold, between 0 and 1; 0:
	// not checked.
	Reads bool
	Cold  float64
	// Writes: the bytes that the phase counts as data were written to storage.
	Writes bool
	// Prepares the storage: its wear and cost do not count as work.
	Prepares bool
	// Checks the filesystem with its own tool, which does not count as work either. The warnings of
	// its phase are the tool's findings.
	Checks bool
	// Own: the agent itself does the timed work, and must not allocate memory in it. Other kinds
	// start programs or collect figures.
	Own bool
	// Damages: it mounts filesystems that it has damaged, which a kernel with a bug may not
	// survive.
	Damages bool
}

// Much of a tree is never read again, as directories and small files share blocks that were already
// read, and compression and sparse files shrink the rest; of a stream of incompressible bytes
// nearly everything must come from the device.
const (
	coldTree   = 0.05
	coldStream = 0.5
)

// Kinds are the kinds of work that scenarios can name, in the order of a trial.
var Kinds = []Kind{
	{Name: "discard"},
	{Name: "module-load"},
	{Name: "mkfs", Prepares: true},
	{Name: "image", Prepares: true},
	{Name: "flash", Writes: true},
	{Name: "layer-load", Prepares: true},
	{Name: "layer-format", Prepares: true},
	{Name: "attach"},
	{Name: "volume", Prepares: true},
	{Name: "layer-block"},
	{Name: "layer-down"},
	{Name: "mount"},
	{Name: "remount"},
	{Name: "unmount", Uses: true},
	{Name: "precondition", Prepares: true},
	{Name: "boot-root", Uses: true},

	{Name: "tree-copy", Uses: true, Writes: true, Own: true},
	{Name: "tree-preserve", Uses: true, Writes: true, Own: true},
	{Name: "tree-rotate", Uses: true, Writes: true, Own: true},
	{Name: "tree-clone", Uses: true, Own: true},
	{Name: "tree-remove", Uses: true, Own: true},
	{Name: "tree-read", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tree-pipe", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tree-fetch", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tree-compare", Uses: true, Reads: true, Own: true},
	{Name: "stream-write", Uses: true, Writes: true, Own: true},
	{Name: "stream-read", Uses: true, Reads: true, Cold: coldStream, Own: true},
	{Name: "file-write", Uses: true, Writes: true, Own: true},
	{Name: "file-rewrite", Uses: true, Writes: true, Own: true},
	{Name: "file-read", Uses: true, Reads: true, Cold: coldStream, Own: true},
	{Name: "seeks", Uses: true, Own: true},
	{Name: "meta-create", Uses: true, Own: true},
	{Name: "meta-stat", Uses: true, Own: true},
	{Name: "meta-delete", Uses: true, Own: true},
	{Name: "fio", Uses: true},

	{Name: "fill", Uses: true, Writes: true},
	{Name: "fill-size", Uses: true, Writes: true},
	{Name: "trim", Uses: true},
	{Name: "space", Uses: true},
	{Name: "compression", Uses: true},
	{Name: "threads", Uses: true},
	{Name: "sync-files", Uses: true},
	{Name: "sync-verify", Uses: true},
	{Name: "settle", Uses: true},
	{Name: "rest", Uses: true},
	{Name: "hold-memory", Uses: true},
	{Name: "release-memory", Uses: true},
	{Name: "check", Uses: true, Checks: true},

	{Name: "power-loss", Uses: true},
	{Name: "power-cut", Damages: true},
	{Name: "flaky-writes", Damages: true},
	{Name: "bit-rot", Damages: true},
	{Name: "crash-states", Damages: true},
}

// KindOf returns the kind of work with a name. ok is false for a name that another version may have
// written.
func KindOf(name string) (k Kind, ok bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// Damages reports whether a scenario mounts filesystems that it has damaged.
func (s Scenario) Damages() bool {
	return slices.ContainsFunc(s, func(step Step) bool {
		k, _ := KindOf(step.Work)
		return k.Damages
	})
}
