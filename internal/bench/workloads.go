package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// The agent's own work is compared with the tools that it replaces: the same data, the same
// filesystem, the same machine, in alternation. That shows whether the figures include costs of the
// language or of our code.
//
// Both sides run as separate processes. The time of the tools is from the start of the first to the
// end of the last, sync included; their source is a directory in memory. Our time is from a command
// to a process that has loaded the data to its answer, plus the time to start as many empty
// programs, so that both include the starts. Everything is on ext4 in a file in memory, mounted
// through a loop device, so that no disk blurs the ratio.

// ratioLimit: parity is 1; the difference allows for noise.
const ratioLimit = 0.97

// comparison is one of our kinds of work and the equivalent tools.
type comparison struct {
	Name string
	// Tools is the command line that it is compared with, as a user would type it.
	Tools string
	// Starts is how many programs the tools' side starts.
	Starts int
	// Stream: the work is on the stream, not on the tree.
	Stream bool
	// Prepare brings the filesystem into the initial state of the work.
	Prepare func(ctx context.Context, b *bench) error
	// Work is our kind of work. Load says whether it needs the data, which its process then holds
	// in memory; a kind that only reads does not, like the tools, because the kernel could not use
	// that memory for its cache.
	Work string
	Load bool
	// Reads: every byte is read, which is checked.
	Reads bool
	// Theirs runs the tools.
	Theirs func(b *bench) error
}

// comparisons are all comparisons, one file each.
var comparisons = []comparison{treeCopy, treePreserve, treeRead, treePipe, treeFetch, treeRemove, streamWrite, streamRead}

// bench is the current comparison.
type bench struct {
	Config
	disk  *disk
	data  data
	ready string // what Prepare left for similar comparisons
}

// pair is one turn of both sides, in seconds.
type pair struct{ ours, theirs, starts float64 }

// workloads runs the comparisons and writes a line of the table for each.
func workloads(ctx context.Context, c Config, out io.Writer) (err error) {
	if os.Geteuid() != 0 {
		return unavailable("it makes and mounts a filesystem, which needs root: sudo make bench")
	}
	// Other work on this machine blurs the ratio less.
	defer favoured()()
	work, release, err := workspace(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	b := &bench{Config: c}
	if b.data, err = makeData(work, c); err != nil {
		return err
	}
	if b.disk, err = newDisk(work, 3*(c.Tree+c.Stream)/2+1<<30); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.disk.unmount()) }()
	fmt.Fprintf(out, "tree of %d files and links, %.0f MB; stream of %.0f MB; ext4 on a loop file in memory\n",
		b.data.entries, float64(b.data.bytes)/1e6, float64(c.Stream)/1e6)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ours\ttools\tours MB/s\ttools MB/s\tratio (min–max)\tlikely\tof the fastest\tpairs\tlimit\t")
	for _, cmp := range comparisons {
		if c.Only == cmp.Name || !isComparison(c.Only) {
			pairs, err := b.compare(ctx, cmp)
			if err != nil {
				_ = table.Flush() // what was measured so far
				return fmt.Errorf("%s: %w", cmp.Name, err)
			}
			bytes := b.data.bytes
			if cmp.Stream {
				bytes = c.Stream
			}
			fmt.Fprintln(table, line(cmp, pairs, float64(bytes)/1e6))
		}
	}
	return table.Flush()
}

func isComparison(name string) bool {
	return slices.ContainsFunc(comparisons, func(c comparison) bool { return c.Name == name })
}

func (b *bench) compare(ctx context.Context, cmp comparison) ([]pair, error) {
	b.ready = ""
	return b.turns(ctx, cmp.Starts,
		func() (float64, error) { return b.ours(ctx, cmp) },
		func() (float64, error) { return b.theirs(ctx, cmp) })
}

// turns runs both sides, as often as time allows; which goes first alternates.
func (b *bench) turns(ctx context.Context, starts int, ours, theirs func() (float64, error)) ([]pair, error) {
	var pairs []pair
	begin := time.Now()
	for i := range b.Pairs + 1 {
		if b.Time > 0 && len(pairs) >= 3 && time.Since(begin) > b.Time {
			break
		}
		var p pair
		sides := []func() error{
			func() (err error) { p.ours, err = ours(); return },
			func() (err error) { p.theirs, err = theirs(); return },
		}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		begin := time.Now()
		for range starts {
			if err := start(nil, nil, "true").wait(); err != nil {
				return nil, err
			}
		}
		p.starts = time.Since(begin).Seconds()
		if i > 0 {
			pairs = append(pairs, p)
		}
	}
	return pairs, nil
}

func (b *bench) ours(ctx context.Context, cmp comparison) (float64, error) {
	if err := cmp.Prepare(ctx, b); err != nil {
		return 0, err
	}
	awaitQuiet(quietLimit)
	return b.phase(cmp)
}

