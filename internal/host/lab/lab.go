// Package lab builds and stores the parts of guests: a distribution kernel, a
// read-only root image with every filesystem's tools, and the boot archive
// with the agent. Its point of view: no privileges, nothing outside the cache
// directory, and a build is either complete or absent.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"whichfs/internal/sys/cache"
)

// ErrNotBuilt means that the image has not been built yet.
var ErrNotBuilt = errors.New("the lab image does not exist yet: run whichfs lab build")

// Image is a complete lab image. All paths are absolute.
type Image struct {
	Dir      string // contains everything below
	Kernel   string // what QEMU boots: an ELF file with a PVH entry, or a packed kernel
	Root     string // EROFS image of the root filesystem
	Manifest Manifest
}

// Manifest describes an image, as manifest.json next to it.
type Manifest struct {
	Digest   string    `json:"digest"` // of the recipe
	Arch     string    `json:"arch"`   // GOARCH
	Suite    string    `json:"suite"`
	Kernel   string    `json:"kernel"` // uname -r
	Built    time.Time `json:"built"`
	Seconds  float64   `json:"seconds"`   // the build took, downloads included
	Download float64   `json:"download"`  // s, of these: fetching and unpacking the packages
	RootSize int64     `json:"root_size"` // B, of the root image
	// Stages of the build in order; none in images of older versions.
	Stages []Stage `json:"stages,omitempty"`
	// Modules are the kernel modules in the boot archive, files in the
	// directory "modules", in insertion order.
	Modules []string `json:"modules"`
	// Packages maps each Debian package to its version.
	Packages map[string]string `json:"packages"`
}

// Stage is a part of a build.
type Stage struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// stageFetch is the stage that uses the network: package lists and packages.
const stageFetch = "fetch packages"

// AfterFetch is how long the build took after all packages had arrived, in
// seconds; false if that was not recorded.
func (m Manifest) AfterFetch() (float64, bool) {
	for _, s := range m.Stages {
		if s.Name == stageFetch {
			return m.Seconds - s.Seconds, true
		}
	}
	return 0, false
}

// Locate finds the image of the current recipe for an architecture. ErrNotBuilt
// means that there is none.
func Locate(a Arch) (Image, error) {
	home, err := Home()
	if err != nil {
		return Image{}, err
	}
	return open(filepath.Join(home, current(a).digest()))
}

// open reads an image's directory. A directory that lacks a part counts as not
// built: files must have been deleted.
func open(dir string) (Image, error) {
	img := Image{Dir: dir, Root: filepath.Join(dir, "root.erofs")}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Image{}, ErrNotBuilt
	}
	if err != nil {
		return Image{}, fmt.Errorf("lab image: %w", err)
	}
	if err := json.Unmarshal(text, &img.Manifest); err != nil {
		return Image{}, fmt.Errorf("lab image: %s: %w; whichfs lab clean removes it", filepath.Join(dir, "manifest.json"), err)
	}
	img.Kernel = filepath.Join(dir, archOf(img.Manifest.Arch).kernelFile())
	needed := []string{img.Kernel, img.Root}
	for _, m := range img.Manifest.Modules {
		needed = append(needed, BootModule(dir, m))
	}
	for _, file := range needed {
		if _, err := os.Stat(file); err != nil {
			return Image{}, fmt.Errorf("%w (the old one is incomplete: %w)", ErrNotBuilt, err)
		}
	}
	return img, nil
}

// Arch is the architecture of the image's guests.
func (i Image) Arch() Arch { return archOf(i.Manifest.Arch) }

// Size is the space that the image takes on the disk, in bytes.
func (i Image) Size() int64 { return Used(i.Dir) }

// Images lists the existing images of the current recipes, this host's
// architecture first.
func Images() ([]Image, error) {
	var out []Image
	for _, a := range Archs {
		img, err := Locate(a)
		if errors.Is(err, ErrNotBuilt) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, img)
	}
	slices.SortStableFunc(out, func(a, b Image) int { return foreignLast(a) - foreignLast(b) })
	return out, nil
}

func foreignLast(i Image) int {
	if i.Arch().Foreign() {
		return 1
	}
	return 0
}

// Clean removes every lab image from the cache, including unfinished ones, and
// returns how many bytes that freed. It waits for a running build.
func Clean() (freed int64, err error) {
	home, err := Home()
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	unlock, err := cache.Lock(filepath.Join(home, lockName), nil)
	if err != nil {
		return 0, err
	}
	defer unlock()
	entries, err := os.ReadDir(home)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		path := filepath.Join(home, e.Name())
		size := Used(path)
		if err := os.RemoveAll(path); err != nil {
			return freed, err
		}
		freed += size
	}
	return freed, nil
}

// The folder of the cache, and the name in it that is not an image.
const (
	folder   = "lab"
	lockName = ".lock"
)

// Home is the directory of everything that the lab builds; it need not exist.
func Home() (string, error) {
	dir, err := cache.Dir()
	if err != nil {
		return "", fmt.Errorf("lab image: %w", err)
	}
	return filepath.Join(dir, folder), nil
}

// Used is the disk space of a tree, in bytes.
func Used(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			} else {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
