// Package bench measures whichfs itself: every figure that is claimed of its
// speed, its size and its memory, each taken when it is asked for and printed
// beside the limit that it is meant to keep. It passes no judgement: a figure
// beyond its limit is printed, not an error.
//
// What cannot be had on a machine (no root, no QEMU, no stored run) is said in
// its place, and everything else is measured all the same.
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
)

// Config says how much to do, and where.
type Config struct {
	// Comparisons with the original tools.
	Pairs  int           // of turns measured at most; one more goes first and is discarded
	Time   time.Duration // for one comparison; 3 pairs are made even if it is over
	Dir    string        // in memory; a directory is made in it and removed
	From   []string      // directories that the tree is taken from
	Tree   int64         // contents of the tree, at most, in bytes
	Stream int64         // size of the stream, in bytes

	Bin     string // directory with the programs
	Boots   int    // of guests measured; one more goes first and is discarded
	Store   string // results store whose last quick run is looked at; empty: the user's
	Runs    int    // usual runs in the store that is filled
	Reports int    // of each kind

	Only string // name of the one topic or the one comparison; empty: all
}

// Defaults are what make bench does. It takes about eleven minutes, and ten more
// where the store has no series on the simulated cards.
func Defaults() Config {
	return Config{
		Pairs: 50, Time: 24 * time.Second, Dir: "/dev/shm", From: []string{"/usr/share", "/usr/lib"},
		Tree: 256 << 20, Stream: 317_000_000, Bin: "bin", Boots: 5, Runs: 100, Reports: 5,
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
		{"agent", "The agent's size, and its allocations while the clock runs", agent},
		{"lab", "The lab", labTimes},
		{"overhead", "Time outside the work in a quick run", overhead},
		{"compression", "Compression against the published figures", compression},
		{"twins", "Simulated cards against the published figures", twins},
		{"flash", "Simulated storage", flashSpeed},
		{"nbd", "Simulated storage over NBD", nbdCosts},
		{"crash", "Crash states looked at", crashStates},
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

// notHere is the reason why this machine cannot give a figure.
type notHere struct{ why string }

func (e *notHere) Error() string { return e.why }

func unavailable(format string, args ...any) error {
	return &notHere{fmt.Sprintf(format, args...)}
}

// Run measures the topics and writes a table for each. What a topic lacks here
// is written in its place and no error.
func Run(ctx context.Context, c Config, out io.Writer) error {
	if c.Only != "" && !slices.Contains(Names(), c.Only) {
		return fmt.Errorf("nothing here is called %q; known are %s", c.Only, strings.Join(Names(), ", "))
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

// circumstances are what a reader must know of the machine to trust a time.
func circumstances() string {
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("Linux %s, %d processors, load average before this %s", strings.TrimSpace(string(kernel)), runtime.NumCPU(), load)
}

// spread is the middle of several figures with their extremes.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	return spread{median(values), slices.Min(values), slices.Max(values)}
}

// likely is the interval that holds the middle of what such figures come from,
// in 95 of 100 cases: between two of the figures themselves, whatever the
// noise is like. Fewer than six figures cannot say more than their extremes.
func likely(values []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	// How many figures may be left out at each end: as many heads as come up
	// in n throws with a chance of at most 2.5 %.
	out, chance := 0, math.Pow(0.5, float64(n))
	for sum := chance; sum <= 0.025; sum += chance {
		out++
		chance *= float64(n-out+1) / float64(out)
	}
	out = max(0, out-1)
	return s[out], s[n-1-out]
}

// text prints it with a format for one figure: "2.31 s (2.20–2.50)".
func (s spread) text(format, unit string) string {
	return fmt.Sprintf(format+unit+" ("+format+"–"+format+")", s.median, s.low, s.high)
}

// holds says whether a figure keeps its limit.
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