func (b *bench) theirs(ctx context.Context, cmp comparison) (float64, error) {
	if err := cmp.Prepare(ctx, b); err != nil {
		return 0, err
	}
	awaitQuiet(quietLimit)
	begin := time.Now()
	err := cmp.Theirs(b)
	return time.Since(begin).Seconds(), err
}

// line is a row of the table. The ratio is the median over the pairs; beside it is that of the
// fastest turn of each side, which other work on the machine disturbs least. Starts differ between
// pairs only by noise, so their median is used for all.
func line(cmp comparison, pairs []pair, megabytes float64) string {
	var starts, ours, theirs, ratios []float64
	for _, p := range pairs {
		starts = append(starts, p.starts)
	}
	extra := median(starts)
	for _, p := range pairs {
		ours = append(ours, megabytes/(p.ours+extra))
		theirs = append(theirs, megabytes/p.theirs)
		ratios = append(ratios, p.theirs/(p.ours+extra))
	}
	ratio := spreadOf(ratios)
	low, high := likely(ratios)
	judgement := holds(ratio.median >= ratioLimit)
	if ratio.median < ratioLimit && high >= ratioLimit {
		judgement = "too noisy to tell"
	}
	return fmt.Sprintf("%s\t%s\t%.0f\t%.0f\t%s\t%.2f–%.2f\t%.2f\t%d\tat least %.2f\t%s", cmp.Name, cmp.Tools,
		median(ours), median(theirs), ratio.text("%.2f", ""), low, high, slices.Max(ours)/slices.Max(theirs), len(pairs),
		ratioLimit, judgement)
}

var treeCopy = comparison{
	Name: "tree-copy", Tools: "cp -r; sync -f", Starts: 2, Work: "tree-copy", Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", "-r", b.data.dir, b.disk.mount + "/copy"}, []string{"sync", "-f", b.disk.mount})
	},
}

var treePreserve = comparison{
	Name: "tree-preserve", Tools: "cp -a; sync -f", Starts: 2, Work: "tree-preserve", Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", "-a", b.data.dir, b.disk.mount + "/copy"}, []string{"sync", "-f", b.disk.mount})
	},
}

var treeRead = comparison{
	Name: "tree-read", Tools: "tar cf - DIR | cat >/dev/null", Starts: 2, Work: "tree-read", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return pipeToNull([]string{"tar", "-C", b.disk.mount, "-c", "-f", "-", "data"}, []string{"cat"})
	},
}

// withTree makes a filesystem with one copy of the tree, once for all comparisons that only read
// it.
func (b *bench) withTree(ctx context.Context) error {
	if b.ready == "tree" {
		return nil
	}
	if err := b.disk.fresh(ctx); err != nil {
		return err
	}
	_, err := b.phase(treeCopy)
	b.ready = "tree"
	return err
}

var treePipe = comparison{
	Name: "tree-pipe", Tools: "tar -c DIR | cat >/dev/null", Starts: 2, Work: "tree-pipe", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return pipeToNull([]string{"tar", "-C", b.disk.mount, "-c", "data"}, []string{"cat"})
	},
}

var treeFetch = comparison{
	Name: "tree-fetch", Tools: "cp -a DIR /dev/shm", Starts: 1, Work: "tree-fetch", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		// The remains of either side are in memory.
		if err := os.RemoveAll(b.fetched()); err != nil {
			return err
		}
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error { return then([]string{"cp", "-a", b.disk.mount + "/data/1", b.fetched()}) },
}

// fetched is where tree-fetch of a child and the tool put their copy: beside the mount point, in
// memory.
func (b *bench) fetched() string { return filepath.Join(filepath.Dir(b.disk.mount), "fetched") }

var treeRemove = comparison{
	Name: "tree-remove", Tools: "rm -rf DIR/1; sync -f", Starts: 2, Work: "tree-remove",
	Prepare: func(ctx context.Context, b *bench) error {
		b.ready = ""
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return then([]string{"rm", "-rf", b.disk.mount + "/data/1"}, []string{"sync", "-f", b.disk.mount})
	},
}

var streamWrite = comparison{
	Name: "stream-write", Tools: "cp FILE DIR; sync -f", Starts: 2, Work: "stream-write", Stream: true, Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", b.data.stream, b.disk.mount + "/stream.1"}, []string{"sync", "-f", b.disk.mount})
	},
}

var streamRead = comparison{
	Name: "stream-read", Tools: "cat FILE >/dev/null", Starts: 1, Work: "stream-read", Stream: true, Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if b.ready != "stream" {
			if err := b.disk.fresh(ctx); err != nil {
				return err
			}
			if _, err := b.phase(streamWrite); err != nil {
				return err
			}
			b.ready = "stream"
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error { return toNull("cat", b.disk.mount+"/data/stream.1") },
}
