package workload

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The storm of empty files is that of Bonnie++ 1.96 to 2.00 (bon_file.cpp): the same names in the
// same directories, the same calls in the same order, ended by a sync where the original has one.
// The differences:
//
//   - the sync is of this filesystem and not of all (syncfs for sync);
//   - the directories are on storage before the clock starts, where those of
//     the original are in memory;
//   - paths are relative to descriptors and not to a working directory;
//   - the order of a random pass is an even shuffle (see metaNames.shuffle);
//   - names are drawn from the step's seed, so that every candidate gets the
//     same ones;
//   - a directory is listed again if the filesystem skipped some of its files while they were
//     deleted, where the original gives up.
//
// The steps of one storm name the same Dir, Files, Dirs, Order and Seed.

// meta is a storm that is laid out.
type meta struct {
	target *target
	names  *metaNames
	random bool
	lat    latencies
}

// Streams of one seed that must differ.
const (
	metaDrawNames = iota
	metaDrawStat
	metaDrawDelete
)

func metaSource(seed, use uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, use)) }

func newMeta(env *Env, step scenario.Step) (*meta, error) {
	if step.Dir == "" {
		return nil, result.Refuse("", "step %q: a directory must be named", step.Work)
	}
	t, err := newTarget(env, step)
	if err != nil {
		return nil, err
	}
	dirs := max(step.Dirs, 1)
	switch {
	case step.Files < 1 || step.Files > 1<<24:
		return nil, result.Refuse("", "step %q: %d files (1 to %d can be made)", step.Work, step.Files, 1<<24)
	case dirs >= metaMaxDirs || dirs > step.Files:
		return nil, result.Refuse("", "step %q: %d directories for %d files (less than %d, and no more than files)", step.Work, dirs, step.Files, metaMaxDirs)
	case step.Order != scenario.OrderSequential && step.Order != scenario.OrderRandom:
		return nil, result.Refuse("", "step %q: unknown order %q (use %q or %q)", step.Work, step.Order, scenario.OrderSequential, scenario.OrderRandom)
	}
	source := metaSource(step.Seed, metaDrawNames)
	return &meta{
		target: t, random: step.Order == scenario.OrderRandom,
		names: newMetaNames(step.Files, dirs, step.Order, func() int { return int(source.Uint32() >> 1) }),
	}, nil
}

func (m *meta) after() (Extra, error) { return Extra{Measurements: m.lat.measurements()}, nil }

// fail names the file of a call that failed.
func (m *meta) fail(call string, i int, errno unix.Errno) error {
	return errOp(call, join(m.target.name, m.names.text(i)), errno)
}
