package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree/generated"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/storage"
)

// loadData reads a data set into memory and verifies its digest.
func (a *Agent) loadData(ctx context.Context, d scenario.Data) error {
	switch d.Kind {
	case "stream":
		s, err := memory.NewStream(d.Name, d.Seed, d.Size)
		if err != nil {
			return err
		}
		a.streams[d.Name] = s
		return nil
	case "tree":
		if d.Path == "" {
			return a.generate(ctx, d)
		}
		path := d.Path
		if serial, ok := strings.CutPrefix(path, "serial:"); ok {
			var err error
			if path, err = storage.BySerial(ctx, serial); err != nil {
				return err
			}
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // read only
		return a.keep(d, f, "the archive was damaged in transit")
	}
	return result.Refuse("", "unknown kind of data set %q", d.Kind)
}

// keep reads a tree's archive; otherwise is why its digest may be another one.
func (a *Agent) keep(d scenario.Data, archive io.Reader, otherwise string) error {
	tree, err := memory.LoadTree(d.Name, archive, d.Archive)
	if err != nil {
		return err
	}
	a.trees[d.Name] = tree
	if tree.Digest != d.Digest {
		return fmt.Errorf("its digest is %s and should be %s: %s", tree.Digest, d.Digest, otherwise)
	}
	return nil
}

// treeDir writes a tree into a directory in memory, once.
func (a *Agent) treeDir(name string) (string, error) {
	if dir, ok := a.dirs[name]; ok {
		return dir, nil
	}
	tree := a.trees[name]
	if tree == nil {
		return "", fmt.Errorf("no tree %q was prepared", name)
	}
	if name == "" || strings.ContainsAny(name, "/\x00") || name == ".." {
		return "", errors.New("a tree needs a plain name")
	}
	dir := filepath.Join(a.work, "tree", name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := tree.Extract(dir); err != nil {
		return "", err
	}
	a.dirs[name] = dir
	return dir, nil
}

// generate makes a tree from its name, in place of an archive that is brought here.
func (a *Agent) generate(ctx context.Context, d scenario.Data) error {
	g, err := generated.Parse(d.Generated)
	if err != nil {
		return err
	}
	archive, to := io.Pipe()
	var over sync.WaitGroup
	over.Go(func() {
		_, err := g.Write(ctx, to)
		_ = to.CloseWithError(err) // the reader has it
	})
	err = a.keep(d, archive, "this processor generates another tree than the host")
	_ = archive.Close() // a generator that makes more than that is not waited for
	over.Wait()
	return err
}
