// Package bench holds the agent's own work against the tools that it stands in
// for: the same data, the same filesystem, the same machine, in turns. It says
// whether the language or our code is in the figures; it passes no judgement.
//
// Both sides run as processes of their own. What is timed of the tools is from
// the start of the first to the end of the last, sync included; their source
// is a directory in memory. What is timed of ours is from a word to a process
// that has loaded the data to its answer, plus the time that starting as many
// empty programs takes in the same pair, so that both contain the starts. All
// of it is on ext4 in a file in memory, mounted through a loop device, so that
// no disk blurs the ratio.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// Config says how much to do.
type Config struct {
	Pairs  int      // measured; one more goes first and is discarded
	Dir    string   // in memory; a directory is made in it and removed
	From   []string // directories that the tree is taken from
	Tree   int64    // contents of the tree, at most, in bytes
	Stream int64    // size of the stream, in bytes
	Only   string   // name of the one comparison to make; empty: all
}

// Comparison is one of our kinds of work against the tools that do the same.
type Comparison struct {
	Name string
	// Tools are what it is compared with, as a user would type it.
	Tools string
	// Starts is how many programs the tools' side starts.
	Starts int
	// Stream: the work is on the stream, not on the tree.
	Stream bool
	// Prepare brings the filesystem into the state that the work begins with.
	Prepare func(ctx context.Context, b *bench) error
	// Work is the kind of ours.
	Work string
	// Theirs runs the tools.
	Theirs func(b *bench) error
}

// All are the comparisons, one file each.
var All = []Comparison{treeCopy, treeRead, treeRemove, streamWrite, streamRead}

// bench is a benchmark under way.
type bench struct {
	Config
	disk  *disk
	data  data
	ready string // what Prepare has left for others of its kind to use
}

// pair is one turn of both sides, in seconds.
type pair struct{ ours, theirs, starts float64 }

// Run makes the comparisons and writes one line of a table for each.
func Run(ctx context.Context, c Config, out io.Writer) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("the benchmark makes and mounts a filesystem: run it as root")
	}
	// Whatever else this machine does blurs the ratio less; both sides inherit it.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	work, err := os.MkdirTemp(c.Dir, "whichfs-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // in memory
	b := &bench{Config: c}
	if b.data, err = makeData(work, c); err != nil {
		return err
	}
	b.disk = &disk{image: work + "/image", mount: work + "/mnt", size: 3*(c.Tree+c.Stream)/2 + 1<<30}
	if err := os.Mkdir(b.disk.mount, 0o755); err != nil {
		return err
	}
	defer b.disk.unmount() //nolint:errcheck // what matters was reported
	fmt.Fprintf(out, "tree: %d files and links, %.0f MB; stream: %.0f MB; ext4 on a loop file in memory; %d pairs\n",
		b.data.entries, float64(b.data.bytes)/1e6, float64(c.Stream)/1e6, c.Pairs)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ours\ttools\tours MB/s\ttools MB/s\tratio\tmin–max\tof the fastest")
	for _, cmp := range All {
		if c.Only != "" && c.Only != cmp.Name {
			continue
		}
		pairs, err := b.compare(ctx, cmp)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Name, err)
		}
		bytes := b.data.bytes
		if cmp.Stream {
			bytes = c.Stream
		}
		fmt.Fprintln(table, line(cmp, pairs, float64(bytes)/1e6))
	}
	return table.Flush()
}

// compare runs both sides in turns; which goes first alternates.
func (b *bench) compare(ctx context.Context, cmp Comparison) ([]pair, error) {
	var pairs []pair
	b.ready = ""
	for i := range b.Pairs + 1 {
		var p pair
		sides := []func() error{
			func() (err error) { p.ours, err = b.ours(ctx, cmp); return },
			func() (err error) { p.theirs, err = b.theirs(ctx, cmp); return },
		}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return nil, err
			}
		}
		begin := time.Now()
		for range cmp.Starts {
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

func (b *bench) ours(ctx context.Context, cmp Comparison) (float64, error) {
	if err := cmp.Prepare(ctx, b); err != nil {
		return 0, err
	}
	return b.phase(cmp.Work, cmp.Stream)
}

func (b *bench) theirs(ctx context.Context, cmp Comparison) (float64, error) {
	if err := cmp.Prepare(ctx, b); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := cmp.Theirs(b)
	return time.Since(begin).Seconds(), err
}

// line is a row of the table. The ratio is the median of the pairs'; that of
// the fastest turns of each side stands beside it, which a machine that is busy
// with other things disturbs least.
func line(cmp Comparison, pairs []pair, megabytes float64) string {
	var ours, theirs, ratios []float64
	for _, p := range pairs {
		ours = append(ours, megabytes/(p.ours+p.starts))
		theirs = append(theirs, megabytes/p.theirs)
		ratios = append(ratios, p.theirs/(p.ours+p.starts))
	}
	return fmt.Sprintf("%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f–%.2f\t%.2f", cmp.Name, cmp.Tools,
		median(ours), median(theirs), median(ratios), slices.Min(ratios), slices.Max(ratios), slices.Max(ours)/slices.Max(theirs))
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
