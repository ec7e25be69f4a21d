// Command record writes the profiles for the generator from data sets, which
// it fetches if necessary, or from trees that are here:
// record DIRECTORY DATA-SET|NAME=TREE...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/host/dataset"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree/generated"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: record DIRECTORY DATA-SET|NAME=TREE...")
		os.Exit(2)
	}
	for _, name := range os.Args[2:] {
		if err := record(context.Background(), os.Args[1], name); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
			os.Exit(1)
		}
	}
}

func record(ctx context.Context, dir, name string) error {
	name, tree, here := strings.Cut(name, "=")
	var d scenario.Data
	var err error
	if here {
		d, err = dataset.FromDirectory(ctx, tree)
	} else {
		d, err = dataset.Get(ctx, name, func(s string) { fmt.Fprintln(os.Stderr, s) })
	}
	if err != nil {
		return err
	}
	f, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := generated.Record(ctx, name, f)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".json"), append(text, '\n'), 0o644)
}
