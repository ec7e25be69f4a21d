// Command whichfs-bench measures whichfs: its work against the original tools,
// its agent's size and allocations, its lab, and reports from a large store. It
// prints a table for each topic.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"whichfs/internal/bench"
)

func main() {
	if mine, err := bench.Child(os.Args[1:]); mine {
		exit(err)
	}
	c := bench.Defaults()
	from := strings.Join(c.From, ",")
	flag.StringVar(&c.Only, "only", "", "`name` of the one topic or comparison: "+strings.Join(bench.Names(), ", "))
	flag.IntVar(&c.Pairs, "pairs", c.Pairs, "`number` of pairs measured for each comparison at most")
	flag.DurationVar(&c.Time, "time", c.Time, "`time` for each comparison; three pairs are made even so")
	flag.StringVar(&c.Dir, "dir", c.Dir, "`directory` in memory to work in")
	flag.StringVar(&from, "from", from, "`directories` that the tree is taken from")
	flag.Int64Var(&c.Tree, "tree", c.Tree, "contents of the tree in `bytes`, at most")
	flag.Int64Var(&c.Stream, "stream", c.Stream, "size of the stream in `bytes`")
	flag.StringVar(&c.Bin, "bin", c.Bin, "`directory` with the programs")
	flag.IntVar(&c.Boots, "boots", c.Boots, "`number` of guests started")
	flag.StringVar(&c.Store, "store", "", "results store with a quick run as a `file`; empty: where whichfs keeps it")
	flag.Parse()
	c.From = strings.Split(from, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := bench.Run(ctx, c, os.Stdout)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "whichfs-bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
