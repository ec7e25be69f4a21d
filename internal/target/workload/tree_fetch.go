package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// TreeFetch reads the copy of a tree in DIR/1 by copying it into memory, like cp -a DIR/1 /tmp with
// /tmp a filesystem in memory: every byte, with times, owners, modes, links and extended
// attributes. Caches are up to the scenario, and the copy is removed outside the clock.
//
// If the step names a tree, the copy must hold exactly that tree, and too little memory for it is
// refused before anything is read. On a read-only filesystem, whose image is the tree itself, DIR
// holds it.
var TreeFetch = Kind{Name: "tree-fetch", Setup: setupTreeFetch}

func setupTreeFetch(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, copyOf(env, step))
	if err != nil {
		return Job{}, err
	}
	want, err := wantedOf(env, step)
	if err != nil {
		return Job{}, err
	}
	to := filepath.Join(env.Work, "fetched")
	if err := os.RemoveAll(to); err != nil { // of a trial that was given up
		return Job{}, err
	}
	if want.plan != nil {
		if err := memoryFor(env.Work, step.Data, want.plan); err != nil {
			return Job{}, err
		}
	}
	f := &fetcher{
		dir: target.dir, to: terminated(to), walk: newWalk(target.name), names: newNames(env.Trees[step.Data]),
		buf: buffer(fetchBuffer), link: make([]byte, unix.PathMax+1), list: make([]byte, unix.PathMax), value: make([]byte, maxValue),
		want: want,
	}
	return Job{
		Run: func(t *Tally) error {
			err := f.run(t)
			if err != nil {
				_ = os.RemoveAll(to) // the next trial needs its memory
			}
			return err
		},
		After: func() (Extra, error) { return Extra{}, os.RemoveAll(to) },
	}, nil
}

// wanted is what the copy of a tree must hold; nothing for a step that names no tree.
type wanted struct{ plan *plan }

func wantedOf(env *Env, step scenario.Step) (wanted, error) {
	if step.Data == "" {
		return wanted{}, nil
	}
	tree, err := treeOf(env, step)
	if err != nil {
		return wanted{}, err
	}
	p, err := newPlan(tree, env.lacks())
	return wanted{p}, err
}

// check compares the totals read; contents with several names count once.
func (w wanted) check(files, bytes int64) error {
	if w.plan == nil || files == w.plan.files && bytes == w.plan.written {
		return nil
	}
	return Subject("%d files with %d bytes were read, but %d files with %d bytes were written", files, bytes, w.plan.files, w.plan.written)
}

// copyOf is the step with the directory of its first copy; the image of a
// read-only filesystem is the tree itself.
func copyOf(env *Env, step scenario.Step) scenario.Step {
	if !env.FS.ReadOnly {
		step.Dir = filepath.Join(step.Dir, "1")
	}
	return step
}

// Memory of a filesystem in memory, in bytes: its unit is a page, and an inode with its name takes
// about a kilobyte (shmem_inode_cache and dentry in /proc/slabinfo of Linux 6.1). The reserve stays
// free for the kernel and the page cache that the reads need.
const (
	memoryPage     = 4096
	memoryEntry    = 1024
	memoryReserved = 32 << 20
)

// memoryFor checks that a tree fits into the filesystem in memory at dir.
func memoryFor(dir, name string, p *plan) error {
	need := p.entries*memoryEntry + memoryReserved
	for i := range p.ops {
		need += (int64(len(p.ops[i].data)) + memoryPage - 1) &^ (memoryPage - 1)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("filesystem in memory: %w", err)
	}
	free := int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // Bsize is 32 bits wide on some processors
	if have, ok := availableMemory(); ok {
		free = min(free, have)
	}
	if need > free || st.Files > 0 && p.entries > int64(st.Ffree) {
		return result.Refuse("use a smaller scale, or a machine with more memory",
			"the tree %q does not fit into memory: %d bytes and %d inodes are needed, %d and %d are free", name, need, p.entries, free, st.Ffree)
	}
	return nil
}

// availableMemory is the memory that the kernel could provide, in bytes.
func availableMemory() (int64, bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10, true
		}
	}
	return 0, false
}
