package workload

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/kmod"
)

// Given is a kernel module that the user gave, in addition to the kernel's own tree or instead of a
// module of the same name there.
type Given struct {
	kmod.File
	Path string // of the copy that is passed to the kernel, named for the module
}

// Give adds a module that the user gave. A module that this kernel cannot load is refused here,
// before another one is measured in its place.
func (m *Modules) Give(g Given, k kmod.Kernel, loaded map[string]int64) error {
	if other, twice := m.given[g.Name]; twice {
		return result.Refuse("give one of them", "%s and %s are both module %s", other.Base, g.Base, g.Name)
	}
	if m.builtin[g.Name] {
		return result.Refuse("omit --module, or use a kernel that has it as a module",
			"%s cannot be loaded: this kernel (%s) has %s built in", g.Base, k.Release, g.Name)
	}
	if _, there := loaded[g.Name]; there {
		return result.Refuse("rmmod "+g.Name+" if nothing uses it; the lab's guests run from erofs and overlay and need the virtio modules",
			"%s cannot be loaded: this kernel has already loaded a module %s", g.Base, g.Name)
	}
	if u := g.Fit(k); u != nil {
		return u
	}
	if m.given == nil {
		m.given = map[string]Given{}
	}
	m.given[g.Name] = g
	return nil
}

// Complete reports a module that the given ones need and that does not exist. Given ones may need
// each other, so it is called once all are there.
func (m *Modules) Complete(loaded map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(m.given)) {
		g := m.given[name]
		for _, need := range g.Depends {
			file, builtin := m.Has(need)
			if _, there := loaded[need]; file || builtin || there {
				continue
			}
			return result.Refuse("give that module too: --module "+need+".ko",
				"%s needs module %s, which this kernel does not have", g.Base, need)
		}
	}
	return nil
}

// Driver is the name of a filesystem's module: one of its other names if the user gave that.
func (m *Modules) Driver(fs filesystem.Filesystem) string {
	if m != nil {
		for _, name := range fs.OtherModules {
			if _, given := m.given[name]; given {
				return name
			}
		}
	}
	return fs.Module
}

// Given returns the modules that the user gave, by name.
func (m *Modules) Given() []Given {
	var out []Given
	for _, name := range slices.Sorted(maps.Keys(m.given)) {
		out = append(out, m.given[name])
	}
	return out
}

// orderGiven appends to an order what a given module needs, then the module; false if the user gave
// none of that name. Its file is named like those of the tree, relative to the tree's directory.
func (m *Modules) orderGiven(name string, add func(string), order *[]string) bool {
	g, ok := m.given[name]
	if !ok {
		return false
	}
	for _, need := range g.Depends {
		add(need)
	}
	path, err := filepath.Rel(m.Dir, g.Path)
	if err != nil { // both begin at the root
		path = g.Path
	}
	*order = append(*order, path)
	return true
}

// givenNotes lists the loaded modules that did not come from the kernel's own tree, with the taint
// flags that the kernel sets for them (Linux Documentation/admin-guide/tainted-kernels).
func (m *Modules) givenNotes(names []string) []result.Note {
	var out []result.Note
	for _, name := range names {
		g, ok := m.given[name]
		if !ok {
			continue
		}
		text := fmt.Sprintf("module %s was loaded from the given %s", name, g.Base)
		if g.Debug > 0 {
			text += fmt.Sprintf(", of which %s are debug information that takes time to read and counts in its size: strip -g %s removes it", units.Value(float64(g.Debug), "B"), g.Base)
		}
		if marks, err := os.ReadFile("/sys/module/" + name + "/taint"); err == nil && len(strings.TrimSpace(string(marks))) > 0 {
			text += fmt.Sprintf("; the kernel marks it %s", strings.TrimSpace(string(marks)))
		}
		out = append(out, result.Note{Level: result.Info, Text: text})
	}
	return out
}

// notLoaded is the failure of a module that the kernel rejected. The kernel's reason is in its log,
// which the caller quotes.
func (m *Modules) notLoaded(name string, errno unix.Errno) error {
	f := Subject("loading module %s: %v", name, errno)
	if g, ok := m.given[name]; ok {
		f.Reason = fmt.Sprintf("loading module %s from the given %s: %v", name, g.Base, errno)
		release := filepath.Base(m.Dir)
		switch errno {
		case unix.ENOEXEC, unix.EINVAL, unix.ENOENT:
			f.Hint = "the running kernel is " + release + ": build the module against its headers, apt install linux-headers-" + release
		case unix.EKEYREJECTED, unix.ENOKEY, unix.EPERM:
			f.Hint = "this kernel accepts only signed modules, as with Secure Boot: sign it with a key that the machine trusts, or use --machine lab"
		}
	}
	return f
}

// KernelOf is what is known of the kernel to which the tree belongs: from a few of its modules,
// which together use most of what a filesystem's module does.
func (m *Modules) KernelOf(arch string, like []string) kmod.Kernel {
	k := kmod.Kernel{Release: filepath.Base(m.Dir), Arch: arch}
	for _, name := range like {
		files := m.deps[moduleName(name)]
		if len(files) == 0 || !strings.HasSuffix(files[0], ".ko") { // a compressed one reveals nothing
			continue
		}
		f, err := os.Open(filepath.Join(m.Dir, files[0]))
		if err != nil {
			continue
		}
		if own, err := kmod.ReadHead(f); err == nil {
			k.Know(own)
		}
		_ = f.Close()
	}
	return k
}
