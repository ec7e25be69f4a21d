// Package module builds kernel modules from a user's source for the kernels of the lab, and keeps
// them in the cache under their names. Its point of view is package lab's: no privileges, nothing
// outside the cache, and a module is either complete or absent. The user's source is only read.
package module

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
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/result"
)

// Module is a built module.
type Module struct {
	Dir string // contains everything below
	Manifest
}

// Manifest describes a module, as manifest.json next to it.
type Manifest struct {
	Name   string `json:"name"`   // as the kernel shows it
	Kernel Kernel `json:"kernel"` // that it is built for
	Source string `json:"source"` // directory, absolute
	// Digest is of all that the module is built from: the source, what was added to it, the kernel.
	Digest   string    `json:"digest"`
	Compiler string    `json:"compiler"`
	Built    time.Time `json:"built"`
	Seconds  float64   `json:"seconds"` // that the build took
	// Processor is the time of compiling, in seconds.
	Processor float64 `json:"processor"`
	Size      int64   `json:"size"` // B, of the module's file
}

// Kernel is a kernel of the lab.
type Kernel struct {
	Release string `json:"release"` // uname -r
	// Virtual is the digest of the virtual lab's kernel; "" for Debian's kernel, which is in the
	// lab's image.
	Virtual  string `json:"virtual,omitempty"`
	Series   string `json:"series,omitempty"`   // of such a kernel
	Counting bool   `json:"counting,omitempty"` // it counts instructions
}

// String is what people call the kernel.
func (k Kernel) String() string {
	if k.Counting {
		return k.Release + ", counting"
	}
	return k.Release
}

// File is the module's file.
func (m Module) File() string { return filepath.Join(m.Dir, m.Name+".ko") }

// command is what a user types to build a module for the kernel.
func (k Kernel) command(name, source string) string {
	line := "whichfs lab module " + name + " --source " + source
	if k.Virtual != "" {
		line += " --virtual"
	}
	if k.Virtual != "" && k.Series != virtual.Default {
		line += " --kernel " + k.Series
	}
	if k.Counting {
		line += " --counting"
	}
	return line
}

// KernelOf is the kernel of a lab image.
func KernelOf(image lab.Image) Kernel { return Kernel{Release: image.Manifest.Kernel} }

// VirtualOf is a kernel of the virtual lab.
func VirtualOf(k virtual.Kernel) Kernel {
	return Kernel{Release: k.Manifest.Release, Virtual: k.Manifest.Digest, Series: k.Manifest.Series, Counting: k.Manifest.Counting}
}

// folder contains the modules, in the lab's part of the cache: a directory each, the logs of builds
// and the headers of kernels.
const folder = "modules"

const manifestFile = "manifest.json"

// All lists the modules by name and kernel.
func All() ([]Module, error) {
	home, err := lab.Home()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(home, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("modules of the lab: %w", err)
	}
	var all []Module
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), lab.UnfinishedPrefix) {
			continue
		}
		if m, err := open(filepath.Join(home, folder, e.Name())); err == nil {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Module) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), lab.CompareVersions(a.Kernel.String(), b.Kernel.String()))
	})
	return all, nil
}

// Part reports whether a part of the lab is a module.
func Part(part string) bool { return filepath.Dir(part) == folder }

// Fits returns an error unless a directory is a complete module.
func Fits(dir string) error {
	_, err := open(dir)
	return err
}

// open reads a module's directory. One that lacks a part counts as not built.
func open(dir string) (Module, error) {
	m := Module{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err == nil {
		err = json.Unmarshal(text, &m.Manifest)
	}
	if err == nil {
		_, err = os.Stat(m.File())
	}
	return m, err
}

// Find is the module of a name for a kernel, or for any kernel if k is zero. Errors are
// *result.Failure, unless the cache cannot be read.
func Find(name string, k Kernel) (Module, error) {
	all, err := All()
	if err != nil {
		return Module{}, err
	}
	kernelName := lab.ModuleName(name)
	var names []string
	var other *Module
	for i, m := range all {
		switch {
		case m.Name == kernelName && (m.Kernel == k || k == Kernel{}):
			return m, nil
		case m.Name == kernelName:
			other = &all[i]
		case !slices.Contains(names, m.Name):
			names = append(names, m.Name)
		}
	}
	if other != nil {
		return Module{}, result.Refuse(k.command(other.Name, other.Source), "module %s is built for kernel %s, and this is %s", other.Name, other.Kernel, k)
	}
	f := result.Refuse(k.command(name, "DIR")+" builds it; or give the path of a .ko file", "the lab has no module %s", name)
	if len(names) > 0 {
		f.Reason += "; it has " + strings.Join(names, ", ")
	}
	return Module{}, f
}
