// Package dataset makes the trees and streams that work is done on, on the
// host's side: canonical archives with a digest, kept in the cache. Its point
// of view: a figure belongs to the bytes it was taken with, so the same data
// set is the same bytes on every host, and the digest is checked each time.
// Package memory is the agent's side.
package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/cache"
	"whichfs/internal/command"
	"whichfs/internal/scenario"
	"whichfs/internal/whole"
)

// Set is an entry of List.
type Set struct {
	Name   string
	About  string
	Cached bool   // it is there already
	Path   string // of its archive, there or not
}

// List returns the data sets that Get makes.
func List() []Set {
	dir, err := cache.Dir()
	var out []Set
	list := func(name, about, file string) {
		s := Set{Name: name, About: about}
		if err == nil {
			s.Path = filepath.Join(dir, folder, file)
			_, missing := os.Stat(sidecar(s.Path))
			_, gone := os.Stat(s.Path)
			s.Cached = missing == nil && gone == nil
		}
		out = append(out, s)
	}
	for _, d := range debianSets {
		list(d.name, d.about, d.file())
	}
	profiles, _ := Profiles() // a test sees to it that they can be read
	for _, p := range profiles {
		r := request{p, p.Bytes, 1}
		if file, err := r.file(); err == nil {
			list(generatedPrefix+p.Name, p.about(), file)
		}
	}
	return out
}

// Requirement is a program that making data sets needs on this host.
type Requirement struct {
	Program string
	Package string // Debian's
	Why     string
}

// Requirements lists them.
func Requirements() []Requirement {
	return []Requirement{
		{"mmdebstrap", "mmdebstrap", "fetches the packages of the Debian data sets without root"},
		{"xz", "xz-utils", "unpacks the kernel source trees"},
	}
}

// folder of the cache.
const folder = "data"

// recipe is a way to make a data set.
type recipe struct {
	file string // in the cache; it changes with the recipe
	// make makes the archive path and its sidecar. The caller holds the lock.
	make func(ctx context.Context, path string, progress func(string)) (scenario.Data, error)
	// judge adds what a reader must know of it.
	judge func(scenario.Data) scenario.Data
}

func recipeOf(name string) (recipe, error) {
	if strings.HasPrefix(name, generatedPrefix) {
		r, err := parseGenerated(name)
		if err != nil {
			return recipe{}, fmt.Errorf("data set %q: %w", name, err)
		}
		return r.recipe(name)
	}
	d, ok := byName(name)
	if !ok {
		var known []string
		for _, s := range debianSets {
			known = append(known, s.name)
		}
		return recipe{}, fmt.Errorf("unknown data set %q; known are %s, gen:PROFILE,SIZE, and any directory by its path", name, strings.Join(known, ", "))
	}
	build := func(ctx context.Context, path string, progress func(string)) (scenario.Data, error) {
		return d.build(ctx, path, mirrors(), progress)
	}
	return recipe{d.file(), build, d.judge}, nil
}

// Get returns a data set of List, or a generated one ("gen:PROFILE",
// "gen:PROFILE,50M", "gen:PROFILE,50M,seed=7"), made now if it is not in the
// cache yet.
// progress, if not nil, gets a line now and then. Everything that is wrong
// with a cached archive is mended by making it again.
func Get(ctx context.Context, name string, progress func(string)) (scenario.Data, error) {
	if progress == nil {
		progress = func(string) {}
	}
	set, err := recipeOf(name)
	if err != nil {
		return scenario.Data{}, err
	}
	dir, err := cache.Sub(folder)
	if err != nil {
		return scenario.Data{}, err
	}
	path := filepath.Join(dir, set.file)
	d, err := load(ctx, path)
	if err == nil {
		return set.judge(d), nil
	}
	unlock, err := cache.LockContext(ctx, filepath.Join(dir, ".lock"), func() { progress("waiting for another process that makes data sets") })
	if err != nil {
		return scenario.Data{}, fmt.Errorf("data set %s: %w", name, err)
	}
	defer unlock()
	switch d, err = load(ctx, path); {
	case err == nil:
		return set.judge(d), nil // somebody else made it meanwhile
	case ctx.Err() != nil:
		return scenario.Data{}, context.Cause(ctx)
	case !errors.Is(err, fs.ErrNotExist):
		progress(fmt.Sprintf("data set %s is made again: %v", name, err))
	}
	if d, err = set.make(ctx, path, progress); err != nil {
		return scenario.Data{}, fmt.Errorf("data set %s: %w", name, err)
	}
	return set.judge(d), nil
}

