// Command whichfs-bench measures the agent's work against the original tools
// and prints a table of ratios of throughput: above 1 ours is faster.
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
	c := bench.Config{}
	from := ""
	flag.IntVar(&c.Pairs, "pairs", 9, "`number` of pairs measured for each comparison")
	flag.StringVar(&c.Dir, "dir", "/dev/shm", "`directory` in memory to work in")
	flag.StringVar(&from, "from", "/usr/share,/usr/lib", "`directories` that the tree is taken from")
	flag.Int64Var(&c.Tree, "tree", 256<<20, "contents of the tree in `bytes`, at most")
	flag.Int64Var(&c.Stream, "stream", 317_000_000, "size of the stream in `bytes`")
	flag.StringVar(&c.Only, "only", "", "`name` of the one comparison to make")
	flag.Parse()
	c.From = strings.Split(from, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(bench.Run(ctx, c, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "whichfs-bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
