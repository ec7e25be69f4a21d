package workload

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A trial restores the set of modules that it found in the kernel, so that the next trial loads
// them again. The kernel is also the user's: a network adapter may have been plugged in meanwhile,
// and its driver has no users until the interface is up. So only what the trial brought is
// unloaded: modules inserted by this program, and modules that the kernel itself loaded during a
// step and that the filesystem may have requested.

// families are parts of the module tree from which the kernel serves requests for an algorithm, a
// character set or a quota format by its name. No table lists which filesystem requests which.
var families = []string{"kernel/crypto/", "kernel/lib/", "kernel/fs/nls/", "kernel/fs/quota/", "kernel/arch/*/crypto/", "kernel/arch/*/lib/"}

// Watch runs a step of a trial, and records the modules that were loaded with it and that the
// candidate's filesystem may need.
func (env *Env) Watch(step func() error) error {
	if env.Modules == nil {
		return step()
	}
	before, err := loadedModules(env.Modules.proc)
	if err != nil {
		return err
	}
	failed := step()
	now, err := loadedModules(env.Modules.proc)
	for name := range now {
		if _, was := before[name]; !was && env.needs(name) {
			env.Modules.brought[name] = true
		}
	}
	if failed != nil {
		return failed
	}
	return err
}

// needs reports whether the kernel may have loaded a module for the candidate's filesystem.
func (env *Env) needs(name string) bool {
	if env.closure == nil {
		env.closure = env.Modules.closure(env.driver())
	}
	return env.closure[name] || env.Modules.inFamily(name)
}

// closure returns modules with everything that they need, or would use if it exists.
func (m *Modules) closure(names []string) map[string]bool {
	all := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if name = moduleName(name); name == "" || all[name] {
			return
		}
		all[name] = true
		for _, list := range [][]string{m.deps[name], m.soft[name], m.post[name], m.given[name].Depends} {
			for _, other := range list {
				add(other)
			}
		}
	}
	for _, name := range names {
		add(name)
	}
	return all
}

func (m *Modules) inFamily(name string) bool {
	if len(m.deps[name]) == 0 {
		return false
	}
	file := m.deps[name][0]
	for _, family := range families {
		depth := strings.Count(family, "/")
		if parts := strings.SplitAfterN(file, "/", depth+1); len(parts) == depth+1 {
			if in, _ := filepath.Match(family, strings.Join(parts[:depth], "")); in {
				return true
			}
		}
	}
	return false
}

// insert loads one file of the tree, or one that the user gave, as InsertModule does, and records
// it.
func (m *Modules) insert(file string) error {
	loaded, err := insertModule(filepath.Join(m.Dir, file), "")
	if loaded {
		m.brought[moduleName(file)] = true
	}
	return err
}

// Keep keeps everything brought so far in the kernel.
func (m *Modules) Keep() { clear(m.brought) }

// Unload removes from the kernel what was brought since Keep. Modules in use stay, for the next
// call; a nil receiver has brought nothing.
func (m *Modules) Unload() error {
	if m == nil {
		return nil
	}
	for removed := true; removed; {
		now, err := loadedModules(m.proc)
		if err != nil {
			return err
		}
		removed = false
		for name, ours := range m.brought {
			if _, there := now[name]; !there || !ours {
				delete(m.brought, name)
				continue
			}
			if unix.DeleteModule(name, unix.O_NONBLOCK) == nil {
				removed = true
				delete(m.brought, name)
			}
		}
	}
	return nil
}