// FromDirectory packs a directory of the user's. The archive is kept in the
// cache under its digest.
func FromDirectory(ctx context.Context, dir string) (scenario.Data, error) {
	return fromDirectory(ctx, dir, free)
}

// fromDirectory is told how to find out how much room there is, in bytes.
func fromDirectory(ctx context.Context, dir string, free func(string) (int64, error)) (scenario.Data, error) {
	if dir == "" {
		return scenario.Data{}, errors.New("data set: name the directory whose files are to be used")
	}
	home, err := cache.Sub(folder)
	if err != nil {
		return scenario.Data{}, err
	}
	unlock, err := cache.LockContext(ctx, filepath.Join(home, ".lock"), nil)
	if err != nil {
		return scenario.Data{}, err
	}
	defer unlock()
	room, err := free(home)
	if err != nil {
		return scenario.Data{}, err
	}
	var info Info
	packed := filepath.Join(home, "directory.tar")
	err = whole.Write(packed, func(f *os.File) error {
		info, err = Pack(ctx, dir, f, Limits{Archive: room})
		return err
	})
	var large *ErrTooLarge
	switch {
	case errors.As(err, &large):
		return scenario.Data{}, fmt.Errorf("data set %s: %w in %s; nothing was written; WHICHFS_CACHE names another place for the cache", dir, err, home)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return scenario.Data{}, fmt.Errorf("data set %s: no more room for its archive in %s: %w; WHICHFS_CACHE names another place for the cache", dir, home, err)
	case err != nil:
		return scenario.Data{}, fmt.Errorf("data set %s: %w", dir, err)
	}
	if info.Files == 0 {
		_ = os.Remove(packed)
		return scenario.Data{}, fmt.Errorf("data set %s: there is no regular file in it", dir)
	}
	path := filepath.Join(home, "directory-"+info.Digest[:16]+".tar")
	if err := os.Rename(packed, path); err != nil {
		return scenario.Data{}, err
	}
	return info.data("tree", path), nil
}

// Stream describes a file of incompressible bytes, which the agent generates.
func Stream(name string, size int64, seed uint64) scenario.Data {
	return scenario.Data{
		Name: name, Kind: "stream", Size: size, Seed: seed,
		Digest: fmt.Sprintf("stream of %d bytes from seed %d", size, seed),
	}
}

// Verify holds the archive of a tree against its digest.
func Verify(d scenario.Data) error {
	if d.Kind != "tree" {
		return nil
	}
	return verify(context.Background(), d)
}

func verify(ctx context.Context, d scenario.Data) error {
	f, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	digest, size, err := digestOf(ctx, f)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("read %s: %w", d.Path, err)
	case size != d.Archive:
		return fmt.Errorf("%s is %d bytes long and should be %d", d.Path, size, d.Archive)
	case digest != d.Digest:
		return fmt.Errorf("%s was changed: its digest is %s and should be %s", d.Path, digest, d.Digest)
	}
	return nil
}

// sidecar is the file that says what an archive is.
func sidecar(path string) string { return strings.TrimSuffix(path, ".tar") + ".json" }

// load reads an archive of the cache; fs.ErrNotExist means that there is none.
func load(ctx context.Context, path string) (scenario.Data, error) {
	var d scenario.Data
	text, err := os.ReadFile(sidecar(path))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("%s: %w", sidecar(path), err)
	}
	d.Path = path // the cache may have moved
	return d, verify(ctx, d)
}

// keep writes the sidecar, which makes the archive count.
func keep(d scenario.Data) error {
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	return whole.Write(sidecar(d.Path), func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
}

// free is the space on the filesystem of path for this user, in bytes.
func free(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // widths differ by architecture
}

// installed says how to get a program that the set needs, if one is missing.
func (d debianSet) installed() error {
	for _, r := range Requirements() {
		if r.Program == "xz" && d.unpack == "" {
			continue
		}
		if _, err := command.Look(r.Program); err != nil {
			return fmt.Errorf("%s is missing (it %s): sudo apt-get install %s", r.Program, r.Why, r.Package)
		}
	}
	return nil
}
