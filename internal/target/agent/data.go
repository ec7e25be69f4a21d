package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/plan/scenario"
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
		tree, err := memory.LoadTree(d.Name, f, d.Archive)
		if err != nil {
			return err
		}
		a.trees[d.Name] = tree
		if tree.Digest != d.Digest {
			return fmt.Errorf("its digest is %s and should be %s: the archive was damaged in transit", tree.Digest, d.Digest)
		}
		return nil
	}
	return result.Refuse("", "unknown kind of data set %q", d.Kind)
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
