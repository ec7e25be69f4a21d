package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree"
	"whichfs/internal/sys/whole"
)

func byName(name string) (debianSet, bool) {
	for _, d := range debianSets {
		if d.name == name {
			return d, true
		}
	}
	return debianSet{}, false
}

// file is the archive's name in the cache; it changes with the recipe.
func (d debianSet) file() string {
	recipe := []any{generation, suite, d.arch(), source, epoch, d.include, d.only, dropped}
	if d.alone {
		recipe = append(recipe, "alone", d.unpack)
	}
	if d.apart {
		recipe = append(recipe, "apart")
	}
	text, err := json.Marshal(recipe)
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	sum := sha256.Sum256(text)
	return d.name + "-" + hex.EncodeToString(sum[:6]) + ".tar"
}

func (d debianSet) arch() string { return cmp.Or(d.architecture, board) }

// keep reports whether a path belongs to the data set.
func (d debianSet) keep(path string) bool {
	for _, dir := range dropped {
		if within(path, dir) {
			return false
		}
	}
	if d.only == nil {
		return true
	}
	for _, dir := range d.only {
		if within(path, dir) {
			return true
		}
	}
	return false
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// judge adds notes for readers.
func (d debianSet) judge(data scenario.Data) scenario.Data {
	data.Notes = nil
	if d.reference != "" && data.Digest != d.reference {
		data.Notes = []string{fmt.Sprintf(
			"the data set %s differs from the reference (its digest begins with %.12s instead of %.12s): the mirror's packages differ, so figures may differ from those of other hosts",
			d.name, data.Digest, d.reference)}
	}
	return data
}

// attempts is how often the packages are requested: a mirror that is being
// synchronised, or a name server, soon recovers.
const attempts = 4

// mirrors lists the sources of packages, best first: the host's own mirror may
// lack the architecture, or be reachable only by others.
func mirrors() []string {
	return slices.Compact([]string{debian.HostMirror("/etc", suite), debian.Default})
}

// build makes the archive path and its sidecar. The caller holds the lock.
func (d debianSet) build(ctx context.Context, path string, from []string, progress func(string)) (scenario.Data, error) {
	if err := d.installed(); err != nil {
		return scenario.Data{}, err
	}
	dir := filepath.Dir(path)
	scratch := filepath.Join(dir, ".scratch")
	// Remove what a killed build left.
	if err := os.RemoveAll(scratch); err != nil {
		return scenario.Data{}, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the next build tries again
	progress(fmt.Sprintf("making data set %s: %s", d.name, d.about))
	options := debian.HostOptions(ctx)
	var info tree.Info
	err := whole.Write(path, func(f *os.File) error {
		for n := 1; ; n++ {
			var err error
			if info, err = d.fetch(ctx, f, scratch, from[0], options, progress); err == nil {
				return nil
			}
			again := n < attempts && debian.Transient(err)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case !again && len(from) == 1:
				return err
			case !again:
				n, from = 0, from[1:]
				progress(fmt.Sprintf("fetching the packages failed (%v); trying %s", err, from[0]))
			default:
				progress(fmt.Sprintf("fetching the packages failed (%v); trying again", err))
			}
			if err := debian.Pause(ctx, time.Duration(n)*3*time.Second); err != nil {
				return err
			}
			if err := rewind(f); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return scenario.Data{}, err
	}
	data := info.Data(d.name, path)
	return data, keep(data)
}

func rewind(f *os.File) error {
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	return f.Truncate(0)
}

// fetch fetches the packages from a mirror and writes their canonical archive
// to f.
func (d debianSet) fetch(ctx context.Context, f *os.File, scratch, mirror string, options []string, progress func(string)) (tree.Info, error) {
	if d.alone {
		return d.download(ctx, f, scratch, mirror, options, progress)
	}
	b := debian.Bootstrap{
		Suite: suite, Architecture: d.arch(), Include: d.include,
		Sources: []string{debian.Source(mirror, suite)}, Options: options,
		Scratch: scratch, Env: []string{"SOURCE_DATE_EPOCH=" + epoch},
	}
	var info tree.Info
	_, err := b.Fetch(ctx, progress, func(archive io.Reader) (err error) {
		info, err = Repack(ctx, archive, f, RepackOptions{Keep: d.keep, Plain: true, Spool: scratch})
		return err
	})
	return info, d.empty(info, err)
}

// empty returns an error if the packages contain nothing that is wanted.
func (d debianSet) empty(info tree.Info, err error) error {
	if err == nil && info.Files == 0 {
		return fmt.Errorf("the packages contain none of %s", strings.Join(d.only, ", "))
	}
	return err
}
