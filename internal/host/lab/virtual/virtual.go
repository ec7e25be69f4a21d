// Package virtual builds the kernel of the virtual lab: Linux as a program of
// this host (user-mode Linux), from Debian's source with our patches. Its
// clock is an external one, so that simulated storage decides how much time
// passes. Its point of view is package lab's, whose root image and cache it
// shares: no privileges, nothing outside the cache, a kernel is either complete
// or absent. And every machine builds the same kernel: version, configuration
// and patches are fixed, because they decide the figures.
package virtual

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/lab"
)

// ErrNotBuilt means that the kernel has not been built yet; errors that wrap it
// name the command that builds it.
var ErrNotBuilt = errors.New("the virtual lab's kernel does not exist yet")

// Kernel is a built user-mode kernel. All paths are absolute.
type Kernel struct {
	Dir     string // contains everything below
	Program string // the kernel, an executable
	// Modules is an EROFS image of the contents of lib/modules/RELEASE: the
	// modules, without debug symbols, and depmod's lists.
	Modules  string
	Manifest Manifest
}

// Manifest describes a kernel, as manifest.json next to it.
type Manifest struct {
	Digest string `json:"digest"` // of the recipe
	Series string `json:"series"` // "6.1"
	// Counting kernels count the instructions that they execute.
	Counting bool   `json:"counting,omitempty"`
	Release  string `json:"release"` // uname -r
	Package  string `json:"package"` // Debian's, of the source
	Version  string `json:"version"` // of the package
	// Wanted is the version of the recipe if the mirror no longer has it;
	// figures may then differ from those of other machines.
	Wanted   string    `json:"wanted,omitempty"`
	Compiler string    `json:"compiler"`
	Built    time.Time `json:"built"`
	// Seconds that the build took, with those of earlier attempts that it
	// continued.
	Seconds   float64     `json:"seconds"`
	Processor float64     `json:"processor"` // s, of these: processor time of compiling
	Stages    []lab.Stage `json:"stages"`    // in order
	// Boot lists the kernel modules in the boot archive, files in the
	// directory "modules", in insertion order.
	Boot []string `json:"boot"`
}

// Name is what people call the kernel.
func (m Manifest) Name() string {
	if m.Counting {
		return m.Release + ", counting"
	}
	return m.Release
}

// Choice names one of the kernels.
type Choice struct {
	// Series of Linux; empty: Default.
	Series string
	// Counting: the kernel counts the instructions that it executes, so that they can take time.
	Counting bool
}

// Locate finds a kernel of the current recipe. ErrNotBuilt means that there is none.
func Locate(which Choice) (Kernel, error) {
	r, err := recipeFor(which)
	if err != nil {
		return Kernel{}, err
	}
	home, err := lab.Home()
	if err != nil {
		return Kernel{}, err
	}
	return r.open(filepath.Join(home, folder))
}

// folder contains the kernels, in the lab's part of the cache.
const folder = "virtual"

// open reads a kernel in the folder. A directory that lacks a part counts as
// not built: files must have been deleted.
func (r recipe) open(home string) (Kernel, error) {
	k := at(filepath.Join(home, r.digest()))
	text, err := os.ReadFile(k.manifest())
	if errors.Is(err, fs.ErrNotExist) {
		return Kernel{}, fmt.Errorf("%w: run %s", ErrNotBuilt, r.command())
	}
	if err != nil {
		return Kernel{}, fmt.Errorf("virtual lab: %w", err)
	}
	if err := json.Unmarshal(text, &k.Manifest); err != nil {
		return Kernel{}, fmt.Errorf("virtual lab: %s: %w; whichfs lab clean removes it", k.manifest(), err)
	}
	needed := []string{k.Program, k.Modules}
	for _, m := range k.Manifest.Boot {
		needed = append(needed, lab.BootModule(k.Dir, m))
	}
	for _, file := range needed {
		if _, err := os.Stat(file); err != nil {
			return Kernel{}, fmt.Errorf("%w (the old one is incomplete: %w): run %s", ErrNotBuilt, err, r.command())
		}
	}
	return k, nil
}

// at names the parts of a kernel in a directory.
func at(dir string) Kernel {
	return Kernel{Dir: dir, Program: filepath.Join(dir, "linux"), Modules: filepath.Join(dir, "modules.erofs")}
}

func (k Kernel) manifest() string { return filepath.Join(k.Dir, "manifest.json") }

// Size is the space that the kernel takes on the disk, in bytes.
func (k Kernel) Size() int64 { return lab.Used(k.Dir) }

// HasModule reports whether the kernel has a module, in a file or built in.
func (k Kernel) HasModule(name string) bool {
	has, _ := lab.HasModule(k.Dir, name)
	return has
}

// BootArchive makes the archive that the kernel unpacks when it boots; see
// lab.Image.BootArchive.
func (k Kernel) BootArchive(agent string) ([]byte, error) {
	return lab.RootArchive(agent, k.Dir, k.Manifest.Boot)
}

// Part reports whether a part of the lab is a kernel of the virtual lab.
func Part(part string) bool { return filepath.Dir(part) == folder }

// Fits returns an error unless a directory is a complete kernel of a current recipe.
func Fits(dir string) error {
	var m Manifest
	text, err := os.ReadFile(at(dir).manifest())
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return err
	}
	r, err := recipeFor(Choice{m.Series, m.Counting})
	if err != nil {
		return err
	}
	if r.digest() != filepath.Base(dir) {
		return fmt.Errorf("kernel %s has to be %s", m.Name(), r.digest())
	}
	_, err = r.open(filepath.Dir(dir))
	return err
}

// Kernels lists the existing kernels of the current recipes, oldest series
// first.
func Kernels() ([]Kernel, error) {
	home, err := lab.Home()
	if err != nil {
		return nil, err
	}
	home = filepath.Join(home, folder)
	entries, err := os.ReadDir(home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("virtual lab: %w", err)
	}
	var all []Kernel
	for _, e := range entries {
		var m Manifest
		text, err := os.ReadFile(at(filepath.Join(home, e.Name())).manifest())
		if err != nil || json.Unmarshal(text, &m) != nil {
			continue // unfinished, or damaged: then Locate says so
		}
		r, err := recipeFor(Choice{m.Series, m.Counting})
		if err != nil || r.digest() != e.Name() {
			continue // of another version of whichfs
		}
		if k, err := r.open(home); err == nil {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b Kernel) int {
		return cmp.Or(lab.CompareVersions(a.Manifest.Series, b.Manifest.Series), strings.Compare(a.Manifest.Name(), b.Manifest.Name()))
	})
	return all, nil
}
