package scenario

import (
	"reflect"
	"slices"
	"strings"
)

// Kind is the static description of a kind of work. Package workload carries it out; verdicts and
// the fake machine ask this table and never the name.
type Kind struct {
	Name string
	// Takes are the fields of a step that it uses, besides work, phase and only,
	// by their JSON names.
	Takes string
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
	// Prepares the storage, or collects facts besides the work: its wear and cost do not count as
	// work.
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
	{Name: "image", Takes: "data share", Prepares: true},
	{Name: "flash", Writes: true},
	{Name: "layer-load", Prepares: true},
	{Name: "layer-format", Prepares: true},
	{Name: "attach"},
	{Name: "volume", Prepares: true},
	{Name: "layer-block"},
	{Name: "layer-down"},
	{Name: "mount"},
	{Name: "remount", Takes: "options"},
	{Name: "unmount", Uses: true},
	{Name: "precondition", Takes: "dir", Prepares: true},
	{Name: "boot-root", Takes: "data", Uses: true},

	{Name: "tree-copy", Takes: "data dir count", Uses: true, Writes: true, Own: true},
	{Name: "tree-preserve", Takes: "data dir count", Uses: true, Writes: true, Own: true},
	{Name: "tree-rotate", Takes: "data dir count", Uses: true, Writes: true, Own: true},
	{Name: "tree-clone", Takes: "data dir", Uses: true, Own: true},
	{Name: "tree-remove", Takes: "dir", Uses: true, Own: true},
	{Name: "tree-read", Takes: "data dir count", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tree-pipe", Takes: "data dir", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tree-fetch", Takes: "data dir", Uses: true, Reads: true, Cold: coldTree, Own: true},
	{Name: "tar-null", Takes: "data dir", Uses: true},
	{Name: "tar-pipe", Takes: "data dir block", Uses: true, Reads: true, Cold: coldTree},
	{Name: "cp-fetch", Takes: "data dir", Uses: true, Reads: true, Cold: coldTree},
	{Name: "tree-compare", Takes: "data dir count", Uses: true, Reads: true, Own: true},
	{Name: "stream-write", Takes: "data dir count", Uses: true, Writes: true, Own: true},
	{Name: "stream-read", Takes: "data dir count", Uses: true, Reads: true, Cold: coldStream, Own: true},
	{Name: "wear", Takes: "data dir count", Uses: true, Writes: true, Own: true},
	{Name: "file-write", Takes: "dir size block", Uses: true, Writes: true, Own: true},
	{Name: "file-rewrite", Takes: "dir size block", Uses: true, Writes: true, Own: true},
	{Name: "file-read", Takes: "dir size block", Uses: true, Reads: true, Cold: coldStream, Own: true},
	{Name: "seeks", Takes: "dir size block ops jobs share seed", Uses: true, Own: true},
	{Name: "meta-create", Takes: "dir files dirs order seed", Uses: true, Own: true},
	{Name: "meta-stat", Takes: "dir files dirs order seed", Uses: true, Own: true},
	{Name: "meta-read", Takes: "dir files dirs order seed", Uses: true, Own: true},
	{Name: "meta-delete", Takes: "dir files dirs order seed", Uses: true, Own: true},
	{Name: "fio", Takes: "dir size job", Uses: true},

	{Name: "fill", Takes: "data dir share", Uses: true, Writes: true},
	{Name: "fill-size", Takes: "data dir share count", Uses: true, Writes: true},
	{Name: "trim", Uses: true},
	{Name: "space", Uses: true},
	{Name: "compression", Takes: "data dir", Uses: true},
	{Name: "threads", Uses: true},
	{Name: "sync-files", Takes: "dir size ops share seed", Uses: true},
	{Name: "sync-verify", Takes: "dir size ops share seed", Uses: true},
	{Name: "settle", Takes: "count", Uses: true},
	{Name: "rest", Uses: true},
	{Name: "hold-memory", Takes: "size", Uses: true},
	{Name: "release-memory", Uses: true},
	{Name: "check", Uses: true, Checks: true},
	{Name: "dates", Uses: true, Prepares: true},
	{Name: "smallest", Uses: true, Prepares: true},
	{Name: "ability", Takes: "ability", Uses: true, Prepares: true, Damages: true},

	{Name: "room", Takes: "size block"},

	{Name: "power-loss", Uses: true},
	{Name: "power-cut", Takes: "count size seed options fault", Damages: true},
	{Name: "flaky-writes", Takes: "count size files block order byte seed fault options", Damages: true},
	{Name: "flaky-reads", Takes: "count size files block order byte seed options", Damages: true},
	{Name: "bit-rot", Takes: "count size files ops seed fault options", Damages: true},
	{Name: "bad-sectors", Takes: "count size files ops seed fault options", Damages: true},
	{Name: "crash-states", Takes: "ops seed fault options", Damages: true},
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

// Stray returns a field that a step sets and that means nothing to its kind of work; "" if there
// is none.
func (s Step) Stray() string {
	k, _ := KindOf(s.Work)
	takes := append(strings.Fields(k.Takes), "work", "phase", "only")
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if !v.Field(i).IsZero() && !slices.Contains(takes, name) {
			return name
		}
	}
	return ""
}

// Damages reports whether a scenario mounts filesystems that it has damaged.
func (s Scenario) Damages() bool {
	return slices.ContainsFunc(s, func(step Step) bool {
		k, _ := KindOf(step.Work)
		return k.Damages
	})
}
