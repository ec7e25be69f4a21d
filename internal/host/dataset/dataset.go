// Package dataset makes the trees and streams for workloads, on the host:
// canonical archives with a digest, stored in the cache. Its point of view: a
// figure belongs to the bytes with which it was measured, so the same data set
// has the same bytes on every host, and the digest is checked each time.
// Package memory is the agent's side.
package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/generated"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/steps"
	"whichfs/internal/sys/whole"
)

// Set is an entry of List.
type Set struct {
	Name   string
	About  string
	Cached bool   // it exists already
	Path   string // of its archive, whether or not it exists
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
	profiles, _ := generated.Profiles() // a test ensures that they are readable
	for _, p := range profiles {
		t := generated.Tree{Profile: p, Size: p.Bytes, Seed: 1}
		if file, err := t.File(); err == nil {
			list(generated.Prefix+p.Name, p.About(), file)
		}
	}
	return out
}

// mostPortable is the size of the largest data set that Portable returns, in bytes: those of quick runs.
const mostPortable = 64 << 20

// Portable returns the files of the small data sets in the cache that a host without Debian's tools cannot make: the
// archive of each, and then what describes it.
func Portable() (files []string) {
	for i, s := range List()[:len(debianSets)] {
		if st, err := os.Stat(s.Path); s.Cached && err == nil && st.Size() <= mostPortable && s.Name == debianSets[i].name {
			files = append(files, s.Path, sidecar(s.Path))
		}
	}
	return files
}

// PartOf is the name in the cache's folder of data sets of a part of the cache; ok is false if it is none of them.
func PartOf(part string) (name string, ok bool) { return strings.CutPrefix(part, folder+"/") }

// Fits returns an error unless a file that has come from elsewhere is one of a data set that this whichfs makes, and
// whole. The archive is there before what describes it.
func Fits(ctx context.Context, path string) error {
	for _, d := range debianSets {
		switch filepath.Base(path) {
		case d.file():
			return nil // what describes it has the digest
		case sidecar(d.file()):
			_, err := load(ctx, strings.TrimSuffix(path, ".json")+".tar")
			return err
		}
	}
	return fmt.Errorf("no data set has the file %s", filepath.Base(path))
}

// Requirement is a program that this host needs to make data sets.
type Requirement struct {
	Program string
	Package string // Debian's name
	Why     string
}

// Requirements lists the required programs.
func Requirements() []Requirement {
	return []Requirement{
		{"mmdebstrap", "mmdebstrap", "fetches the packages of the Debian data sets without root"},
		{"xz", "xz-utils", "unpacks the kernel source trees"},
	}
}

// folder is the data sets' folder in the cache.
const folder = "data"

// recipe is a way to make a data set.
type recipe struct {
	file string // in the cache; it changes with the recipe
	// make creates the archive path and its sidecar. The caller holds the
	// lock.
	make func(ctx context.Context, path string, progress func(string)) (scenario.Data, error)
	// judge adds notes for readers.
	judge func(scenario.Data) scenario.Data
}

func recipeOf(name string) (recipe, error) {
	if strings.HasPrefix(name, generated.Prefix) {
		t, err := generated.Parse(name)
		if err != nil {
			return recipe{}, fmt.Errorf("data set %q: %w", name, err)
		}
		return generating(name, t)
	}
	d, ok := byName(name)
	if !ok {
		var known []string
		for _, s := range debianSets {
			known = append(known, s.name)
		}
		return recipe{}, fmt.Errorf("unknown data set %q; use %s, gen:PROFILE,SIZE, or the path of a directory", name, strings.Join(known, ", "))
	}
	build := func(ctx context.Context, path string, progress func(string)) (scenario.Data, error) {
		return d.build(ctx, path, mirrors(), progress)
	}
	return recipe{d.file(), build, d.judge}, nil
}

// Get returns a data set of List, or a generated one ("gen:PROFILE",
// "gen:PROFILE,50M", "gen:PROFILE,50M,seed=7"), and makes it if it is not in
// the cache. progress, if not nil, receives occasional messages. Get repairs a
// damaged cached archive by making it again.
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
		return set.judge(d), nil // another process made it meanwhile
	case ctx.Err() != nil:
		return scenario.Data{}, context.Cause(ctx)
	case !errors.Is(err, fs.ErrNotExist):
		progress(fmt.Sprintf("making data set %s again: %v", name, err))
	}
	work := steps.Of("data set " + name)
	if d, err = set.make(ctx, path, work.Saying(progress)); err != nil {
		return scenario.Data{}, fmt.Errorf("data set %s: %w", name, err)
	}
	work.End()
	return set.judge(d), nil
}

// FromDirectory packs a user's directory. The archive is cached under its
// digest.
func FromDirectory(ctx context.Context, dir string) (scenario.Data, error) {
	return fromDirectory(ctx, dir, free)
}

// fromDirectory takes the function that determines free space, in bytes.
func fromDirectory(ctx context.Context, dir string, free func(string) (int64, error)) (scenario.Data, error) {
	if dir == "" {
		return scenario.Data{}, errors.New("data set: name a directory with files")
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
	var info tree.Info
	packed := filepath.Join(home, "directory.tar")
	err = whole.Write(packed, func(f *os.File) error {
		info, err = Pack(ctx, dir, f, Limits{Archive: room})
		return err
	})
	var large *ErrTooLarge
	switch {
	case errors.As(err, &large):
		return scenario.Data{}, fmt.Errorf("data set %s: %w in %s; nothing was written; set WHICHFS_CACHE to another directory", dir, err, home)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return scenario.Data{}, fmt.Errorf("data set %s: no room left for its archive in %s: %w; set WHICHFS_CACHE to another directory", dir, home, err)
	case err != nil:
		return scenario.Data{}, fmt.Errorf("data set %s: %w", dir, err)
	}
	if info.Files == 0 {
		_ = os.Remove(packed)
		return scenario.Data{}, fmt.Errorf("data set %s: it contains no regular file", dir)
	}
	path := filepath.Join(home, "directory-"+info.Digest[:16]+".tar")
	if err := os.Rename(packed, path); err != nil {
		return scenario.Data{}, err
	}
	return info.Data("tree", path), nil
}

// Stream describes a file of incompressible bytes, which the agent generates.
func Stream(name string, size int64, seed uint64) scenario.Data {
	return scenario.Data{
		Name: name, Kind: "stream", Size: size, Seed: seed,
		Digest: fmt.Sprintf("stream of %d bytes from seed %d", size, seed),
	}
}

// Verify checks the archive of a tree against its digest.
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
		return fmt.Errorf("%s is %d bytes long instead of %d", d.Path, size, d.Archive)
	case digest != d.Digest:
		return fmt.Errorf("%s was changed: its digest is %s instead of %s", d.Path, digest, d.Digest)
	}
	return nil
}

// sidecar is the file that describes an archive.
func sidecar(path string) string { return strings.TrimSuffix(path, ".tar") + ".json" }

// load reads an archive from the cache; fs.ErrNotExist means that there is
// none.
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

// keep writes the sidecar, which validates the archive.
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

// installed returns an error that says how to install a program that the set
// needs, if one is missing.
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

// digestOf reads r to its end.
func digestOf(ctx context.Context, r io.Reader) (digest string, size int64, err error) {
	hash := sha256.New()
	if size, err = io.Copy(hash, tree.Until(ctx, r)); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}
