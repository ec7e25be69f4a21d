// Command whichfs-bench measures whichfs: its workloads against the original tools, its agent's
// size and allocations, its lab, and reports from a large store. It prints one table per topic.
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
	flag.StringVar(&c.Only, "only", "", "run only the topic or comparison of this `name`: "+strings.Join(bench.Names(), ", "))
	flag.IntVar(&c.Pairs, "pairs", c.Pairs, "maximum `number` of pairs per comparison")
	flag.DurationVar(&c.Time, "time", c.Time, "`time` per comparison; at least three pairs are measured")
	flag.StringVar(&c.Dir, "dir", c.Dir, "work `directory`, in memory")
	flag.StringVar(&from, "from", from, "`directories` to take the tree from")
	flag.Int64Var(&c.Tree, "tree", c.Tree, "maximum size of the tree in `bytes`")
	flag.Int64Var(&c.Stream, "stream", c.Stream, "size of the stream in `bytes`")
	flag.StringVar(&c.Bin, "bin", c.Bin, "`directory` with the programs")
	flag.IntVar(&c.Boots, "boots", c.Boots, "`number` of guests to start")
	flag.StringVar(&c.Store, "store", "", "result store with a quick run (a `file`); default: the store of whichfs")
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
