// Package bench measures whichfs itself: every figure claimed about its speed, its size and its
// memory, each measured on request and printed beside its limit. It passes no judgement: a figure
// beyond its limit is printed, and is not an error.
//
// If a figure cannot be measured on a machine (no root, no QEMU, no stored run), the reason is
// printed in its place, and everything else is measured anyway.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/result/store/storetest"
)

// Config sets how much to do, and where.
type Config struct {
	// Comparisons with the original tools.
	Pairs  int           // maximum number of measured turns; one more goes first and is discarded
	Time   time.Duration // for one comparison; 3 pairs are measured even if it is exceeded
	Dir    string        // in memory; a directory is made in it and removed
	From   []string      // source directories of the tree
	Tree   int64         // contents of the tree, at most, in bytes
	Stream int64         // size of the stream, in bytes

	Bin     string // directory with the programs
	Boots   int    // number of measured guest boots; one more goes first and is discarded
	Store   string // results store whose last quick run is examined; empty: the user's
	Runs    int    // usual runs in the generated store
	Rounds  int    // of the large run in it
	Reports int    // of each kind

	Only string // name of the one topic or the one comparison; empty: all
}

// Defaults are the settings of make bench. It takes about eleven minutes, and ten more if the store
// has no series on the simulated cards.
func Defaults() Config {
	return Config{
		Pairs: 50, Time: 24 * time.Second, Dir: "/dev/shm", From: []string{"/usr/share", "/usr/lib"},
		Tree: 256 << 20, Stream: 317_000_000, Bin: "bin", Boots: 5, Runs: 100, Rounds: storetest.Large().Rounds, Reports: 5,
	}
}

// topic is one table.
type topic struct {
	name, title string
	run         func(ctx context.Context, c Config, out io.Writer) error
}

func topics() []topic {
	return []topic{
		{"workloads", "The agent's work against the original tools", workloads},
		{"bonnie", "The agent's files and seeks against Bonnie++", bonnie},
		{"fio", "fio through us against fio alone", fioCosts},
		{"agent", "The agent's size, and its allocations in timed sections", agent},
		{"lab", "The lab", labTimes},
		{"virtual", "Virtual time against real time", virtualTimes},
		{"overhead", "Time outside the work in a quick run", overhead},
		{"compression", "Compression against the published figures", compression},
		{"twins", "Simulated cards against the published figures", twins},
		{"flash", "Simulated storage", flashSpeed},
		{"nbd", "Simulated storage over NBD", nbdCosts},
		{"crash", "Exploration of crash states", crashStates},
		{"store", "Reports from a large store", reports},
	}
}

// Names lists what Only can be: topics, and comparisons of the first.
func Names() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	for _, c := range comparisons {
		names = append(names, c.Name)
	}
	return names
}

// notHere is the reason why this machine cannot provide a figure.
type notHere struct{ why string }

func (e *notHere) Error() string { return e.why }

func unavailable(format string, args ...any) error {
	return &notHere{fmt.Sprintf(format, args...)}
}

// Run measures the topics and writes a table for each. A missing prerequisite is written in place
// of its figures, and is not an error.
func Run(ctx context.Context, c Config, out io.Writer) error {
	if c.Only != "" && !slices.Contains(Names(), c.Only) {
		return fmt.Errorf("unknown topic or comparison %q; use one of %s", c.Only, strings.Join(Names(), ", "))
	}
	isTopic := slices.ContainsFunc(topics(), func(t topic) bool { return t.name == c.Only })
	var failures []error
	for i, t := range topics() {
		if isTopic && t.name != c.Only || c.Only != "" && !isTopic && i > 0 {
			continue
		}
		fmt.Fprintf(out, "%s\n%s\n%s\n", t.title, strings.Repeat("─", len([]rune(t.title))), circumstances())
		begin := time.Now()
		err := t.run(ctx, c, out)
		var absent *notHere
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &absent):
			fmt.Fprintln(out, "not measured here:", absent.why)
		case err != nil:
			fmt.Fprintln(out, "failed:", err)
			failures = append(failures, fmt.Errorf("%s: %w", t.name, err))
		}
		fmt.Fprintf(out, "(%.0f s)\n\n", time.Since(begin).Seconds())
	}
	return errors.Join(failures...)
}

// circumstances describe the machine, so that a reader can judge how far to trust a time.
func circumstances() string {
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("Linux %s, %d processors, load average before this %s", strings.TrimSpace(string(kernel)), runtime.NumCPU(), load)
}

// spread is the median of several figures with their extremes.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	return spread{median(values), slices.Min(values), slices.Max(values)}
}

// likely is a 95 % confidence interval of the median of the figures' distribution: between two of
// the figures themselves, whatever the noise. Fewer than six figures yield only their extremes.
func likely(values []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	// How many figures may be left out at each end: as many as the heads that come up in n coin
	// tosses with a probability of at most 2.5 %.
	out, chance := 0, math.Pow(0.5, float64(n))
	for sum := chance; sum <= 0.025; sum += chance {
		out++
		chance *= float64(n-out+1) / float64(out)
	}
	out = max(0, out-1)
	return s[out], s[n-1-out]
}

// text formats it with a format for one figure: "2.31 s (2.20–2.50)".
func (s spread) text(format, unit string) string {
	return fmt.Sprintf(format+unit+" ("+format+"–"+format+")", s.median, s.low, s.high)
}

// holds reports whether a figure is within its limit.
func holds(ok bool) string {
	if ok {
		return "kept"
	}
	return "NOT KEPT"
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
